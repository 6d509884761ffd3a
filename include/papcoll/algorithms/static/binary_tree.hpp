#pragma once

#include <papcoll/algorithms/static/tree_shapes.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <string_view>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// A balanced binary tree: everybody has one above and at most two below.
///
/// Phases: one, up or down the tree; allreduce both.
/// Cost: with d = ⌊log₂ P⌋ levels, reduce 2d(α + βm + γm), bcast 2d(α + βm), allreduce the sum.
/// Prefer it as PipelinedBinaryTree, for medium and long vectors among many positions: nobody has
///   more than two below, whatever P is. By itself Binomial has shorter ways.
/// Limits: leaves are half of the positions and use their links in one direction only. Works for
///   operators that do not commute, since positions are numbered in preorder (see preorder_node()).
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
struct BinaryTree {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "BinaryTree";
  static constexpr std::string_view sentence =
      "A balanced binary tree: one above, at most two below.";
  static constexpr bool commutative_only = false;

  void emit(Reduce, auto& b) const {
    const BinaryNode node = preorder_node(b.position(), b.size());
    if (node.left >= 0) b.reduce(node.left, b.whole());
    if (node.right >= 0) b.reduce(node.right, b.whole());
    if (node.parent >= 0) b.send(node.parent, b.whole());
  }

  void emit(Bcast, auto& b) const {
    const BinaryNode node = preorder_node(b.position(), b.size());
    if (node.parent >= 0) b.receive(node.parent, b.whole());
    if (node.left >= 0) b.send(node.left, b.whole());
    if (node.right >= 0) b.send(node.right, b.whole());
  }

  void emit(Allreduce, auto& b) const {
    emit(Reduce{}, b);
    emit(Bcast{}, b);
  }

  static constexpr Arrangement arrangement(Collective /*c*/, int /*size*/) noexcept {
    return Arrangement::consecutive;
  }

  friend bool operator==(const BinaryTree&, const BinaryTree&) = default;
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<BinaryTree>() noexcept)

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
