#pragma once

#include <papcoll/config.hpp>
#include <papcoll/detail/kernels.hpp>

#include <cstddef>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {

/// All that lies below an entry point knows of an element type and an operator.
///
/// apply(out, low, high, n, context) writes n elements: out[i] = op(low[i], high[i]). `low` is the
/// contribution of the lower ranks. `out` may be the same address as `low` or as `high`, but not
/// overlap them otherwise. `size` is the bytes of one element. A Reducer borrows the operator: the
/// call (or the request) that made it keeps it alive.
struct Reducer {
  using Apply = void(std::byte* out, const std::byte* low, const std::byte* high, std::size_t n,
                     const void* context) noexcept;
  Apply* apply = nullptr;         ///< null for collectives that only move data
  const void* context = nullptr;  ///< the operator
  std::size_t size = 1;
  bool commutative = true;
};

/// An operator for elements of type T: op(const T& low, const T& high) gives something that
/// converts to T. T is trivially copyable. An operator that throws ends the program.
template <class Op, class T>
concept OperatorFor = std::is_trivially_copyable_v<T> && std::is_copy_assignable_v<T> &&
    requires(const Op& op, const T& low, const T& high) {
  requires std::is_convertible_v<decltype(op(low, high)), T>;
};

namespace detail {
template <class T>
inline constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// Unsigned, and not so narrow that C++ would promote it to int, whose overflow is undefined.
template <class T>
using Modular = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

template <class T>
concept Ordered = requires(const T& x) {
  static_cast<bool>(x < x);
};

template <class T>
concept Truth = requires(const T& x) {
  static_cast<T>(static_cast<bool>(x));
};

template <class T>
concept ComplexLike = requires(const T& z) {
  z.real();
  z.imag();
};
}  // namespace detail

// -- Built-in operators. Each works on every type that has the operation its line names.

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

/// high if high < low, else low. So +0 and -0, which are equal, give low, and so does any pair with
/// a NaN: the NaN stays when it is low and is dropped when it is high.
struct Min {
  static constexpr const char* name = "min";
  static constexpr bool commutative = true;
  using LaneOp = detail::LaneMin;
  template <detail::Ordered T>
  constexpr T operator()(const T& low, const T& high) const noexcept {
    return high < low ? high : low;
  }
};

/// high if low < high, else low. So +0 and -0, which are equal, give low, and so does any pair with
/// a NaN: the NaN stays when it is low and is dropped when it is high.
struct Max {
  static constexpr const char* name = "max";
  static constexpr bool commutative = true;
  using LaneOp = detail::LaneMax;
  template <detail::Ordered T>
  constexpr T operator()(const T& low, const T& high) const noexcept {
    return low < high ? high : low;
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
  template <detail::Truth T>
  constexpr T operator()(const T& low, const T& high) const noexcept {
    return static_cast<T>(static_cast<bool>(low) && static_cast<bool>(high));
  }
};

/// 1 if one or both are true (not zero), else 0; NaN is true.
struct LogicalOr {
  static constexpr const char* name = "logical_or";
  static constexpr bool commutative = true;
  template <detail::Truth T>
  constexpr T operator()(const T& low, const T& high) const noexcept {
    return static_cast<T>(static_cast<bool>(low) || static_cast<bool>(high));
  }
};

/// 1 if exactly one is true (not zero), else 0; NaN is true.
struct LogicalXor {
  static constexpr const char* name = "logical_xor";
  static constexpr bool commutative = true;
  template <detail::Truth T>
  constexpr T operator()(const T& low, const T& high) const noexcept {
    return static_cast<T>(static_cast<bool>(low) != static_cast<bool>(high));
  }
};

/// The element type of minloc and maxloc: a value and where it was found (usually the rank).
template <class T, class Index = int>
struct ValueIndex {
  T value;
  Index index;
  friend constexpr bool operator==(const ValueIndex&, const ValueIndex&) = default;
};

/// The pair with the smaller value; of equal values the one with the lower index, as MPI_MINLOC. A
/// pair with a NaN gives low.
struct MinLoc {
  static constexpr const char* name = "minloc";
  static constexpr bool commutative = true;
  template <class T, class Index>
  constexpr ValueIndex<T, Index> operator()(const ValueIndex<T, Index>& low,
                                            const ValueIndex<T, Index>& high) const noexcept {
    const bool tie = low.value == high.value;
    return high.value < low.value || (tie && high.index < low.index) ? high : low;
  }
};

/// The pair with the larger value; of equal values the one with the lower index, as MPI_MAXLOC. A
/// pair with a NaN gives low.
struct MaxLoc {
  static constexpr const char* name = "maxloc";
  static constexpr bool commutative = true;
  template <class T, class Index>
  constexpr ValueIndex<T, Index> operator()(const ValueIndex<T, Index>& low,
                                            const ValueIndex<T, Index>& high) const noexcept {
    const bool tie = low.value == high.value;
    return low.value < high.value || (tie && high.index < low.index) ? high : low;
  }
};

inline constexpr Sum sum{};
inline constexpr Prod prod{};
inline constexpr Min min{};
inline constexpr Max max{};
inline constexpr BitAnd bit_and{};
inline constexpr BitOr bit_or{};
inline constexpr BitXor bit_xor{};
inline constexpr LogicalAnd logical_and{};
inline constexpr LogicalOr logical_or{};
inline constexpr LogicalXor logical_xor{};
inline constexpr MinLoc minloc{};
inline constexpr MaxLoc maxloc{};

// -- Commutativity

/// True when Op may be applied to elements of T in any order. Operators of papcoll know; any other
/// callable, std::plus and lambdas included, is taken as non-commutative (right, though perhaps
/// slower) until it has a member `static constexpr bool commutative = true` (or, where that depends
/// on T, `template <class T> static constexpr bool commutative_for`) or is wrapped by
/// commutative().
template <class Op, class T>
inline constexpr bool is_commutative = [] {
  if constexpr (requires { Op::template commutative_for<T>; }) {
    return static_cast<bool>(Op::template commutative_for<T>);
  } else if constexpr (requires { Op::commutative; }) {
    return static_cast<bool>(Op::commutative);
  } else {
    return false;
  }
}();

/// Op with its commutativity declared by the user: what commutative() and non_commutative() return.
template <class Op, bool Commutes>
struct Declared {
  static constexpr bool commutative = Commutes;
  [[no_unique_address]] Op op;
  template <class T>
  constexpr auto operator()(const T& low, const T& high) const -> decltype(op(low, high)) {
    return op(low, high);
  }
};

/// Declares that op(a, b) equals op(b, a), so that contributions may be combined in any order:
/// `allreduce(comm, data, commutative([](Vec3 a, Vec3 b) { return a + b; }))`.
template <class Op>
constexpr Declared<Op, true> commutative(Op op) {
  return {static_cast<Op&&>(op)};
}

/// Declares that the order of the operands matters: contributions are combined in rank order.
template <class Op>
constexpr Declared<Op, false> non_commutative(Op op) {
  return {static_cast<Op&&>(op)};
}

/// The Reducer of T under op, which it borrows: built-in operators on integers of 8 to 64 bits,
/// float and double get the vector kernel of the widest instruction set of this machine, everything
/// else a plain loop. Both give the same bits, but for one thing C++ leaves to the compiler: which
/// of two NaNs is the sum or product of both.
template <class T, class Op>
Reducer reducer(const Op& op) noexcept {
  static_assert(OperatorFor<Op, T>,
                "the operator of a reduction, even a const one, takes (const T&, const T&) and "
                "gives a T; T is trivially copyable and assignable");
  if constexpr (OperatorFor<Op, T>) {
    if constexpr (detail::Vectorizable<T, Op>) {
      return {detail::vector_kernel<T, Op>(detail::best_instruction_set()), nullptr, sizeof(T),
              is_commutative<Op, T>};
    } else {
      return {detail::plain_kernel<T, Op>, detail::context_of(op), sizeof(T),
              is_commutative<Op, T>};
    }
  }
  return {};
}

/// The same for an operator whose commutativity the user has declared.
template <class T, class Op, bool Commutes>
Reducer reducer(const Declared<Op, Commutes>& declared) noexcept {
  Reducer result = reducer<T>(declared.op);
  result.commutative = Commutes;
  return result;
}

}  // namespace papcoll::inline PAPCOLL_ABI
