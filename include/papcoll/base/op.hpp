// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/built_in_operators.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/kernels.hpp>

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
  /// Combines n elements: see above.
  using Apply = void(std::byte* out, const std::byte* low, const std::byte* high, std::size_t n,
                     const void* context) noexcept;
  Apply* apply = nullptr;         ///< null for collectives that only move data
  const void* context = nullptr;  ///< the operator
  std::size_t size = 1;           ///< bytes of an element
  bool commutative = true;        ///< contributions may be combined in any order
  BuiltInPair built_in{};         ///< the element type and the operator, if papcoll's own
};

/// An operator for elements of type T: op(const T& low, const T& high) gives something that
/// converts to T. T is trivially copyable. An operator that throws ends the program.
template <class Op, class T>
concept OperatorFor = std::is_trivially_copyable_v<T> && std::is_copy_assignable_v<T> &&
    requires(const Op& op, const T& low, const T& high) {
  requires std::is_convertible_v<decltype(op(low, high)), T>;
};

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
template <class Op, bool Commutes> struct Declared {
  static constexpr bool commutative = Commutes;
  [[no_unique_address]] Op op;  ///< the operator itself
  template <class T>
  constexpr auto operator()(const T& low, const T& high) const -> decltype(op(low, high)) {
    return op(low, high);
  }
};

/// Declares that op(a, b) equals op(b, a), so that contributions may be combined in any order:
/// `allreduce(comm, data, commutative([](Vec3 a, Vec3 b) { return a + b; }))`.
template <class Op> constexpr Declared<Op, true> commutative(Op op) {
  return {static_cast<Op&&>(op)};
}

/// Declares that the order of the operands matters: contributions are combined in rank order.
template <class Op> constexpr Declared<Op, false> non_commutative(Op op) {
  return {static_cast<Op&&>(op)};
}

/// The Reducer of T under op, which it borrows: built-in operators on integers of 8 to 64 bits,
/// float and double get the vector kernel of the widest instruction set of this machine, everything
/// else a plain loop. Both give the same bits, but for one thing C++ leaves to the compiler: which
/// of two NaNs is the sum or product of both.
template <class T, class Op> Reducer reducer(const Op& op) noexcept {
  static_assert(OperatorFor<Op, T>,
                "the operator of a reduction, even a const one, takes (const T&, const T&) and "
                "gives a T; T is trivially copyable and assignable");
  if constexpr (OperatorFor<Op, T>) {
    if constexpr (detail::Vectorizable<T, Op>) {
      return {detail::vector_kernel<T, Op>(detail::best_instruction_set()), nullptr, sizeof(T),
              is_commutative<Op, T>, built_in_pair<T, Op>};
    } else {
      return {detail::plain_kernel<T, Op>, detail::context_of(op), sizeof(T), is_commutative<Op, T>,
              built_in_pair<T, Op>};
    }
  }
  return {};
}

/// The kernel of an operator whose commutativity the user has declared.
template <class T, class Op, bool Commutes>
Reducer reducer(const Declared<Op, Commutes>& declared) noexcept {
  Reducer result = reducer<T>(declared.op);
  result.commutative = Commutes;
  return result;
}

}  // namespace papcoll::inline PAPCOLL_ABI
