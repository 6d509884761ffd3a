#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/floating_order.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI::detail {

template <class Lane, std::size_t Bytes>
struct VectorRegister {
  typedef Lane type __attribute__((vector_size(Bytes)));
  /// The same at any address, in memory that holds objects of any type.
  typedef Lane loose __attribute__((vector_size(Bytes), aligned(1), may_alias));
};

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

template <Extreme extreme>
struct LaneExtreme {
  template <class V>
  [[gnu::always_inline]] static void apply(V& out, const V& low, const V& high) noexcept {
    using Lane = std::remove_cvref_t<decltype(out[0])>;
    if constexpr (has_floating_order<Lane>) {
      using Order = FloatingOrder<Lane, extreme>;
      using Signed = typename VectorRegister<typename Order::Signed, sizeof(V)>::type;
      using Unsigned = typename VectorRegister<typename Order::Unsigned, sizeof(V)>::type;
      Unsigned bits{};
      Order::template apply<Signed>(bits, (Unsigned)low, (Unsigned)high);
      out = (V)bits;
    } else if constexpr (extreme == Extreme::minimum) {
      out = high < low ? high : low;
    } else {
      out = low < high ? high : low;
    }
  }
};
using LaneMin = LaneExtreme<Extreme::minimum>;
using LaneMax = LaneExtreme<Extreme::maximum>;

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

/// The bits of a result depend on the same bits of the operands alone.
template <class LaneOp>
inline constexpr bool is_bitwise =
    std::is_same_v<LaneOp, LaneAnd> || std::is_same_v<LaneOp, LaneOr> ||
    std::is_same_v<LaneOp, LaneXor>;

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

}  // namespace papcoll::inline PAPCOLL_ABI::detail
