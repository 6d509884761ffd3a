#pragma once

#include <papcoll/analysis/draw_messages.hpp>
#include <papcoll/analysis/svg.hpp>
#include <papcoll/plan/order.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Draws a schedule round by round, time running down: a column for each rank, in the order of
/// positions; an arrow for each message, with what it carries where it begins.
class RoundsPanel {
 public:
  RoundsPanel(const MessageGraph& graph, const Order& order) : graph_(&graph), order_(&order) {
    for (const DrawnMessage& m : graph.messages) {
      pitch_ = std::max(pitch_, width_of(graph.pieces.name(m.elements), small) + 12);
    }
    pitch_ = std::max(pitch_, std::min(widest_pitch, usual_width / order.size()));
    left_ = numbers + 10 + pitch_ / 2;
    const double right = column(order.size() - 1) + pitch_ / 2;
    double y = heading;
    std::size_t shown = 0;
    Svg arrows;
    for (auto m = graph.messages.begin(); m != graph.messages.end() && shown < most;) {
      const auto end = std::find_if(m, graph.messages.end(),
                                    [&](const DrawnMessage& o) { return o.round != m->round; });
      const std::vector<DrawnMessage> round{m, end};
      const double height = height_of(round);
      if (shown % 2 == 0) panel_.svg.rect({0, y}, right, height, "stripe");
      panel_.svg.text({numbers, y + chip - 4}, std::to_string(shown + 1), "number");
      for (const DrawnMessage& one : round) draw(arrows, one, y, height);
      y += height;
      ++shown;
      m = end;
    }
    panel_.svg.text({numbers, heading - 9}, "round", "number");
    for (int p = 0; p < order.size(); ++p) {
      panel_.svg.text({column(p), heading - 9}, std::to_string(order.rank(p)), "rank");
      panel_.svg.line({column(p), heading - 4}, {column(p), y + 4}, "life");
    }
    panel_.svg.add(arrows, {0, 0});
    if (shown < graph.rounds) {
      y += 22;
      panel_.svg.text({left_, y - 4},
                      "… and " + std::to_string(graph.rounds - shown) + " more rounds", "note");
    }
    panel_.width = right;
    panel_.height = y + 4;
  }

  const Panel& panel() const noexcept { return panel_; }

  static std::string caption(const MessageGraph& graph) {
    return "Columns are ranks. In a round every rank sends at most one message and receives at "
           "most one; a message goes as soon as what it carries is there. In the boxes: " +
           (graph.pieces.size() > 1 ? "which of the vector's pieces (0–" +
                                          std::to_string(graph.pieces.size() - 1) + ") it carries."
                                    : std::string("all of the vector."));
  }

 private:
  static constexpr std::size_t most = 96;  ///< rounds that are drawn
  static constexpr double numbers = 40;    ///< where they end
  static constexpr double widest_pitch = 72;
  static constexpr double usual_width = 880;
  static constexpr double heading = 26;
  static constexpr double chip = 16;  ///< height of a label's box
  static constexpr double small = 10;

  double column(int position) const { return left_ + position * pitch_; }
  double column_of(int rank) const { return column(order_->position(rank)); }

  /// Enough that arrows side by side can be told apart.
  double height_of(const std::vector<DrawnMessage>& round) const {
    std::vector<int> crossing(static_cast<std::size_t>(order_->size()));
    for (const DrawnMessage& m : round) {
      const auto [lo, hi] = std::minmax({order_->position(m.from), order_->position(m.to)});
      for (int p = lo; p < hi; ++p) ++crossing[static_cast<std::size_t>(p)];
    }
    constexpr double least = 41;
    constexpr double each = 4;
    const int densest = *std::max_element(crossing.begin(), crossing.end());
    return least + each * std::max(0, densest - 2);
  }

  void draw(Svg& svg, const DrawnMessage& m, double y, double height) const {
    const std::string label = graph_->pieces.name(m.elements);
    const std::string kind = m.combined ? "combined" : "taken";
    const double x = column_of(m.from);
    const Point end{column_of(m.to), y + height - 5};
    svg.begin("message", {{"data-from", std::to_string(m.from)},
                          {"data-to", std::to_string(m.to)},
                          {"data-piece", label}});
    const double w = width_of(label, small) + 6;
    svg.arrow({x, y + chip}, end, kind);
    svg.rect({x - w / 2, y + 2}, w, chip - 2, kind + "-box");
    svg.text({x, y + chip - 4}, label, "label");
    svg.end();
  }

  const MessageGraph* graph_;
  const Order* order_;
  double pitch_ = 30;  ///< of columns
  double left_ = 0;    ///< of the first one
  Panel panel_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
