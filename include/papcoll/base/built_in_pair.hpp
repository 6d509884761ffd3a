#pragma once

#include <papcoll/base/built_in_operators.hpp>
#include <papcoll/base/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {

/// An operator of papcoll on an arithmetic type, named below the seam, where neither type is known:
/// a transport that combines by itself, such as one for buffers in a GPU's memory, finds its own
/// kernel by comparing with built_in_pair<float, Sum> and others, or in a switch over number.
struct BuiltInPair {
  std::uint16_t number = 0;  ///< 0: any other, of which only Reducer::apply is known

  constexpr explicit operator bool() const noexcept { return number != 0; }
  friend constexpr bool operator==(BuiltInPair, BuiltInPair) = default;
};

namespace detail {

template <class... Xs>
struct TypeList {
  static constexpr std::size_t size = sizeof...(Xs);

  /// Which of Xs X is, counted from 1; 0: none.
  template <class X>
  static consteval std::uint16_t place_of() noexcept {
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
template <class T>
consteval std::uint16_t type_number() noexcept {
  if constexpr (is_integer<T>) {
    return static_cast<std::uint16_t>(2 * sizeof(T) + (std::is_signed_v<T> ? 1 : 0));
  } else {
    constexpr std::uint16_t floating = TypeList<float, double>::place_of<T>();
    return floating == 0 ? 0 : 32 + floating;
  }
}

template <class T, class Op>
consteval std::uint16_t pair_number() noexcept {
  constexpr std::uint16_t op = BuiltInOperators::place_of<Op>();
  constexpr std::uint16_t type = type_number<T>();
  return op == 0 || type == 0 ? 0 : static_cast<std::uint16_t>(op << 8U | type);
}

}  // namespace detail

template <class T, class Op>
inline constexpr BuiltInPair built_in_pair{detail::pair_number<T, Op>()};

}  // namespace papcoll::inline PAPCOLL_ABI
