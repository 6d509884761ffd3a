#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/function_ref.hpp>
#include <papcoll/schedule/range.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// The largest power of two that is not larger than n; n ≥ 1.
constexpr int floor_power_of_two(int n) noexcept {
  int power = 1;
  while (power <= n / 2) power *= 2;
  return power;
}

/// ⌈log₂ n⌉: the rounds in which what doubles every round grows from 1 to n; n ≥ 1.
constexpr int doubling_rounds(int n) noexcept {
  int rounds = 0;
  while (n > 1) {
    n -= n / 2;
    ++rounds;
  }
  return rounds;
}

/// A k-nomial tree over positions 0…size−1 with root 0, for a radix k ≥ 2; k = 2 is the binomial
/// tree. Written in base k, a position's parent has its lowest nonzero digit cleared:
///
///     k = 2, size 8:  0 ─┬─ 4 ─┬─ 6 ── 7        k = 3, size 9:  0 ─┬─ 3, 6 ── each with p+1, p+2
///                        │     └─ 5                                └─ 1, 2
///                        ├─ 2 ── 3
///                        └─ 1
///
/// A position and all below it are a contiguous run of positions that begins with it.
struct KNomialTree {
  int radix;
  int size;

  /// −1 for the root.
  constexpr int parent(int p) const noexcept {
    return p == 0 ? -1 : static_cast<int>(p - p % (weight(p) * radix));
  }

  /// The positions p, p+1, … p + run(p) − 1 are p and all below it.
  constexpr int run(int p) const noexcept {
    const long long w = weight(p);
    return w < size - p ? static_cast<int>(w) : size - p;
  }

  /// Calls f(child) for p's children in ascending order: the smallest subtrees first.
  [[gnu::cold]] void for_children_up(int p, detail::FunctionRef<void(int)> f) const {
    const long long end = weight(p);
    for (long long w = 1; w < end; w *= radix) children_of_weight(p, w, f);
  }

  /// Calls f(child) for p's children with the largest subtrees first.
  [[gnu::cold]] void for_children_down(int p, detail::FunctionRef<void(int)> f) const {
    for (long long w = weight(p) / radix; w >= 1; w /= radix) children_of_weight(p, w, f);
  }

 private:
  /// The power of the radix at p's lowest nonzero digit; for the root one that is ≥ size.
  constexpr long long weight(int p) const noexcept {
    long long w = 1;
    while (w < size && p % (w * radix) == 0) w *= radix;
    return w;
  }

  void children_of_weight(int p, long long w, detail::FunctionRef<void(int)> f) const {
    for (int digit = 1; digit < radix && p + digit * w < size; ++digit) {
      f(static_cast<int>(p + digit * w));
    }
  }
};

namespace detail {

/// Up a tree; small subtrees, which are done first, are taken first.
[[gnu::cold]] inline void reduce_up(auto& b, const auto& tree, Range r) {
  const int me = b.position();
  tree.for_children_up(me, [&](int child) { b.reduce(child, r); });
  if (me != 0) b.send(tree.parent(me), r);
}

/// Down a tree; large subtrees, which have the longest way to go, are served first.
[[gnu::cold]] inline void bcast_down(auto& b, const auto& tree, Range r) {
  const int me = b.position();
  if (me != 0) b.receive(tree.parent(me), r);
  tree.for_children_down(me, [&](int child) { b.send(child, r); });
}

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
