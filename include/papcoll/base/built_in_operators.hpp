// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/kernels.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {
template <class T>
inline constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// Unsigned, and not so narrow that C++ would promote it to int, whose overflow is undefined.
template <class T> using Modular = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

template <class T> concept Ordered = requires(const T& x) { static_cast<bool>(x < x); };

template <class T> concept Truth = requires(const T& x) { static_cast<T>(static_cast<bool>(x)); };

template <class T> concept ComplexLike = requires(const T& z) {
  z.real();
  z.imag();
};
}  // namespace detail

// Each works on every type that has the operation its line names.

/// low + high. Integers wrap, signed ones too; on bool it is `or`.
struct Sum {
  static constexpr const char* name = "sum";
  static constexpr bool commutative = true;
  using LaneOp = detail::LaneSum;
  template <class T>
  constexpr auto operator()(const T& low, const T& high) const noexcept
      -> decltype(static_cast<T>(low + high)) {
    if constexpr (detail::is_integer<T>) {
      using U = detail::Modular<T>;
      return static_cast<T>(static_cast<U>(low) + static_cast<U>(high));
    } else {
      return static_cast<T>(low + high);
    }
  }
};

/// low * high. Integers wrap, signed ones too; on bool it is `and`. Commutative for arithmetic and
/// complex numbers, not for classes such as matrices.
struct Prod {
  static constexpr const char* name = "prod";
  template <class T>
  static constexpr bool commutative_for = !std::is_class_v<T> || detail::ComplexLike<T>;
  using LaneOp = detail::LaneProd;
  template <class T>
  constexpr auto operator()(const T& low, const T& high) const noexcept
      -> decltype(static_cast<T>(low * high)) {
    if constexpr (detail::is_integer<T>) {
      using U = detail::Modular<T>;
      return static_cast<T>(static_cast<U>(low) * static_cast<U>(high));
    } else {
      return static_cast<T>(low * high);
    }
  }
};

/// The lesser one; of equal ones low. Of floating-point numbers minimum of IEEE 754-2019: a NaN
/// wins and is the quiet one, −0 < +0. In classes whose numeric_limits have a NaN it wins, too.
struct Min {
  static constexpr const char* name = "min";
  static constexpr bool commutative = true;
  using LaneOp = detail::LaneMin;
  template <detail::Ordered T> constexpr T operator()(const T& low, const T& high) const noexcept {
    return detail::extreme_of<detail::Extreme::minimum>(low, high);
  }
};

/// The greater one; of equal ones low. Of floating-point numbers maximum of IEEE 754-2019: a NaN
/// wins and is the quiet one, −0 < +0. In classes whose numeric_limits have a NaN it wins, too.
struct Max {
  static constexpr const char* name = "max";
  static constexpr bool commutative = true;
  using LaneOp = detail::LaneMax;
  template <detail::Ordered T> constexpr T operator()(const T& low, const T& high) const noexcept {
    return detail::extreme_of<detail::Extreme::maximum>(low, high);
  }
};

/// IEEE 754-2019's minimumNumber: as Min, but a NaN loses to any number.
struct MinNumber {
  static constexpr const char* name = "min_number";
  static constexpr bool commutative = true;
  template <detail::Ordered T> constexpr T operator()(const T& low, const T& high) const noexcept {
    return detail::extreme_number<detail::Extreme::minimum>(low, high);
  }
};

/// IEEE 754-2019's maximumNumber: as Max, but a NaN loses to any number.
struct MaxNumber {
  static constexpr const char* name = "max_number";
  static constexpr bool commutative = true;
  template <detail::Ordered T> constexpr T operator()(const T& low, const T& high) const noexcept {
    return detail::extreme_number<detail::Extreme::maximum>(low, high);
  }
};

/// low & high: integers, bool, std::byte.
struct BitAnd {
  static constexpr const char* name = "bit_and";
  static constexpr bool commutative = true;
  using LaneOp = detail::LaneAnd;
  template <class T>
  constexpr auto operator()(const T& low, const T& high) const noexcept
      -> decltype(static_cast<T>(low & high)) {
    return static_cast<T>(low & high);
  }
};

/// low | high: integers, bool, std::byte.
struct BitOr {
  static constexpr const char* name = "bit_or";
  static constexpr bool commutative = true;
  using LaneOp = detail::LaneOr;
  template <class T>
  constexpr auto operator()(const T& low, const T& high) const noexcept
      -> decltype(static_cast<T>(low | high)) {
    return static_cast<T>(low | high);
  }
};

/// low ^ high: integers, bool, std::byte.
struct BitXor {
  static constexpr const char* name = "bit_xor";
  static constexpr bool commutative = true;
  using LaneOp = detail::LaneXor;
  template <class T>
  constexpr auto operator()(const T& low, const T& high) const noexcept
      -> decltype(static_cast<T>(low ^ high)) {
    return static_cast<T>(low ^ high);
  }
};

/// 1 if both are true (not zero), else 0; NaN is true.
struct LogicalAnd {
  static constexpr const char* name = "logical_and";
  static constexpr bool commutative = true;
  template <detail::Truth T> constexpr T operator()(const T& low, const T& high) const noexcept {
    return static_cast<T>(detail::is_true(low) && detail::is_true(high));
  }
};

/// 1 if one or both are true (not zero), else 0; NaN is true.
struct LogicalOr {
  static constexpr const char* name = "logical_or";
  static constexpr bool commutative = true;
  template <detail::Truth T> constexpr T operator()(const T& low, const T& high) const noexcept {
    return static_cast<T>(detail::is_true(low) || detail::is_true(high));
  }
};

/// 1 if exactly one is true (not zero), else 0; NaN is true.
struct LogicalXor {
  static constexpr const char* name = "logical_xor";
  static constexpr bool commutative = true;
  template <detail::Truth T> constexpr T operator()(const T& low, const T& high) const noexcept {
    return static_cast<T>(detail::is_true(low) != detail::is_true(high));
  }
};

/// The element type of minloc and maxloc: a value and where it was found (usually the rank).
template <class T, class Index = int> struct ValueIndex {
  T value;      ///< what is compared
  Index index;  ///< where it was found
  friend constexpr bool operator==(const ValueIndex&, const ValueIndex&) = default;
};

namespace detail {
/// The pair that stands further out; of equal values (zeros are) the one with the lower index. A
/// NaN stands outside of all.
template <Extreme extreme, class T, class Index>
constexpr ValueIndex<T, Index> pair_further_out(const ValueIndex<T, Index>& low,
                                                const ValueIndex<T, Index>& high) noexcept {
  const bool low_is_nan = is_nan(low.value);
  const bool high_is_nan = is_nan(high.value);
  if (low_is_nan != high_is_nan) {
    return {extreme_of<extreme>(low.value, high.value), low_is_nan ? low.index : high.index};
  }
  if (!low_is_nan) {
    if (is_less(low.value, high.value)) return extreme == Extreme::minimum ? low : high;
    if (is_less(high.value, low.value)) return extreme == Extreme::minimum ? high : low;
    if (is_before(low.index, high.index)) return low;
    if (is_before(high.index, low.index)) return high;
  }
  return {extreme_of<extreme>(low.value, high.value),
          is_before(high.index, low.index) ? high.index : low.index};
}
}  // namespace detail

/// The pair with the lesser value; of equal values the one with the lower index, as MPI_MINLOC. A
/// pair with a NaN wins.
struct MinLoc {
  static constexpr const char* name = "minloc";
  static constexpr bool commutative = true;
  template <class T, class Index>
  constexpr ValueIndex<T, Index> operator()(const ValueIndex<T, Index>& low,
                                            const ValueIndex<T, Index>& high) const noexcept {
    return detail::pair_further_out<detail::Extreme::minimum>(low, high);
  }
};

/// The pair with the greater value; of equal values the one with the lower index, as MPI_MAXLOC. A
/// pair with a NaN wins.
struct MaxLoc {
  static constexpr const char* name = "maxloc";
  static constexpr bool commutative = true;
  template <class T, class Index>
  constexpr ValueIndex<T, Index> operator()(const ValueIndex<T, Index>& low,
                                            const ValueIndex<T, Index>& high) const noexcept {
    return detail::pair_further_out<detail::Extreme::maximum>(low, high);
  }
};

inline constexpr Sum sum{};                 ///< low + high
inline constexpr Prod prod{};               ///< low × high
inline constexpr Min min{};                 ///< the lesser one; a NaN wins
inline constexpr Max max{};                 ///< the greater one; a NaN wins
inline constexpr MinNumber min_number{};    ///< the lesser number, NaNs left out
inline constexpr MaxNumber max_number{};    ///< the greater number, NaNs left out
inline constexpr BitAnd bit_and{};          ///< low & high, of integers
inline constexpr BitOr bit_or{};            ///< low | high, of integers
inline constexpr BitXor bit_xor{};          ///< low ^ high, of integers
inline constexpr LogicalAnd logical_and{};  ///< both are true
inline constexpr LogicalOr logical_or{};    ///< at least one is true
inline constexpr LogicalXor logical_xor{};  ///< exactly one is true
inline constexpr MinLoc minloc{};           ///< of ValueIndex: the lesser value, and where
inline constexpr MaxLoc maxloc{};           ///< of ValueIndex: the greater value, and where

namespace detail {
#define PAPCOLL_ONCE_FOR_UNSIGNED(Op)     \
  PAPCOLL_KERNELS_ONCE(std::uint8_t, Op)  \
  PAPCOLL_KERNELS_ONCE(std::uint16_t, Op) \
  PAPCOLL_KERNELS_ONCE(std::uint32_t, Op) \
  PAPCOLL_KERNELS_ONCE(std::uint64_t, Op)
#define PAPCOLL_ONCE_FOR_NUMBERS(Op) \
  PAPCOLL_ONCE_FOR_UNSIGNED(Op)      \
  PAPCOLL_KERNELS_ONCE(float, Op)    \
  PAPCOLL_KERNELS_ONCE(double, Op)
#define PAPCOLL_ONCE_FOR_ORDERED(Op)     \
  PAPCOLL_ONCE_FOR_NUMBERS(Op)           \
  PAPCOLL_KERNELS_ONCE(std::int8_t, Op)  \
  PAPCOLL_KERNELS_ONCE(std::int16_t, Op) \
  PAPCOLL_KERNELS_ONCE(std::int32_t, Op) \
  PAPCOLL_KERNELS_ONCE(std::int64_t, Op)
PAPCOLL_ONCE_FOR_NUMBERS(Sum)
PAPCOLL_ONCE_FOR_NUMBERS(Prod)
PAPCOLL_ONCE_FOR_ORDERED(Min)
PAPCOLL_ONCE_FOR_ORDERED(Max)
PAPCOLL_ONCE_FOR_UNSIGNED(BitAnd)
PAPCOLL_ONCE_FOR_UNSIGNED(BitOr)
PAPCOLL_ONCE_FOR_UNSIGNED(BitXor)
#undef PAPCOLL_ONCE_FOR_ORDERED
#undef PAPCOLL_ONCE_FOR_NUMBERS
#undef PAPCOLL_ONCE_FOR_UNSIGNED
#undef PAPCOLL_KERNELS_ONCE
#undef PAPCOLL_KERNEL_ONCE
}  // namespace detail

/// An operator of papcoll on an arithmetic type, named where neither type is known any more:
/// a transport that combines by itself, such as one for buffers in a GPU's memory, finds its own
/// kernel by comparing with built_in_pair<float, Sum> and others, or in a switch over number.
struct BuiltInPair {
  std::uint16_t number = 0;  ///< 0: any other, of which only Reducer::apply is known

  /// True if it is one of papcoll's.
  constexpr explicit operator bool() const noexcept { return number != 0; }
  friend constexpr bool operator==(BuiltInPair, BuiltInPair) = default;
};

namespace detail {

template <class... Xs> struct TypeList {
  static constexpr std::size_t size = sizeof...(Xs);

  /// The place of X among Xs, counted from 1; 0: it is none of them.
  template <class X> static consteval std::uint16_t place_of() noexcept {
    std::uint16_t place = 0;
    std::uint16_t i = 0;
    ((++i, place = std::same_as<X, Xs> ? i : place), ...);
    return place;
  }
};

// What has numbers: each operator with each type that has its operation. A number never changes, so
// what is new comes last; types stand in the order of their numbers.
using BuiltInOperators =
    TypeList<Sum, Prod, Min, Max, BitAnd, BitOr, BitXor, LogicalAnd, LogicalOr, LogicalXor>;
using BuiltInTypes = TypeList<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t,
                              std::int32_t, std::uint64_t, std::int64_t, float, double>;

/// Integers count by size and sign: long and long long are the same where both have 64 bits.
template <class T> consteval std::uint16_t type_number() noexcept {
  if constexpr (is_integer<T>) {
    return static_cast<std::uint16_t>(2 * sizeof(T) + (std::is_signed_v<T> ? 1 : 0));
  } else {
    constexpr std::uint16_t floating = TypeList<float, double>::place_of<T>();
    return floating == 0 ? 0 : 32 + floating;
  }
}

template <class T, class Op> consteval std::uint16_t pair_number() noexcept {
  constexpr std::uint16_t op = BuiltInOperators::place_of<Op>();
  constexpr std::uint16_t type = type_number<T>();
  return op == 0 || type == 0 ? 0 : static_cast<std::uint16_t>(op << 8U | type);
}

}  // namespace detail

/// The pair of an operator type `Op` and an element type `T`; its number is 0 if papcoll has none.
template <class T, class Op>
inline constexpr BuiltInPair built_in_pair{detail::pair_number<T, Op>()};

}  // namespace papcoll::inline PAPCOLL_ABI
