// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// A unit of time.
struct TimeUnit {
  std::string_view name;
  double seconds;
};

/// The unit in which a time is a number from 1 to 1000, if there is one.
inline TimeUnit unit_for(double seconds) noexcept {
  constexpr std::array<TimeUnit, 4> units{{{"ns", 1e-9}, {"µs", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  constexpr double half_of_last_digit = 0.9995;
  std::size_t i = units.size() - 1;
  while (i > 0 && seconds < units[i].seconds * half_of_last_digit) --i;
  return units[i];
}

/// A number with so many digits after the point, without zeros at its end.
inline std::string decimal(double x, int digits) {
  std::array<char, 64> text{};
  static_cast<void>(std::snprintf(text.data(), text.size(), "%.*f", digits, x));
  std::string s{text.data()};
  for (char& c : s) c = c == ',' ? '.' : c;  // in any locale
  if (s.find('.') == std::string::npos) return s;
  s.erase(s.find_last_not_of('0') + 1);
  if (s.back() == '.') s.pop_back();
  return s;
}

/// "0 s", "12.35 µs", "1.5 ms": with four digits.
inline std::string duration_text(double seconds) {
  if (!(seconds > 0)) return "0 s";
  const TimeUnit unit = unit_for(seconds);
  const double value = seconds / unit.seconds;
  return decimal(value, value < 9.9995 ? 3 : value < 99.995 ? 2 : 1) + " " + std::string(unit.name);
}

/// "8 bytes", "64 KB", "1.25 MB", in powers of 1024.
inline std::string bytes_text(std::size_t bytes) {
  constexpr std::array<std::string_view, 4> units{"bytes", "KB", "MB", "GB"};
  auto value = static_cast<double>(bytes);
  std::size_t i = 0;
  for (; value >= 1024 && i + 1 < units.size(); ++i) value /= 1024;
  if (bytes == 1) return "1 byte";
  return decimal(value, i == 0 ? 0 : 2) + " " + std::string(units[i]);
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
