#pragma once

#include <papcoll/algorithms/static/powers.hpp>
#include <papcoll/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// A binary tree over the numbers 1…n, numbered in order: what is left of a node has smaller
/// numbers, what is right of it has larger ones. Odd numbers are leaves, even ones are inner nodes;
/// ⌊log₂ n⌋ levels below the root.
///
///     n = 6        4 ─┬─ 2 ─┬─ 1
///                     │     └─ 3
///                     └─ 6 ─── 5
struct InOrderNode {
  int parent = 0;  ///< 0: none
  std::array<int, 2> children{};

  static constexpr InOrderNode of(int number, int n) noexcept {
    InOrderNode node;
    int before = 0;  // the subtree has the numbers before + 1 … before + n
    while (true) {
      const int root = before + floor_power_of_two(n);
      const int left = root - before - 1;
      const int right = before + n - root;
      if (number == root) {
        if (left > 0) node.children[0] = before + floor_power_of_two(left);
        if (right > 0) node.children[1] = root + floor_power_of_two(right);
        return node;
      }
      node.parent = root;
      n = number < root ? left : right;
      if (number > root) before = root;
    }
  }
};

/// The two trees of Sanders, Speck and Träff over positions 1…size−1, under position 0. The first
/// has the positions in order, the second is its mirror image or, if their number is odd, the
/// first one shifted by one: who is inner in one is a leaf in the other.
///
/// An edge's colour says in which rounds it is used, even or odd ones: a position receives on
/// edges of different colours from its two parents, and sends on edges of different colours to its
/// two children. first_round() is when a tree's first chunk can reach a position if each chunk
/// leaves position 0 two rounds after the one before.
///
///     size 7               0 ── 4 ─┬─ 2 ─┬─ 1          0 ── 3 ─┬─ 5 ─┬─ 6
///                                  │     └─ 3                  │     └─ 4
///                                  └─ 6 ─── 5                  └─ 1 ─── 2
///
/// Source: P. Sanders, J. Speck, J. L. Träff, "Two-tree algorithms for full bandwidth broadcast,
/// reduction and scan", Parallel Computing 35(12), 2009; the colouring walks along all edges, O(P).
class ColouredTrees {
 public:
  explicit ColouredTrees(int size) : n_(size - 1) {
    for (auto& nodes : nodes_) nodes.resize(static_cast<std::size_t>(size));
    for (int tree = 0; tree < 2; ++tree) {
      for (int p = 1; p <= n_; ++p) {
        const InOrderNode in_order = InOrderNode::of(number(tree, p), n_);
        Node& node = at(tree, p);
        node.parent = in_order.parent == 0 ? 0 : position(tree, in_order.parent);
        for (const int child : in_order.children) {
          if (child != 0) node.children[node.child_count++] = position(tree, child);
        }
        if (node.parent == 0) at(tree, 0).children[at(tree, 0).child_count++] = p;
      }
    }
    for (int tree = 0; tree < 2; ++tree) {
      for (int p = 1; p <= n_; ++p) colour_from(tree, p);
    }
  }

  /// In which a position p ≥ 1 hangs; position 0 hangs nowhere.
  int parent(int tree, int p) const { return at(tree, p).parent; }
  int colour(int tree, int p) const { return at(tree, p).colour; }  ///< of the edge to its parent

  template <class F>
  void for_children(int tree, int p, F&& f) const {
    const Node& node = at(tree, p);
    for (std::size_t i = 0; i < node.child_count; ++i) f(node.children[i]);
  }

  /// The round in which p ≥ 1 receives the tree's first chunk; of the edge's colour, modulo 2.
  int first_round(int tree, int p) const {
    const int above = parent(tree, p);
    const int earliest = above == 0 ? 0 : first_round(tree, above) + 1;
    return earliest + (earliest % 2 == colour(tree, p) ? 0 : 1);
  }

 private:
  struct Node {
    int parent = -1;
    int colour = -1;
    std::array<int, 2> children{};
    std::size_t child_count = 0;
  };
  struct Edge {
    int tree;
    int child;
  };

  Node& at(int tree, int p) {
    return nodes_[static_cast<std::size_t>(tree)][static_cast<std::size_t>(p)];
  }
  const Node& at(int tree, int p) const {
    return nodes_[static_cast<std::size_t>(tree)][static_cast<std::size_t>(p)];
  }

  int number(int tree, int p) const noexcept {
    if (tree == 0) return p;
    return n_ % 2 == 0 ? n_ + 1 - p : p % n_ + 1;
  }
  int position(int tree, int number) const noexcept {
    if (tree == 0) return number;
    return n_ % 2 == 0 ? n_ + 1 - number : (number + n_ - 2) % n_ + 1;
  }

  /// The other edge that its sender uses; child 0: there is none.
  Edge beside(Edge e) const {
    const int sender = parent(e.tree, e.child);
    // Position 0 has one child in each tree, all others have both in the same.
    if (sender == 0) return {1 - e.tree, at(1 - e.tree, 0).children[0]};
    const Node& node = at(e.tree, sender);
    if (node.child_count == 1) return {e.tree, 0};
    return {e.tree, node.children[node.children[0] == e.child ? 1 : 0]};
  }

  /// Each edge has at most one other beside it at its sender, and one at its receiver: edges that
  /// must differ form paths and circles of even length, coloured in turn.
  void colour_from(int tree, int p) {
    std::vector<Edge> open;
    auto paint = [&](Edge e, int colour) {
      if (e.child == 0 || at(e.tree, e.child).colour >= 0) return;
      at(e.tree, e.child).colour = colour;
      open.push_back(e);
    };
    paint({tree, p}, 0);
    while (!open.empty()) {
      const Edge e = open.back();
      open.pop_back();
      const int other = 1 - colour(e.tree, e.child);
      paint({1 - e.tree, e.child}, other);
      paint(beside(e), other);
    }
  }

  int n_;
  std::array<std::vector<Node>, 2> nodes_;  ///< by tree, then by position
};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
