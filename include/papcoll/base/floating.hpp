#pragma once

#include <papcoll/base/config.hpp>

#include <bit>
#include <cerrno>
#include <charconv>
#include <clocale>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// std::isfinite, also where a file is compiled with -ffinite-math-only and what comes from outside
/// is checked: that option lets a compiler take std::isfinite, and comparisons, for true. By
/// reference, since it also lets it assume that no argument is infinite.
template <std::floating_point T>
bool is_finite(const T& x) noexcept {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static_assert(sizeof(T) == sizeof(Bits));
  return std::bit_cast<Bits>(x) << 1U <= std::bit_cast<Bits>(std::numeric_limits<T>::max()) << 1U;
}

/// Infinity, by its bits: of std::numeric_limits' compilers warn under -ffinite-math-only.
inline constexpr double infinity = std::bit_cast<double>(std::uint64_t{0x7ff} << 52U);

/// std::from_chars without it: `inf` and `nan` are no numbers, and subnormal ones are out of range.
inline std::from_chars_result from_chars_by_strtod(const char* begin, const char* end,
                                                   double& value) {
  const std::string_view text{begin, static_cast<std::size_t>(end - begin)};
  const std::string number{text.substr(0, text.find_first_not_of("+-.0123456789Ee"))};
  if (number.empty() || number.front() == '+') return {begin, std::errc::invalid_argument};
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);  // glibc's own, never freed
  char* stop = nullptr;
  errno = 0;
  const double found = strtod_l(number.c_str(), &stop, plain);
  const char* const after = begin + (stop - number.c_str());
  if (after == begin) return {begin, std::errc::invalid_argument};
  if (errno == ERANGE) return {after, std::errc::result_out_of_range};
  value = found;
  return {after, std::errc{}};
}

/// std::from_chars of a floating-point number, which libc++ has since version 20.
template <std::same_as<double> T>
std::from_chars_result from_chars(const char* begin, const char* end, T& value) {
  if constexpr (requires { std::from_chars(begin, end, value); }) {
    return std::from_chars(begin, end, value);
  } else {
    return from_chars_by_strtod(begin, end, value);
  }
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
