// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Sizes, times and names of collectives as people write them on a command line.

#include <papcoll/base/config.hpp>
#include <papcoll/base/floating_order.hpp>
#include <papcoll/base/text.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// A number and what follows it, without the blanks between them.
struct Quantity {
  double number = -1;  ///< −1: the text begins with no number from 0 on
  std::string_view unit{};
};
inline Quantity quantity(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('.') ? 1 : 0);
  const bool is_number = !digits.empty() && digits[0] >= '0' && digits[0] <= '9';
  double number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, wrong] = detail::from_chars(text.data(), last, number);
  if (!is_number || wrong != std::errc{}) return {};
  std::string_view unit{end, static_cast<std::size_t>(last - end)};
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  return {number, unit};
}

/// Returns the bytes that "8", "64k", "1.5M" or "1e6" stand for: k, M, G, T and P, also as kB or
/// KiB, are powers of 1024. Throws std::invalid_argument with a sentence that quotes the text.
inline std::size_t parse_bytes(std::string_view text) {
  const auto fail = [text](std::string_view why) {
    throw std::invalid_argument(
        detail::joined({"'", text, "' is ", why, ": write 8, 64k, 1.5M or 1e6"}));
  };
  const Quantity written = quantity(text);
  std::string unit{written.unit};
  for (char& c : unit) c = detail::lower(c);
  if (unit.ends_with('b')) unit.pop_back();
  if (unit.size() == 2 && unit[1] == 'i') unit.pop_back();
  constexpr std::string_view units = "kmgtpe";
  const std::size_t power = unit.empty() ? 0 : units.find(unit) + 1;
  if (written.number < 0 || unit.size() > 1 || (power == 0 && !unit.empty())) {
    fail("not a number of bytes");
  }
  const double bytes = std::ldexp(written.number, static_cast<int>(10 * power));
  constexpr double most = 1ULL << 53U;  // beyond, a double leaves numbers out
  if (bytes > most) fail("too large");
  if (bytes != std::floor(bytes)) fail("no whole number of bytes");
  return static_cast<std::size_t>(bytes);
}

/// Returns the seconds that "250ns", "100us" or "100µs", "2ms", "1.5s" or "0" stand for. Throws
/// std::invalid_argument with a sentence that quotes the text.
inline double parse_duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr std::array<Unit, 6> units{{{"ns", 1e-9},
                                       {"us", 1e-6},
                                       {"\u00b5s", 1e-6},  // the sign of micro
                                       {"\u03bcs", 1e-6},  // the Greek letter
                                       {"ms", 1e-3},
                                       {"s", 1}}};
  const Quantity written = quantity(text);
  if (written.number == 0 && written.unit.empty()) return 0;
  for (const Unit& unit : units) {
    if (written.number >= 0 && unit.name == written.unit) return written.number * unit.seconds;
  }
  throw std::invalid_argument(detail::joined(
      {"'", text, "' is not a duration: write a number and ns, us, µs, ms or s, as 100us"}));
}

/// Returns the name of a collective in lower case and without the MPI_ before it: "allreduce" for
/// MPI_Allreduce. What is no such name comes back changed in the same way.
inline std::string plain_name(std::string_view written) {
  std::string plain{written};
  for (char& c : plain) c = detail::lower(c);
  if (plain.starts_with("mpi_")) plain.erase(0, 4);
  return plain == "reduce_scatter_block" ? "reduce_scatter" : plain;
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
