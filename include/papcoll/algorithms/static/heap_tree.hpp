#pragma once

#include <papcoll/config.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// A complete binary tree over positions 1…size−1, whose root hangs from position 0. Nodes are
/// numbered by level, as in a heap: node h has the parent ⌊h/2⌋, node 0 being position 0, and the
/// children 2h and 2h+1. Which positions the nodes are goes around the circle of 1…size−1: node 1
/// is `first`, and the next is `step` (1 or −1) further.
///
///     size 8, first 1, step 1            size 8, first 7, step −1
///     0 ── 1 ─┬─ 2 ─┬─ 4                 0 ── 7 ─┬─ 6 ─┬─ 4
///             │     └─ 5                         │     └─ 3
///             └─ 3 ─┬─ 6                         └─ 5 ─┬─ 2
///                   └─ 7                               └─ 1
struct HeapTree {
  int size;
  int first;
  int step;

  /// −1 for position 0.
  constexpr int parent(int position) const noexcept {
    return position == 0 ? -1 : position_of(node_of(position) / 2);
  }

  /// Calls f(child) for each of the position's children, the one with more below it first.
  template <class F>
  constexpr void for_children_down(int position, F&& f) const {
    const long long node = node_of(position);
    if (node == 0) {
      if (size > 1) f(position_of(1));
      return;
    }
    for (long long child = 2 * node; child <= 2 * node + 1 && child < size; ++child) {
      f(position_of(static_cast<int>(child)));
    }
  }

  /// The same, the one with less below it first.
  template <class F>
  constexpr void for_children_up(int position, F&& f) const {
    const long long node = node_of(position);
    if (node == 0) return for_children_down(position, f);
    for (long long child = 2 * node + 1; child >= 2 * node; --child) {
      if (child < size) f(position_of(static_cast<int>(child)));
    }
  }

 private:
  constexpr int position_of(int node) const noexcept {
    return node == 0 ? 0 : 1 + around(static_cast<long long>(first) - 1 + step * (node - 1LL));
  }
  constexpr int node_of(int position) const noexcept {
    return position == 0 ? 0 : 1 + around(step * (static_cast<long long>(position) - first));
  }
  constexpr int around(long long i) const noexcept {
    const int n = size - 1;
    return static_cast<int>((i % n + n) % n);
  }
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
