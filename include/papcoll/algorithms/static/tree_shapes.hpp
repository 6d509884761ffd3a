#pragma once

#include <papcoll/config.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {

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
  template <class F>
  constexpr void for_children_up(int p, F&& f) const {
    const long long end = weight(p);
    for (long long w = 1; w < end; w *= radix) children_of_weight(p, w, f);
  }

  /// Calls f(child) for p's children with the largest subtrees first.
  template <class F>
  constexpr void for_children_down(int p, F&& f) const {
    for (long long w = weight(p) / radix; w >= 1; w /= radix) children_of_weight(p, w, f);
  }

 private:
  /// The power of the radix at p's lowest nonzero digit; for the root one that is ≥ size.
  constexpr long long weight(int p) const noexcept {
    long long w = 1;
    while (w < size && p % (w * radix) == 0) w *= radix;
    return w;
  }

  template <class F>
  constexpr void children_of_weight(int p, long long w, F& f) const {
    for (int digit = 1; digit < radix && p + digit * w < size; ++digit) {
      f(static_cast<int>(p + digit * w));
    }
  }
};

/// One position's neighbours in a binary tree; −1 where there is none.
struct BinaryNode {
  int parent = -1;
  int left = -1;
  int right = -1;
  friend constexpr bool operator==(BinaryNode, BinaryNode) = default;
};

/// The balanced binary tree over positions 0…size−1, numbered in preorder: a position, then its
/// left subtree, then its right one. ⌊log₂ size⌋ levels below the root.
///
///     size 7:  0 ─┬─ 1 ─┬─ 2
///                 │     └─ 3
///                 └─ 4 ─┬─ 5
///                       └─ 6
///
/// Every subtree is a contiguous run that begins with its root, so combining a position's own
/// contribution with the left result and then the right one keeps rank order. Numbering by level,
/// as in a heap, does not; numbering in order does, but has its root in the middle.
constexpr BinaryNode preorder_node(int p, int size) noexcept {
  BinaryNode node;
  int root = 0;
  int n = size;
  while (true) {
    const int left = n / 2;  // of the n−1 below the root, the larger half
    const int right = n - 1 - left;
    const int right_root = root + 1 + left;
    if (p == root) {
      if (left > 0) node.left = root + 1;
      if (right > 0) node.right = right_root;
      return node;
    }
    node.parent = root;
    const bool in_left = p < right_root;
    root = in_left ? root + 1 : right_root;
    n = in_left ? left : right;
  }
}

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
