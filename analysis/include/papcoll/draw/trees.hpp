// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/draw/forest.hpp>
#include <papcoll/draw/messages.hpp>
#include <papcoll/draw/svg.hpp>
#include <papcoll/schedule/order.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// "0, 1, 2", "0, 2, 4, … 98" or, where they are not regular, the first few.
inline std::string enumerated(const std::vector<std::size_t>& numbers) {
  constexpr std::size_t in_full = 6;
  constexpr std::size_t first = 3;
  std::string text;
  const bool all = numbers.size() <= in_full;
  for (std::size_t i = 0; i < (all ? numbers.size() : first); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(numbers[i]);
  }
  return all ? text : text + ", … " + std::to_string(numbers.back());
}

/// Draws trees, as many side by side as there is room for.
class TreePanel {
 public:
  TreePanel(const MessageGraph& graph, const std::vector<MessageTree>& trees, const Order& order,
            double room)
      : graph_(&graph), order_(&order), pitch_(order.size() > few_ranks ? 36 : 46) {
    double x = 0;
    double y = 0;
    double row = 0;
    for (std::size_t i = 0; i < trees.size(); ++i) {
      const Panel one = draw(trees[i], title(trees, i));
      if (x > 0 && x + one.width > room) {
        x = 0;
        y += row + between_rows;
        row = 0;
      }
      panel_.svg.add(one.svg, {x, y});
      panel_.width = std::max(panel_.width, x + one.width);
      row = std::max(row, one.height);
      x += one.width + between;
    }
    panel_.height = y + row;
  }

  const Panel& panel() const noexcept { return panel_; }

  /// `trees` as given to the constructor.
  static std::string caption(const MessageGraph& graph, const std::vector<MessageTree>& trees) {
    const auto divides = [&graph](const MessageTree& t) { return is_divided(graph, t); };
    if (std::any_of(trees.begin(), trees.end(), divides)) {
      return "Circles are ranks. At an edge: which of the vector's pieces (0–" +
             std::to_string(graph.pieces.size() - 1) + ") go along it.";
    }
    return "Circles are ranks. At an edge: the round in which the first message goes along it, "
           "counted for each tree alone; in a round a rank sends at most one message and receives "
           "at most one.";
  }

 private:
  static constexpr double radius = 12;
  static constexpr int few_ranks = 16;
  static constexpr double lying_pitch = 41;
  static constexpr double level = 58;  ///< of nodes above each other
  static constexpr double heading = 26;
  static constexpr double between = 48;
  static constexpr double between_rows = 22;
  static constexpr double small = 10;  ///< font

  /// Returns true if some piece of the tree does not go along all of its edges.
  static bool is_divided(const MessageGraph& graph, const MessageTree& t) {
    std::size_t moved = 0;
    for (const DrawnMessage& m : graph.messages) {
      if (m.combined != t.combined) continue;
      const Range r = graph.pieces.of(m.elements);
      for (const std::size_t piece : t.pieces) moved += r.lo <= piece && piece < r.hi ? 1 : 0;
    }
    return moved != t.pieces.size() * (t.parents.size() - 1);
  }

  std::string title(const std::vector<MessageTree>& trees, std::size_t i) const {
    const MessageTree& t = trees[i];
    const auto same_way = [&t](const MessageTree& o) { return o.combined == t.combined; };
    std::string text = t.combined ? "Combined on the way to rank "
                       : t.inward ? "Gathered to rank "
                                  : "Handed on from rank ";
    text += std::to_string(t.root());
    if (std::count_if(trees.begin(), trees.end(), same_way) > 1) {
      text += ": pieces " + enumerated(t.pieces) + " of " + std::to_string(graph_->pieces.size());
    }
    return text;
  }

  /// Messages along the edge above a rank.
  std::size_t messages(const MessageTree& t, int child) const {
    const int parent = t.parents[static_cast<std::size_t>(child)];
    const int from = t.inward ? child : parent;
    const int to = t.inward ? parent : child;
    const auto along = [&](const DrawnMessage& m) {
      return m.from == from && m.to == to && m.combined == t.combined &&
             std::binary_search(t.pieces.begin(), t.pieces.end(), graph_->pieces.of(m.elements).lo);
    };
    return static_cast<std::size_t>(
        std::count_if(graph_->messages.begin(), graph_->messages.end(), along));
  }

  Panel draw(const MessageTree& tree, const std::string& title) const {
    const TreeLayout layout{tree, *order_};
    const bool divided = is_divided(*graph_, tree);
    double pitch = pitch_;
    for (std::size_t r = 0; divided && r < tree.parents.size(); ++r) {
      const DrawnMessage& first = graph_->messages[tree.edges[r]];
      pitch = std::max(pitch, width_of(graph_->pieces.name(first), small) + 14);
    }
    const double tall = static_cast<double>(layout.levels()) * level;
    const double broad = static_cast<double>(layout.leaves()) * pitch;
    // Long thin trees lie on their side.
    constexpr double few_levels = 7;
    const bool lies = static_cast<double>(layout.levels()) > few_levels && tall > broad;
    // At such a distance that a long edge passes above its child's neighbours.
    std::vector<double> down;
    for (const double span : layout.spans()) {
      down.push_back(down.empty() ? heading + radius + 2
                                  : down.back() + std::clamp(span * 15, level, 4 * level));
    }
    const auto at = [&](int rank) -> Point {
      const double across = layout.across(rank) * pitch + radius + 2;
      const auto depth = static_cast<double>(layout.depth(rank));
      if (lies) return {depth * lying_pitch + radius + 2, heading + across};
      return {across, down[layout.depth(rank)]};
    };
    const std::vector<std::size_t> rounds = layout.rounds(tree);
    Panel p;
    p.svg.text({0, 12}, title, "head");
    const int ranks = order_->size();
    for (int rank = 0; rank < ranks; ++rank) {
      const int parent = tree.parents[static_cast<std::size_t>(rank)];
      if (parent < 0) continue;
      const auto r = static_cast<std::size_t>(rank);
      const std::string label = divided ? graph_->pieces.name(graph_->messages[tree.edges[r]])
                                        : std::to_string(rounds[r]);
      edge(p.svg, tree, rank, label, at(rank), at(parent), lies);
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const Point c = at(rank);
      p.svg.circle(c, radius, "node");
      p.svg.text({c.x, c.y + 4}, std::to_string(rank), "rank");
      p.width = std::max(p.width, c.x + radius + 2);
      p.height = std::max(p.height, c.y + radius + 2);
    }
    p.width = std::max(p.width, width_of(title, 12));
    return p;
  }

  void edge(Svg& svg, const MessageTree& tree, int rank, const std::string& label, Point child,
            Point parent, bool lies) const {
    const Point from = tree.inward ? child : parent;
    const Point to = tree.inward ? parent : child;
    const double length = std::hypot(to.x - from.x, to.y - from.y);
    const Point unit{(to.x - from.x) / length, (to.y - from.y) / length};
    const Point begin{from.x + unit.x * radius, from.y + unit.y * radius};
    const Point tip{to.x - unit.x * (radius + 1), to.y - unit.y * (radius + 1)};
    const int above = tree.parents[static_cast<std::size_t>(rank)];
    svg.begin("message", {{"data-from", std::to_string(tree.inward ? rank : above)},
                          {"data-to", std::to_string(tree.inward ? above : rank)},
                          {"data-messages", std::to_string(messages(tree, rank))}});
    svg.arrow(begin, tip, tree.combined ? "combined" : "taken");
    // Near the child, where edges are furthest apart, but not on an arrow's head.
    const double part = std::min(0.5, (tree.inward ? 24 : 32) / length);
    const Point near{child.x + (parent.x - child.x) * part, child.y + (parent.y - child.y) * part};
    const double w = width_of(label, small);
    if (lies) {
      svg.text({(child.x + parent.x) / 2, near.y - 4}, label, "edge");
    } else {
      svg.rect({near.x - w / 2 - 1, near.y - 6}, w + 2, 12, "behind");
      svg.text({near.x, near.y + 4}, label, "edge");
    }
    svg.end();
  }

  const MessageGraph* graph_;
  const Order* order_;
  double pitch_;  ///< of nodes beside each other
  Panel panel_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
