// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// For options: a whole number from `least` to `most` in decimal digits. CLI11 by itself takes 010
/// for 8, as C does, and another number for one that is too large.
inline CLI::Validator whole(std::uint64_t least, std::uint64_t most) {
  const auto read = [least, most](std::string& text) -> std::string {
    std::uint64_t number = 0;
    const char* const last = text.data() + text.size();
    const auto [end, wrong] = std::from_chars(text.data(), last, number);
    if (wrong != std::errc{} || end != last || number < least || number > most) {
      return detail::joined({"'", text, "' is no whole number from ", least, " to ", most});
    }
    text = std::to_string(number);
    return {};
  };
  return {read, detail::joined({"INT in [", least, " - ", most, "]"})};
}

/// For options: the number of a rank.
inline CLI::Validator rank_number() { return whole(0, std::numeric_limits<int>::max()); }

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
