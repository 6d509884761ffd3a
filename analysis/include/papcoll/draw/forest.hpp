// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/draw/messages.hpp>
#include <papcoll/schedule/order.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Finds trees among a schedule's messages. The messages are those of a tree if each rank receives
// every piece from one other, or sends it to one other, and all pieces go along the same tree, or
// along two.

namespace papcoll::inline PAPCOLL_ABI::detail {

/// A tree among all ranks, and the pieces that go along it.
struct MessageTree {
  bool inward = false;             ///< towards the root
  bool combined = false;           ///< on the way
  std::vector<int> parents;        ///< by rank; −1: the root
  std::vector<std::size_t> edges;  ///< by rank: the first message between it and its parent
  std::vector<std::size_t> pieces;

  int root() const {
    return static_cast<int>(std::find(parents.begin(), parents.end(), -1) - parents.begin());
  }
};

/// The parents of all ranks as far as they are known, to be joined with others'.
class Parents {
 public:
  explicit Parents(std::size_t ranks) : of_(ranks, none), message_(ranks, 0) {}

  /// False if the rank has another parent.
  bool set(int rank, int parent, std::size_t message) {
    const auto r = static_cast<std::size_t>(rank);
    if (of_[r] == parent) return true;
    if (of_[r] != none) return false;
    of_[r] = parent;
    message_[r] = message;
    return true;
  }

  /// The two as one, if no rank then has two parents, and no way leads around.
  std::optional<Parents> with(const Parents& o) const {
    Parents joined = *this;
    for (std::size_t r = 0; r < of_.size(); ++r) {
      if (o.of_[r] == none) continue;
      if (!joined.set(static_cast<int>(r), o.of_[r], o.message_[r])) return std::nullopt;
      joined.message_[r] = std::min(joined.message_[r], o.message_[r]);
    }
    if (joined.is_circular()) return std::nullopt;
    return joined;
  }

  /// Returns true if it is one tree among all ranks.
  bool spans() const { return std::count(of_.begin(), of_.end(), none) == 1; }

  const std::vector<int>& all() const noexcept { return of_; }
  const std::vector<std::size_t>& messages() const noexcept { return message_; }

 private:
  static constexpr int none = -1;

  bool is_circular() const {
    for (std::size_t r = 0; r < of_.size(); ++r) {
      int up = of_[r];
      for (std::size_t steps = 0; up != none; ++steps) {
        if (steps == of_.size()) return true;
        up = of_[static_cast<std::size_t>(up)];
      }
    }
    return false;
  }

  std::vector<int> of_;
  std::vector<std::size_t> message_;
};

/// The trees of the messages that are (or are not) combined, towards a root or away from it: none
/// if these are no such trees.
inline std::vector<MessageTree> trees_of(const MessageGraph& graph, std::size_t ranks,
                                         bool combined, bool inward) {
  constexpr std::size_t most = 2;
  std::vector<std::vector<std::size_t>> carriers(graph.pieces.size());
  for (std::size_t i = 0; i < graph.messages.size(); ++i) {
    const DrawnMessage& m = graph.messages[i];
    if (m.combined != combined) continue;
    const Range pieces = graph.pieces.of(m.elements);
    for (std::size_t p = pieces.lo; p < pieces.hi; ++p) carriers[p].push_back(i);
  }
  std::vector<Parents> shapes;
  std::vector<MessageTree> trees;
  for (std::size_t piece = 0; piece < carriers.size(); ++piece) {
    if (carriers[piece].empty()) continue;
    Parents own{ranks};
    std::vector<bool> moved(ranks);
    for (const std::size_t i : carriers[piece]) {
      const DrawnMessage& m = graph.messages[i];
      const int child = inward ? m.from : m.to;
      if (moved[static_cast<std::size_t>(child)]) return {};  // the piece twice
      moved[static_cast<std::size_t>(child)] = true;
      own.set(child, inward ? m.to : m.from, i);
    }
    std::size_t t = 0;
    for (; t < shapes.size(); ++t) {
      if (auto joined = shapes[t].with(own)) {
        shapes[t] = *std::move(joined);
        break;
      }
    }
    if (t == shapes.size()) {
      auto alone = Parents{ranks}.with(own);
      if (t == most || !alone) return {};
      shapes.push_back(*std::move(alone));
      trees.emplace_back();
    }
    trees[t].pieces.push_back(piece);
  }
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (!shapes[t].spans()) return {};
    trees[t].inward = inward;
    trees[t].combined = combined;
    trees[t].parents = shapes[t].all();
    trees[t].edges = shapes[t].messages();
  }
  return trees;
}

/// All trees of a schedule, those that combine first; none if its messages are not those of trees.
inline std::vector<MessageTree> trees_of(const MessageGraph& graph, std::size_t ranks) {
  std::vector<MessageTree> all;
  for (const bool combined : {true, false}) {
    const auto is = [combined](const DrawnMessage& m) { return m.combined == combined; };
    if (std::none_of(graph.messages.begin(), graph.messages.end(), is)) continue;
    std::vector<MessageTree> trees = trees_of(graph, ranks, combined, combined);
    if (trees.empty() && !combined) trees = trees_of(graph, ranks, false, true);  // gather
    if (trees.empty()) return {};
    for (MessageTree& t : trees) all.push_back(std::move(t));
  }
  return all;
}

/// Where the nodes of a tree stand, in steps along and across it. Children stand in the order of
/// their positions, leaves one beside the other, and what is above them in their middle.
class TreeLayout {
 public:
  TreeLayout(const MessageTree& tree, const Order& order) : children_(tree.parents.size()) {
    const std::size_t ranks = tree.parents.size();
    depth_.assign(ranks, 0);
    across_.assign(ranks, 0);
    for (int p = 0; p < order.size(); ++p) {
      const int rank = order.rank(p);
      const int up = tree.parents[static_cast<std::size_t>(rank)];
      if (up >= 0) children_[static_cast<std::size_t>(up)].push_back(rank);
    }
    place(tree.root());
  }

  /// By rank: the round in which something goes between it and its parent, if nothing else is under
  /// way: each sends at most one message in a round and receives at most one, in the order in which
  /// they do.
  std::vector<std::size_t> rounds(const MessageTree& tree) const {
    const auto at = [](int rank) { return static_cast<std::size_t>(rank); };
    std::vector<std::size_t> round(tree.parents.size(), 0);
    std::vector<std::size_t> ready(tree.parents.size(), 0);
    const auto serve = [&](int rank) {
      std::vector<int> below = children_[at(rank)];
      std::sort(below.begin(), below.end(), [&](int a, int b) {
        if (tree.inward && ready[at(a)] != ready[at(b)]) return ready[at(a)] < ready[at(b)];
        return tree.edges[at(a)] < tree.edges[at(b)];
      });
      std::size_t t = tree.inward ? 0 : round[at(rank)];
      for (const int child : below) {
        t = std::max(t, ready[at(child)]) + 1;
        round[at(child)] = t;
      }
      ready[at(rank)] = tree.inward ? t : 0;
    };
    if (tree.inward) {
      std::for_each(down_.rbegin(), down_.rend(), serve);
    } else {
      std::for_each(down_.begin(), down_.end(), serve);
    }
    return round;
  }

  double across(int rank) const { return across_[static_cast<std::size_t>(rank)]; }
  std::size_t depth(int rank) const { return depth_[static_cast<std::size_t>(rank)]; }
  std::size_t leaves() const noexcept { return leaves_; }

  /// For each level but the first: how far across the longest edge to it goes.
  std::vector<double> spans() const {
    std::vector<double> far(levels(), 0);
    for (std::size_t r = 0; r < children_.size(); ++r) {
      for (const int child : children_[r]) {
        double& f = far[depth(child)];
        f = std::max(f, std::abs(across(child) - across_[r]));
      }
    }
    return far;
  }

  std::size_t levels() const { return *std::max_element(depth_.begin(), depth_.end()) + 1; }

 private:
  void place(int root) {
    // From the root down, then in the reverse order: no recursion, chains may be long.
    down_ = {root};
    for (std::size_t i = 0; i < down_.size(); ++i) {
      const auto rank = static_cast<std::size_t>(down_[i]);
      for (const int child : children_[rank]) {
        depth_[static_cast<std::size_t>(child)] = depth_[rank] + 1;
        down_.push_back(child);
      }
    }
    std::vector<int> stack{root};
    while (!stack.empty()) {
      const auto rank = static_cast<std::size_t>(stack.back());
      stack.pop_back();
      if (children_[rank].empty()) across_[rank] = static_cast<double>(leaves_++);
      stack.insert(stack.end(), children_[rank].rbegin(), children_[rank].rend());
    }
    for (auto rank = down_.rbegin(); rank != down_.rend(); ++rank) {
      const auto& below = children_[static_cast<std::size_t>(*rank)];
      if (below.empty()) continue;
      across_[static_cast<std::size_t>(*rank)] = (across(below.front()) + across(below.back())) / 2;
    }
  }

  std::vector<std::vector<int>> children_;
  std::vector<int> down_;  ///< ranks, parents before children
  std::vector<std::size_t> depth_;
  std::vector<double> across_;
  std::size_t leaves_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
