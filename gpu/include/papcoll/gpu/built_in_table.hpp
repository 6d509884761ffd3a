#pragma once

#include <papcoll/base/built_in_operators.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/gpu/device_reducer.hpp>

#include <cstddef>
#include <cstdint>

// The reducers of all built-in pairs, for whoever can make one: the host (built_in_on_host.hpp) or
// nvcc (kernels.cu). What pairs there are, base/built_in_operators.hpp says.

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

// Not this namespace's own.
using papcoll::detail::BuiltInOperators;
using papcoll::detail::BuiltInTypes;
using papcoll::detail::TypeList;

/// The operators of built-in reducers, which outlive them.
template <class Op>
inline constexpr Op built_in_op{};

/// Has T the operation of Op? Bits are combined of integers only.
template <class T, class Op>
concept Combinable = requires(const Op& op, const T& x) {
  op(x, x);
};

/// Make::reducer<T>(op) makes each. Sorted by number, since lists of types and operators are.
template <class Make>
class BuiltInTable {
 public:
  /// The reducer of a pair; null: there is none.
  const DeviceReducer* find(BuiltInPair pair) const noexcept {
    std::size_t first = 0;
    for (std::size_t left = size_; left > 0;) {
      const std::size_t half = left / 2;
      if (entries_[first + half].number < pair.number) {
        first += half + 1;
        left -= half + 1;
      } else {
        left = half;
      }
    }
    const bool found = first < size_ && entries_[first].number == pair.number;
    return found ? &entries_[first].reducer : nullptr;
  }

  consteval BuiltInTable() { add(BuiltInOperators{}, BuiltInTypes{}); }

  /// Does find() work?
  consteval bool is_sorted() const {
    for (std::size_t i = 1; i < size_; ++i) {
      if (entries_[i - 1].number >= entries_[i].number) return false;
    }
    return true;
  }

 private:
  struct Entry {
    std::uint16_t number = 0;
    DeviceReducer reducer;
  };

  template <class... Ops, class... Ts>
  constexpr void add(TypeList<Ops...>, TypeList<Ts...>) {
    (add_all<Ops, Ts...>(), ...);
  }
  template <class Op, class... Ts>
  constexpr void add_all() {
    (add_one<Op, Ts>(), ...);
  }
  template <class Op, class T>
  constexpr void add_one() {
    if constexpr (Combinable<T, Op>) {
      static_assert(built_in_pair<T, Op>.number != 0);
      entries_[size_].number = built_in_pair<T, Op>.number;
      entries_[size_].reducer = Make::template reducer<T>(built_in_op<Op>);
      ++size_;
    }
  }

  Entry entries_[BuiltInOperators::size * BuiltInTypes::size]{};
  std::size_t size_ = 0;
};

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
