// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/schedule/schedule.hpp>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

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

}  // namespace detail

/// A balanced binary tree: each has one above and at most two below.
///
/// Phases: one, up or down the tree; allreduce both.
/// Cost: with d = ⌊log₂ P⌋ levels, reduce 2d(α + βm + γm), bcast 2d(α + βm), allreduce the sum.
/// Prefer it as PipelinedBinaryTree, for medium and long vectors among many positions: no rank has
///   more than two below, whatever P is. By itself Binomial has shorter ways.
/// Limits: leaves are half of the positions and use their links in one direction only. Works for
///   operators that do not commute, since positions are numbered in preorder.
///
///     bcast, P = 7           0 ─┬─ 1 ─┬─ 2
///                               │     └─ 3
///                               └─ 4 ─┬─ 5
///                                     └─ 6
///     level 1                0→1, 0→4
///     level 2                1→2, 1→3, 4→5, 4→6
///     reduce                 the same, backwards: 1 combines 1, 2, 3, then 0 combines 0, 1–3, 4–6
///
/// Source: Pješivac-Grbović et al., "Performance Analysis of MPI Collective Operations", Cluster
/// Computing 10(2), 2007; the numbering is ours.
struct BinaryTree : PlainSchedule {
  static constexpr std::string_view name = "BinaryTree";
  static constexpr std::string_view sentence =
      "A balanced binary tree: one above, at most two below.";
  static constexpr bool commutative_only = false;

  void emit(Reduce, auto& b) const {
    const auto node = detail::preorder_node(b.position(), b.size());
    if (node.left >= 0) b.reduce(node.left, b.whole());
    if (node.right >= 0) b.reduce(node.right, b.whole());
    if (node.parent >= 0) b.send(node.parent, b.whole());
  }

  void emit(Bcast, auto& b) const {
    const auto node = detail::preorder_node(b.position(), b.size());
    if (node.parent >= 0) b.receive(node.parent, b.whole());
    if (node.left >= 0) b.send(node.left, b.whole());
    if (node.right >= 0) b.send(node.right, b.whole());
  }

  void emit(Allreduce, auto& b) const { emit(Reduce{}, b), emit(Bcast{}, b); }

  static constexpr MappingHint mapping_hint = MappingHint::consecutive;
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<BinaryTree>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
