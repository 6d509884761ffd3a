// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/built_in_operators.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/gpu/device_reducer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

// The reducers of all built-in pairs, for those that can make one: the host (built_in_on_host.hpp)
// and nvcc (kernels.cu). The pairs are listed in base/built_in_operators.hpp.

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

// Names of the enclosing namespace's detail, not of this one's.
using papcoll::detail::BuiltInOperators;
using papcoll::detail::BuiltInTypes;
using papcoll::detail::TypeList;

/// The operators of built-in reducers, which outlive them.
template <class Op> inline constexpr Op built_in_op{};

/// True if T has the operation of Op; operations on bits exist for integers only.
template <class T, class Op> concept Combinable = requires(const Op& op, const T& x) { op(x, x); };

/// Make::reducer<T>(op) makes each. Sorted by number, since lists of types and operators are.
template <class Make> class BuiltInTable {
 public:
  /// The reducer of a pair; null: there is none.
  const DeviceReducer* find(BuiltInPair pair) const noexcept {
    const Entry* const end = entries_ + size_;
    const Entry* const found = std::lower_bound(entries_, end, Entry{pair.number, {}});
    return found != end && found->number == pair.number ? &found->reducer : nullptr;
  }

  consteval BuiltInTable() { add(BuiltInOperators{}, BuiltInTypes{}); }

  /// Returns true if the entries are in the order that find() needs.
  consteval bool is_sorted() const { return std::is_sorted(entries_, entries_ + size_); }

 private:
  struct Entry {
    std::uint16_t number = 0;
    DeviceReducer reducer;
    constexpr bool operator<(const Entry& o) const noexcept { return number < o.number; }
  };

  template <class... Ops, class... Ts> constexpr void add(TypeList<Ops...>, TypeList<Ts...>) {
    (add_all<Ops, Ts...>(), ...);
  }
  template <class Op, class... Ts> constexpr void add_all() { (add_one<Op, Ts>(), ...); }
  template <class Op, class T> constexpr void add_one() {
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

/// The reducer of an operator of papcoll on an arithmetic type, for devices and for the host; null:
/// there is none for that pair. Compiled by nvcc: the target papcoll::gpu has it (kernels.cu).
const DeviceReducer* built_in_reducer(BuiltInPair pair) noexcept;

}  // namespace papcoll::inline PAPCOLL_ABI::gpu
