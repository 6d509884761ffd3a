// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Options of papcoll-bench whose values are words or quantities.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench {

/// An option whose value is one of `names`, in the order of the enumeration.
template <class Enum, std::size_t N>
CLI::Option* add_choice(CLI::App& app, const std::string& flag, Enum& value,
                        const std::array<std::string_view, N>& names, const std::string& help) {
  const auto assign = [&value, names, flag](const std::string& text) {
    const auto at = std::find(names.begin(), names.end(), text);
    if (at == names.end()) {
      throw CLI::ValidationError(flag,
                                 fmt::format("'{}' is none of {}", text, fmt::join(names, ", ")));
    }
    value = static_cast<Enum>(at - names.begin());
  };
  return app.add_option_function<std::string>(flag, assign, help)
      ->type_name(fmt::format("{}", fmt::join(names, "|")));
}

/// An option that one of the functions in quantities.hpp reads.
template <class T, class Parse>
CLI::Option* add_quantity(CLI::App& app, const std::string& flag, T& value, Parse parse,
                          const std::string& type, const std::string& help) {
  const auto assign = [&value, parse, flag](const std::string& text) {
    try {
      value = parse(text);
    } catch (const std::invalid_argument& error) {
      throw CLI::ValidationError(flag, error.what());
    }
  };
  return app.add_option_function<std::string>(flag, assign, help)->type_name(type);
}

}  // namespace bench
