// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <bit>
#include <cerrno>
#include <cfloat>
#include <charconv>
#include <clocale>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// std::isfinite, also where a file is compiled with -ffinite-math-only and what comes from outside
/// is checked: that option lets a compiler take std::isfinite, and comparisons, for true. By
/// reference, since it also lets it assume that no argument is infinite.
template <std::floating_point T> bool is_finite(const T& x) noexcept {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static_assert(sizeof(T) == sizeof(Bits));
  return std::bit_cast<Bits>(x) << 1U <= std::bit_cast<Bits>(std::numeric_limits<T>::max()) << 1U;
}

/// Infinity, by its bits: of std::numeric_limits' compilers warn under -ffinite-math-only.
inline constexpr double infinity = std::bit_cast<double>(std::uint64_t{0x7ff} << 52U);

/// As std::from_chars, which libc++ has for these since version 20; but `inf` and `nan` are no
/// numbers, and subnormal ones are out of range.
inline std::from_chars_result from_chars(const char* begin, const char* end, double& value) {
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

// Minimum and maximum as IEEE 754-2019 has them (section 9.6): −0 < +0, and a NaN wins, as the
// quiet one. Both are associative and commutative whatever the numbers are, so that no order of
// ranks or arrivals changes a bit of a result.
//
// Floating-point numbers are compared as integers: what comes out depends neither on -ffast-math
// nor on what the program has set for rounding and for subnormal numbers (flush to zero).

template <class S, class U> struct Integers {
  using Signed = S;
  using Unsigned = U;
};
__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

template <std::size_t Size> struct IntegerOf : Integers<void, void> {};
template <> struct IntegerOf<1> : Integers<std::int8_t, std::uint8_t> {};
template <> struct IntegerOf<2> : Integers<std::int16_t, std::uint16_t> {};
template <> struct IntegerOf<4> : Integers<std::int32_t, std::uint32_t> {};
template <> struct IntegerOf<8> : Integers<std::int64_t, std::uint64_t> {};
template <> struct IntegerOf<16> : Integers<Int128, Uint128> {};

template <class T> constexpr bool is_floating_type() noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    return true;
  } else if constexpr (std::is_class_v<T> || std::is_union_v<T> || std::is_enum_v<T>) {
    return false;
  } else if constexpr (requires {
                         { T{} < static_cast<T>(0.5) } -> std::same_as<bool>;
                       }) {
    return T{} < static_cast<T>(0.5) && static_cast<T>(0.5) < static_cast<T>(1);
  } else {
    return false;
  }
}
/// float, double, long double, and the compilers' own such as _Float16 and __float128, of which the
/// standard library may not know.
template <class T> inline constexpr bool has_floating_order = is_floating_type<T>();

/// How T has its numbers in IntegerOf<sizeof(T)>: the sign in the highest bit, then the magnitude.
template <class T> struct FloatingBits {
  using Unsigned = typename IntegerOf<sizeof(T)>::Unsigned;
  static constexpr bool is_wide = sizeof(T) == 16;
  static constexpr bool is_x87 = is_wide && std::is_same_v<T, long double> && LDBL_MANT_DIG == 64;
  static constexpr std::size_t value_bytes = is_x87 ? 10 : sizeof(T);  ///< the others are padding
  static constexpr std::size_t shift = 8 * (sizeof(T) - value_bytes);
  static constexpr Unsigned magnitude = static_cast<Unsigned>(-1) >> 1U;

  static constexpr Unsigned of(const T& x) noexcept {
    if constexpr (is_wide) {
      Unsigned bits = 0;
      std::memcpy(&bits, &x, value_bytes);
      return bits << shift;
    } else {
      return std::bit_cast<Unsigned>(x);
    }
  }
  static constexpr T number(Unsigned bits) noexcept {
    if constexpr (is_wide) {
      T x{};
      bits >>= shift;
      std::memcpy(&x, &bits, value_bytes);
      return x;
    } else {
      return std::bit_cast<T>(bits);
    }
  }

  // The bits of a double are given: the library's constants warn under -ffinite-math-only.
  static constexpr Unsigned infinity = [] {
    if constexpr (is_wide) {
      return Unsigned{0x7fff} << 112U | Unsigned{is_x87} << 111U;
    } else {
      return of(static_cast<T>(std::bit_cast<double>(std::uint64_t{0x7ff} << 52U)));
    }
  }();
  static constexpr Unsigned nan = [] {
    if constexpr (is_wide) {
      return infinity | Unsigned{1} << (is_x87 ? 110U : 111U);
    } else {
      return of(static_cast<T>(std::bit_cast<double>(std::uint64_t{0xfff} << 51U)));
    }
  }();
};

/// In constant expressions wide numbers have no bits. (std::is_constant_evaluated() of libstdc++ is
/// true at run time, too, under clang++ 14 with -std=c++2b.)
template <class T> constexpr bool has_bits_here() noexcept {
  if constexpr (!has_floating_order<T>) {
    return false;
  } else {
    return !FloatingBits<T>::is_wide || !__builtin_is_constant_evaluated();
  }
}

enum class Extreme : bool { minimum, maximum };

/// Minimum or maximum of the bits of T: in U, an unsigned integer of T's size or a vector of them,
/// with S, the same signed.
template <class T, Extreme extreme> struct FloatingOrder {
  using Bits = FloatingBits<T>;
  using Unsigned = typename Bits::Unsigned;
  using Signed = typename IntegerOf<sizeof(T)>::Signed;
  static constexpr int sign_bit = 8 * sizeof(T) - 1;
  static constexpr Unsigned magnitude = Bits::magnitude;
  static constexpr Unsigned infinity = Bits::infinity;
  static constexpr Unsigned nan = Bits::nan;

  /// A number's place in the order of all, with NaNs before them (minimum) or behind (maximum).
  /// With the bits of negative ones inverted, integers have NaNs at both ends; `turn` takes one end
  /// to the other.
  static constexpr auto turn = static_cast<Unsigned>(
      extreme == Extreme::minimum ? magnitude - infinity : infinity - magnitude);
  template <class S, class U>
  [[gnu::always_inline]] static constexpr void find_place(S& place, const U& bits) noexcept {
    place = (S)((bits ^ ((U)((S)bits >> sign_bit) & magnitude)) + turn);
  }

  /// The place of the number beside the NaNs.
  static constexpr Signed outermost = [] {
    Signed place{};
    find_place(place, extreme == Extreme::minimum ? infinity | ~magnitude : infinity);
    return place;
  }();

  template <class S, class U>
  [[gnu::always_inline]] static constexpr void apply(U& out, const U& low, const U& high) noexcept {
    S a{};
    S b{};
    find_place(a, low);
    find_place(b, high);
    const U quiet = U{} + nan;
    if constexpr (extreme == Extreme::minimum) {
      out = b < a ? high : low;
      a = b < a ? b : a;
      out = a < outermost ? quiet : out;
    } else {
      out = a < b ? high : low;
      a = a < b ? b : a;
      out = outermost < a ? quiet : out;
    }
  }
};

template <class T> constexpr bool is_nan(const T& x) noexcept {
  if constexpr (has_floating_order<T>) {
    using Bits = FloatingBits<T>;
    return has_bits_here<T>() ? (Bits::of(x) & Bits::magnitude) > Bits::infinity : !(x == x);
  } else if constexpr (std::numeric_limits<T>::has_quiet_NaN) {
    return !(x == x);
  } else {
    return false;
  }
}

/// Returns true if x is not zero; true for a NaN.
template <class T> constexpr bool is_true(const T& x) noexcept {
  if constexpr (has_floating_order<T>) {
    using Bits = FloatingBits<T>;
    if (has_bits_here<T>()) return (Bits::of(x) & Bits::magnitude) != 0;
  }
  return static_cast<bool>(x);
}

/// Returns true if a comes before b in the total order, in which −0 is before +0.
template <class T> constexpr bool is_before(const T& a, const T& b) noexcept {
  if constexpr (has_floating_order<T>) {
    if (has_bits_here<T>()) {
      using Order = FloatingOrder<T, Extreme::minimum>;
      typename Order::Signed place{};
      typename Order::Signed other{};
      Order::find_place(place, Order::Bits::of(a));
      Order::find_place(other, Order::Bits::of(b));
      return place < other;
    }
  }
  return a < b;
}
/// Numbers as they are compared: zeros are equal.
template <class T> constexpr bool is_less(const T& a, const T& b) noexcept {
  if constexpr (has_floating_order<T>) {
    return is_before(a, b) && (is_true(a) || is_true(b));
  } else {
    return a < b;
  }
}

/// The lesser (minimum) or the greater (maximum) of two; where they are equal, low, but for zeros.
template <Extreme extreme, class T> constexpr T extreme_of(const T& low, const T& high) noexcept {
  if constexpr (has_floating_order<T>) {
    if (has_bits_here<T>()) {
      using Order = FloatingOrder<T, extreme>;
      typename Order::Unsigned bits{};
      Order::template apply<typename Order::Signed>(bits, Order::Bits::of(low),
                                                    Order::Bits::of(high));
      return Order::Bits::number(bits);
    }
  }
  if constexpr (has_floating_order<T>) {
    if (is_nan(low) || is_nan(high)) return static_cast<T>(__builtin_nan(""));
  } else if constexpr (std::numeric_limits<T>::has_quiet_NaN) {
    if (is_nan(low) || is_nan(high)) return std::numeric_limits<T>::quiet_NaN();
  }
  bool high_wins = extreme == Extreme::minimum ? high < low : low < high;
  if constexpr (has_floating_order<T>) {
    const bool has_wanted_sign = (__builtin_copysignl(1, static_cast<long double>(high)) < 0) ==
                                 (extreme == Extreme::minimum);
    high_wins = high_wins || (low == high && has_wanted_sign);
  }
  return high_wins ? high : low;
}

/// The extreme of two values; if one of them is a NaN, the other.
template <Extreme extreme, class T>
constexpr T extreme_number(const T& low, const T& high) noexcept {
  const bool low_is_nan = is_nan(low);
  if (low_is_nan != is_nan(high)) return low_is_nan ? high : low;
  return extreme_of<extreme>(low, high);
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
