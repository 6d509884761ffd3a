// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/schedule/schedule_traits.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

// The text of a schedule's parameters, after the colon of its name: parameters are separated by
// commas. A parameter that is itself a schedule is written as its own name, colon included; if that
// name contains a comma, it stands in parentheses:
//
//     KNomial:8
//     ReduceThenBcast:KNomial:8,Chain
//     ReduceThenBcast:(Suara:Ring,Rabenseifner,8),PipelinedChain:4096

/// Adds a parameter to the text after the colon.
[[gnu::cold]] inline void add_argument(std::string& text, std::string_view parameter) {
  const bool nested = parameter.find(',') != parameter.npos;
  text.append(text.empty() ? "" : ",").append(nested ? "(" : "");
  text.append(parameter).append(nested ? ")" : "");
}

/// Splits the text after the colon at its commas outside of parentheses, and takes off the
/// parentheses that enclose a whole parameter. Throws argument_error if parentheses do not match.
[[gnu::cold]] inline std::vector<std::string_view> split_arguments(std::string_view text) {
  std::vector<std::string_view> parameters;
  int depth = 0;
  std::size_t begin = 0;
  auto cut = [&](std::size_t end) {
    std::string_view p = text.substr(begin, end - begin);
    if (p.size() >= 2 && p.front() == '(' && p.back() == ')') p = p.substr(1, p.size() - 2);
    parameters.push_back(p);
    begin = end + 1;
  };
  for (std::size_t i = 0; i < text.size() && depth >= 0; ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] == ',' && depth == 0) cut(i);
  }
  if (depth != 0) {
    detail::throw_error<argument_error>(
        {"papcoll: the parentheses in '", text, "' do not match: each ( needs its )"});
  }
  cut(text.size());
  return parameters;
}

namespace detail {

template <class Number>
bool read_number(std::string_view text, std::size_t least, Number& number) noexcept {
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  return failure == std::errc{} && stop == end && number >= static_cast<Number>(least);
}

[[noreturn, gnu::cold]] inline void refuse_argument(std::string_view schedule,
                                                    const Parameter& parameter,
                                                    std::string_view kind, std::string_view text,
                                                    std::string_view example) {
  throw_error<argument_error>({"papcoll: ", schedule, " needs ", kind, " of at least ",
                               parameter.least, " as its ", parameter.name, ", but was given '",
                               text, "'", (example.empty() ? "" : joined({": write ", example}))});
}

}  // namespace detail

/// Reads a parameter that is a whole number; the argument_error that a bad text throws names it and
/// its schedule.
template <class Number>
[[gnu::cold]] Number parse_number(std::string_view schedule, const Parameter& parameter,
                                  std::string_view text) {
  Number number{};
  if (!detail::read_number(text, parameter.least, number)) {
    const std::string usual{parameter.standard};
    detail::refuse_argument(schedule, parameter, "a whole number", text,
                            usual.empty() ? usual : detail::joined({usual, ", for example"}));
  }
  return number;
}

/// Reads a parameter in bytes: 65536, or 64k, 4M or 1G.
[[gnu::cold]] inline std::size_t parse_bytes(std::string_view schedule, const Parameter& parameter,
                                             std::string_view text) {
  constexpr std::string_view units = "kKmMgG";
  const std::size_t unit = text.empty() ? units.npos : units.find(text.back());
  const unsigned shift = unit == units.npos ? 0 : 10 * (static_cast<unsigned>(unit) / 2 + 1);
  const std::string_view digits = shift == 0 ? text : text.substr(0, text.size() - 1);
  std::size_t number = 0;
  if (!detail::read_number(digits, parameter.least, number) || number << shift >> shift != number) {
    const std::string name(schedule);
    detail::refuse_argument(schedule, parameter, "a number of bytes", text,
                            detail::joined({name, ":65536 or ", name, ":64k"}));
  }
  return number << shift;
}

/// Reads lengths such as 4x8; the argument_error that a bad text throws names it and its schedule.
[[gnu::cold]] inline std::vector<int> parse_extents(std::string_view schedule,
                                                    const Parameter& parameter,
                                                    std::string_view text) {
  std::vector<int> extents;
  for (std::string_view rest = text;;) {
    const std::size_t end = std::min(rest.find('x'), rest.size());
    if (!detail::read_number(rest.substr(0, end), parameter.least, extents.emplace_back())) {
      detail::throw_error<argument_error>(
          {"papcoll: ", schedule, " needs lengths of a grid of at least ", parameter.least,
           ", joined by x, but was given '", text, "': write 8 for rows of 8, or 4x8"});
    }
    if (end == rest.size()) return extents;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace papcoll::inline PAPCOLL_ABI
