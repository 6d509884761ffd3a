#pragma once

#include <papcoll/config.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

// Lane operations: what an operator does to a vector of elements at once. Operands travel by
// reference, because a vector wider than the caller's instruction set has no ABI to pass it by
// value; the function disappears into a kernel that has the instructions.

struct LaneSum {
  template <class V>
  [[gnu::always_inline]] static void apply(V& out, const V& low, const V& high) noexcept {
    out = low + high;
  }
};

struct LaneProd {
  template <class V>
  [[gnu::always_inline]] static void apply(V& out, const V& low, const V& high) noexcept {
    out = low * high;
  }
};

struct LaneMin {
  template <class V>
  [[gnu::always_inline]] static void apply(V& out, const V& low, const V& high) noexcept {
    out = high < low ? high : low;
  }
};

struct LaneMax {
  template <class V>
  [[gnu::always_inline]] static void apply(V& out, const V& low, const V& high) noexcept {
    out = low < high ? high : low;
  }
};

struct LaneAnd {
  template <class V>
  [[gnu::always_inline]] static void apply(V& out, const V& low, const V& high) noexcept {
    out = low & high;
  }
};

struct LaneOr {
  template <class V>
  [[gnu::always_inline]] static void apply(V& out, const V& low, const V& high) noexcept {
    out = low | high;
  }
};

struct LaneXor {
  template <class V>
  [[gnu::always_inline]] static void apply(V& out, const V& low, const V& high) noexcept {
    out = low ^ high;
  }
};

template <class LaneOp>
inline constexpr bool compares = std::is_same_v<LaneOp, LaneMin> || std::is_same_v<LaneOp, LaneMax>;

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

template <class T, class LaneOp>
constexpr auto lane_of() noexcept {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return std::type_identity<T>{};
  } else if constexpr (!std::is_integral_v<T> || std::is_same_v<T, bool>) {
    return std::type_identity<void>{};
  } else if constexpr (std::is_signed_v<T> && compares<LaneOp>) {
    return std::type_identity<typename IntegerOf<sizeof(T)>::Signed>{};
  } else {
    return std::type_identity<typename IntegerOf<sizeof(T)>::Unsigned>{};
  }
}

/// The type that stands for T in a vector under LaneOp, void where there is none (bool, long
/// double, classes). Integers keep their sign only where it matters, so that sums and products wrap
/// and types of one size share a kernel.
template <class T, class LaneOp>
using Lane = typename decltype(lane_of<T, LaneOp>())::type;

/// Op, a stateless operator, says by Op::LaneOp what it does to vectors, and T has a lane.
template <class T, class Op>
concept Vectorizable = requires {
  typename Op::LaneOp;
}
&&!std::is_void_v<Lane<T, typename Op::LaneOp>>;

template <class Lane, std::size_t Bytes>
struct Vector {
  typedef Lane type __attribute__((vector_size(Bytes)));
  /// The same at any address, in memory that holds objects of any type.
  typedef Lane loose __attribute__((vector_size(Bytes), aligned(1), may_alias));
};

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
