#pragma once

#include <papcoll/config.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

// Minimum and maximum as IEEE 754-2019 has them (section 9.6): −0 < +0, and a NaN wins, as the
// quiet one. Both are associative and commutative whatever the numbers are, so that no order of
// ranks or arrivals changes a bit of a result.
//
// float and double are compared as integers: what comes out depends neither on -ffast-math nor on
// what the program has set for rounding and for subnormal numbers (flush to zero).

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

template <std::size_t Size>
struct IntegerOf {
  using Unsigned = void;
  using Signed = void;
};
template <>
struct IntegerOf<1> {
  using Unsigned = std::uint8_t;
  using Signed = std::int8_t;
};
template <>
struct IntegerOf<2> {
  using Unsigned = std::uint16_t;
  using Signed = std::int16_t;
};
template <>
struct IntegerOf<4> {
  using Unsigned = std::uint32_t;
  using Signed = std::int32_t;
};
template <>
struct IntegerOf<8> {
  using Unsigned = std::uint64_t;
  using Signed = std::int64_t;
};

enum class Extreme : bool { minimum, maximum };

/// Minimum or maximum of the bits of T, float or double: in U, an unsigned integer of T's size or a
/// vector of them, with S, the same signed.
template <class T, Extreme extreme>
struct FloatingOrder {
  using Unsigned = typename IntegerOf<sizeof(T)>::Unsigned;
  using Signed = typename IntegerOf<sizeof(T)>::Signed;
  static constexpr int sign_bit = 8 * sizeof(T) - 1;
  static constexpr Unsigned magnitude = static_cast<Unsigned>(-1) >> 1U;
  static constexpr auto infinity = std::bit_cast<Unsigned>(std::numeric_limits<T>::infinity());
  static constexpr auto nan = std::bit_cast<Unsigned>(std::numeric_limits<T>::quiet_NaN());

  /// A number's place in the order of all, with NaNs before them (minimum) or behind (maximum).
  /// With the bits of negative ones inverted, integers have NaNs at both ends; `turn` takes one end
  /// to the other.
  static constexpr Unsigned turn =
      extreme == Extreme::minimum ? magnitude - infinity : infinity - magnitude;
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

template <class T>
inline constexpr bool has_floating_order = std::is_same_v<T, float> || std::is_same_v<T, double>;

template <class T>
constexpr bool is_nan(const T& x) noexcept {
  if constexpr (has_floating_order<T>) {
    using Order = FloatingOrder<T, Extreme::minimum>;
    return (std::bit_cast<typename Order::Unsigned>(x) & Order::magnitude) > Order::infinity;
  } else if constexpr (std::numeric_limits<T>::has_quiet_NaN) {
    return !(x == x);
  } else {
    return false;
  }
}

/// The lesser (minimum) or the greater (maximum) of two; where they are equal, low, but for zeros.
template <Extreme extreme, class T>
constexpr T extreme_of(const T& low, const T& high) noexcept {
  if constexpr (has_floating_order<T>) {
    using Order = FloatingOrder<T, extreme>;
    typename Order::Unsigned bits{};
    Order::template apply<typename Order::Signed>(bits,
                                                  std::bit_cast<typename Order::Unsigned>(low),
                                                  std::bit_cast<typename Order::Unsigned>(high));
    return std::bit_cast<T>(bits);
  } else {
    if constexpr (std::numeric_limits<T>::has_quiet_NaN) {
      if (is_nan(low) || is_nan(high)) return std::numeric_limits<T>::quiet_NaN();
    }
    bool high_wins = extreme == Extreme::minimum ? high < low : low < high;
    if constexpr (std::is_floating_point_v<T>) {
      const bool has_wanted_sign =
          (__builtin_copysignl(1, high) < 0) == (extreme == Extreme::minimum);
      high_wins = high_wins || (low == high && has_wanted_sign);
    }
    return high_wins ? high : low;
  }
}

/// The same, but of a NaN and a number the number.
template <Extreme extreme, class T>
constexpr T extreme_number(const T& low, const T& high) noexcept {
  const bool low_is_nan = is_nan(low);
  if (low_is_nan != is_nan(high)) return low_is_nan ? high : low;
  return extreme_of<extreme>(low, high);
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
