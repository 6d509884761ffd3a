// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/binary_tree.hpp>
#include <papcoll/algorithms/static/shapes.hpp>

#include <algorithm>
#include <climits>
#include <vector>

using namespace papcoll;
using papcoll::detail::BinaryNode;
using papcoll::detail::preorder_node;

TEST_CASE("powers of two", "[schedule]") {
  STATIC_REQUIRE(floor_power_of_two(1) == 1);
  STATIC_REQUIRE(floor_power_of_two(7) == 4);
  STATIC_REQUIRE(floor_power_of_two(8) == 8);
  STATIC_REQUIRE(floor_power_of_two(INT_MAX) == 1 << 30);
  STATIC_REQUIRE(doubling_rounds(1) == 0);
  STATIC_REQUIRE(doubling_rounds(2) == 1);
  STATIC_REQUIRE(doubling_rounds(8) == 3);
  STATIC_REQUIRE(doubling_rounds(9) == 4);
  STATIC_REQUIRE(doubling_rounds(INT_MAX) == 31);
}

TEST_CASE("a fold gives every core position a run of one or two", "[schedule]") {
  for (int size = 1; size <= 70; ++size) {
    const Fold fold{size};
    REQUIRE(fold.first(0) == 0);
    REQUIRE(fold.first(fold.core()) == size);
    for (int v = 0; v < fold.core(); ++v) {
      const int p = fold.first(v);
      const int n = fold.first(v + 1) - p;
      REQUIRE(n == (fold.speaks_for_two(p) ? 2 : 1));
      REQUIRE(!fold.folded_away(p));
      for (int i = 0; i < n; ++i) REQUIRE(fold.core_position(p + i) == v);
      if (n == 2) REQUIRE(fold.folded_away(p + 1));
    }
  }
}

TEST_CASE("a k-nomial tree's subtrees are runs, and its children tile them", "[schedule]") {
  for (const int radix : {2, 3, 4, 7, 64, INT_MAX}) {
    for (int size = 1; size <= 70; ++size) {
      const KNomialTree tree{radix, size};
      REQUIRE(tree.parent(0) == -1);
      REQUIRE(tree.run(0) == size);
      for (int p = 0; p < size; ++p) {
        int next = p + 1;
        std::vector<int> up;
        tree.for_children_up(p, [&](int child) {
          REQUIRE(child == next);
          REQUIRE(tree.parent(child) == p);
          next += tree.run(child);
          up.push_back(child);
        });
        REQUIRE(next == p + tree.run(p));
        std::vector<int> down;
        tree.for_children_down(p, [&](int child) { down.push_back(child); });
        std::sort(down.begin(), down.end());
        REQUIRE(down == up);
      }
    }
  }
}

TEST_CASE("a binomial tree has the textbook's edges", "[schedule]") {
  const KNomialTree tree{2, 8};
  const std::vector<int> parents{-1, 0, 0, 2, 0, 4, 4, 6};
  for (int p = 0; p < 8; ++p) CHECK(tree.parent(p) == parents[static_cast<std::size_t>(p)]);
  std::vector<int> order;
  tree.for_children_down(0, [&](int child) { order.push_back(child); });
  CHECK(order == std::vector<int>{4, 2, 1});
  order.clear();
  KNomialTree{3, 9}.for_children_down(0, [&](int child) { order.push_back(child); });
  CHECK(order == std::vector<int>{3, 6, 1, 2});
}

TEST_CASE("a binary tree in preorder is a balanced tree of runs", "[schedule]") {
  for (int size = 1; size <= 70; ++size) {
    // The end of the run that is p's subtree, found by going up from the back.
    std::vector<int> end(static_cast<std::size_t>(size));
    auto end_of = [&](int p) -> int& { return end[static_cast<std::size_t>(p)]; };
    int depth = 0;
    for (int p = size - 1; p >= 0; --p) {
      const BinaryNode node = preorder_node(p, size);
      REQUIRE((node.left < 0) == (node.left < 0 && node.right < 0));
      if (node.left >= 0) REQUIRE(node.left == p + 1);
      if (node.right >= 0) REQUIRE(node.right == end_of(node.left));
      const int last_child = std::max(node.left, node.right);
      end_of(p) = last_child < 0 ? p + 1 : end_of(last_child);
      int level = 0;
      for (int q = p; q != 0; q = preorder_node(q, size).parent) {
        const BinaryNode above = preorder_node(preorder_node(q, size).parent, size);
        REQUIRE((above.left == q || above.right == q));
        ++level;
      }
      depth = std::max(depth, level);
    }
    REQUIRE(end_of(0) == size);
    REQUIRE(preorder_node(0, size).parent == -1);
    REQUIRE(1 << depth <= size);  // ⌊log₂ size⌋ levels
  }
}

TEST_CASE("halving leaves each position one block, the bits of its number reversed", "[schedule]") {
  for (int p = 0; p < 8; ++p) {
    const int reversed = ((p & 1) << 2) | (p & 2) | ((p & 4) >> 2);
    CHECK(halved(p, 3, 8) == BlockRun{reversed, 1});
    CHECK(halved(p, 0, 8) == BlockRun{0, 8});
    for (int k = 0; k < 3; ++k) {
      // Partners of round k keep the two halves of what both had.
      CHECK(halved(p ^ (1 << k), k, 8) == halved(p, k, 8));
      CHECK(halved(p ^ (1 << k), k + 1, 8) == halved(p, k + 1, 8).sibling());
    }
  }
}
