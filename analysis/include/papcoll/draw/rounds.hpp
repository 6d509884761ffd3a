// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/draw/messages.hpp>
#include <papcoll/draw/svg.hpp>
#include <papcoll/schedule/order.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

using DrawnRound = std::vector<DrawnMessage>;

/// Returns for each round an arrow for each rank that sends.
inline std::vector<DrawnRound> rounds_of(const MessageGraph& graph) {
  std::vector<DrawnRound> rounds(graph.rounds);
  for (const DrawnMessage& m : graph.messages) {
    DrawnRound& round = rounds[m.round];
    const auto same = std::find_if(round.begin(), round.end(),
                                   [&m](const DrawnMessage& o) { return o.from == m.from; });
    if (same == round.end()) {
      round.push_back(m);
    } else {
      same->further.push_back(m.elements);
      ++same->messages;
    }
  }
  return rounds;
}

/// Returns true if messages go from and to the same ranks, and are combined in both rounds or in
/// none; and, if asked for, carry the same.
inline bool are_alike(const DrawnRound& a, const DrawnRound& b, bool with_pieces = false) {
  using Key = std::tuple<int, int, bool, std::size_t, std::size_t>;
  const auto keys = [with_pieces](const DrawnRound& round) {
    std::vector<Key> all;
    for (const DrawnMessage& m : round) {
      const Range r = with_pieces ? m.elements : Range{};
      all.emplace_back(m.from, m.to, m.combined, r.lo, r.hi);
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  return a.size() == b.size() && keys(a) == keys(b);
}

/// Rounds that are drawn as one thing.
struct RoundRun {
  std::size_t first = 0;
  std::size_t rounds = 1;
  std::size_t period = 0;  ///< each is like the one so many before it; 0: it is drawn itself
};

/// Returns how rounds are drawn: one by one where they are few. Else, of rounds that are alike, or
/// that repeat two or three others in turn, the first ones and the last one are, and those between
/// are not.
inline std::vector<RoundRun> round_runs(const std::vector<DrawnRound>& rounds) {
  constexpr std::size_t few = 12;
  constexpr std::size_t longest_period = 3;
  constexpr std::size_t least_hidden = 2;
  std::vector<RoundRun> runs;
  const auto likewise = [&](std::size_t first) -> RoundRun {
    for (std::size_t period = 1; period <= longest_period; ++period) {
      std::size_t end = first + period;
      while (end < rounds.size() && are_alike(rounds[end], rounds[end - period])) ++end;
      const std::size_t begin = first + std::max<std::size_t>(2, period);
      if (end >= begin + least_hidden + 1) return {begin, end - 1 - begin, period};
    }
    return {};
  };
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    RoundRun hidden;
    if (rounds.size() > few) hidden = likewise(i);
    if (hidden.period == 0) {
      runs.push_back({i});
      continue;
    }
    for (; i < hidden.first; ++i) runs.push_back({i});
    runs.push_back(hidden);
    i = hidden.first + hidden.rounds;
    runs.push_back({i});
  }
  return runs;
}

/// Draws a schedule round by round, time running down: a column for each rank, in the order of
/// positions; an arrow for each message, with what it carries where it begins.
class RoundsPanel {
 public:
  RoundsPanel(const MessageGraph& graph, const Order& order) : graph_(&graph), order_(&order) {
    const std::vector<DrawnRound> rounds = rounds_of(graph);
    for (const DrawnRound& round : rounds) {
      for (const DrawnMessage& m : round) {
        pitch_ = std::max(pitch_, width_of(graph.pieces.name(m), small) + 12);
      }
    }
    pitch_ = std::max(pitch_, std::min(widest_pitch, usual_width / order.size()));
    left_ = numbers + 10 + pitch_ / 2;
    const double right = column(order.size() - 1) + pitch_ / 2;
    double y = heading;
    std::size_t shown = 0;
    std::size_t next = 0;  // of all rounds
    Svg arrows;
    for (const RoundRun& run : round_runs(rounds)) {
      if (shown == most) break;
      next = run.first + run.rounds;
      if (run.period > 0) {
        y += fold(arrows, rounds, run, y);
        continue;
      }
      const DrawnRound& round = rounds[run.first];
      const double height = height_of(round);
      if (shown % 2 == 0) panel_.svg.rect({0, y}, right, height, "stripe");
      panel_.svg.text({numbers, y + chip - 4}, std::to_string(next), "number");
      for (const DrawnMessage& one : round) draw(arrows, one, y, height);
      y += height;
      ++shown;
    }
    panel_.svg.text({numbers, heading - 9}, "round", "number");
    for (int p = 0; p < order.size(); ++p) {
      panel_.svg.text({column(p), heading - 9}, std::to_string(order.rank(p)), "rank");
      panel_.svg.line({column(p), heading - 4}, {column(p), y + 4}, "life");
    }
    panel_.svg.add(arrows, {0, 0});
    if (next < rounds.size()) {
      y += 22;
      panel_.svg.text({left_, y - 4},
                      "… and " + std::to_string(rounds.size() - next) + " more rounds", "note");
    }
    panel_.width = std::max(panel_.width, right);
    panel_.height = y + 4;
  }

  const Panel& panel() const noexcept { return panel_; }

  static std::string caption(const MessageGraph& graph) {
    return "Columns are ranks. In a round every rank sends at most one message and receives at "
           "most one, or two that carry what goes around the end of the vector; a message goes as "
           "soon as what it carries is there. In the boxes: " +
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

  /// Enough that arrows side by side can be distinguished.
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

  /// A line that stands for rounds like those before them; how high it is.
  double fold(Svg& svg, const std::vector<DrawnRound>& rounds, const RoundRun& run, double y) {
    constexpr double height = 30;
    std::size_t messages = 0;
    bool same_pieces = true;
    for (std::size_t i = run.first; i < run.first + run.rounds; ++i) {
      for (const DrawnMessage& m : rounds[i]) messages += m.messages;
      same_pieces = same_pieces && are_alike(rounds[i], rounds[i - run.period], true);
    }
    const std::string words =
        "rounds " + std::to_string(run.first + 1) + "–" + std::to_string(run.first + run.rounds) +
        " likewise" + (run.period > 1 ? ", in turn" : "") + (same_pieces ? "" : ", other pieces");
    const double from = left_ + 8;
    svg.begin("message", {{"data-messages", std::to_string(messages)}});
    svg.rect({from, y + 5}, width_of(words, 12) + 8, height - 10, "page");
    svg.text({from + 4, y + height / 2 + 4}, words, "note");
    svg.end();
    panel_.width = std::max(panel_.width, from + width_of(words, 12) + 8);
    return height;
  }

  void draw(Svg& svg, const DrawnMessage& m, double y, double height) const {
    const std::string label = graph_->pieces.name(m);
    const std::string kind = m.combined ? "combined" : "taken";
    const double x = column_of(m.from);
    const Point end{column_of(m.to), y + height - 5};
    svg.begin("message", {{"data-from", std::to_string(m.from)},
                          {"data-to", std::to_string(m.to)},
                          {"data-piece", label},
                          {"data-messages", std::to_string(m.messages)}});
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
