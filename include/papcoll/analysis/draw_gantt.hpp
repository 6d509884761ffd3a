#pragma once

#include <papcoll/analysis/quantity_text.hpp>
#include <papcoll/analysis/simulated.hpp>
#include <papcoll/analysis/simulated_text.hpp>
#include <papcoll/analysis/svg.hpp>
#include <papcoll/model/log_gops.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Draws a simulation over time: a row for each rank, with a lane for what it sends, one for what
/// it computes and one for what it receives.
class GanttPanel {
 public:
  GanttPanel(const Simulated& run, const LogGops& model, const SimulateOptions& options,
             double width)
      : run_(&run), model_(&model), options_(&options) {
    first_ = *std::min_element(run.arrivals.begin(), run.arrivals.end());
    last_ = *std::max_element(run.exits.begin(), run.exits.end());
    const std::size_t ranks = run.exits.size();
    lane_ = ranks <= 8 ? 9 : ranks <= 16 ? 7 : ranks <= 32 ? 6 : 4;
    plot_ = std::max(least_plot, width - left - right);
    bottom_ = top + static_cast<double>(ranks) * row();
    axis();
    for (std::size_t r = 0; r < ranks; ++r) presence(r);
    steps();
    panel_.svg.add(bars_, {0, 0});
    lines();
    path();
    for (std::size_t r = 0; r < ranks; ++r) ends(r);
    panel_.width = left + plot_ + right;
    panel_.height = bottom_ + 34;
  }

  const Panel& panel() const noexcept { return panel_; }

  /// What the colours mean, in a line.
  static Panel legend() {
    constexpr std::array<std::array<std::string_view, 2>, 6> swatches{
        {{"send", "sends"},
         {"receive", "receives"},
         {"combine", "combines"},
         {"copy", "copies"},
         {"send-waits", "send that waits"},
         {"receive-waits", "receive that waits"}}};
    Panel p;
    const auto say = [&p](double room, std::string_view words) {
      p.svg.text({p.width + room, 10}, words, "note");
      p.width += room + width_of(words, 12) + 10;
    };
    for (const auto& [kind, words] : swatches) {
      p.svg.rect({p.width, 1}, 14, 9, kind);
      say(19, words);
    }
    p.svg.path(arrival_mark({p.width + 6, 6}), "arrival");
    say(13, "arrives");
    p.svg.line({p.width + 4, 0}, {p.width + 4, 11}, "exit");
    say(11, "leaves");
    p.svg.line({p.width, 6}, {p.width + 20, 6}, "critical");
    say(25, "critical path");
    p.height = 14;
    return p;
  }

 private:
  static constexpr double left = 74;
  static constexpr double right = 24;
  static constexpr double top = 22;
  static constexpr double least_plot = 860;
  static constexpr double gap = 7;                  ///< between rows
  static constexpr int most_crossings = 1000;       ///< of messages' lines and rows
  static constexpr std::size_t most_titles = 4000;  ///< steps that say what they are

  double row() const noexcept { return 3 * lane_ + gap; }
  double x(double time) const noexcept {
    const double span = last_ - first_;
    return left + (span > 0 ? (time - first_) / span * plot_ : 0);
  }
  double y(int rank) const noexcept { return top + rank * row() + gap / 2; }
  static int lane_of(Act act) noexcept {
    return act == Act::send ? 0 : act == Act::receive ? 2 : 1;
  }
  double y(const SimulatedStep& s) const noexcept { return y(s.rank) + lane_of(s.act) * lane_; }
  double middle(const SimulatedStep& s) const noexcept { return y(s) + lane_ / 2; }

  static std::string arrival_mark(Point tip) {
    return "M" + coordinate(tip.x) + " " + coordinate(tip.y) + "l-7 -4v8Z";
  }

  /// Ticks at round numbers, about 90 pixels apart.
  void axis() {
    const double span = last_ - first_;
    const TimeUnit unit = unit_for(span);
    const double about = span / unit.seconds * 90 / plot_;
    const double power = std::pow(10, std::floor(std::log10(std::max(about, 1e-9))));
    double step = power;
    for (const double times : {2.0, 5.0, 10.0}) {
      if (step < about) step = power * times;
    }
    if (!(span > 0)) step = 1;
    for (int i = 0; i * step * unit.seconds <= span * (1 + 1e-9); ++i) {
      const double at = x(first_ + i * step * unit.seconds);
      panel_.svg.line({at, top}, {at, bottom_ + 4}, "grid");
      const std::string label = decimal(i * step, 6);
      panel_.svg.text({at, top - 8}, label, "tick");
      panel_.svg.text({at, bottom_ + 17}, label, "tick");
    }
    panel_.svg.text({left - 10, top - 8}, std::string(unit.name), "number");
    panel_.svg.text({left - 10, bottom_ + 17}, std::string(unit.name), "number");
    panel_.svg.text({left, bottom_ + 32}, "time since the first arrival", "note");
  }

  /// From when to when the rank is in the call.
  void presence(std::size_t r) {
    const int rank = static_cast<int>(r);
    panel_.svg.text({left - 16, y(rank) + 1.5 * lane_ + 4}, "rank " + std::to_string(rank),
                    "number");
    const double from = x(run_->arrivals[r]);
    panel_.svg.rect({from, y(rank)}, std::max(1.0, x(run_->exits[r]) - from), 3 * lane_, "present");
  }

  void ends(std::size_t r) {
    const int rank = static_cast<int>(r);
    panel_.svg.path(arrival_mark({x(run_->arrivals[r]), y(rank) + 1.5 * lane_}), "arrival");
    const double exit = x(run_->exits[r]);
    panel_.svg.line({exit, y(rank) - 2}, {exit, y(rank) + 3 * lane_ + 2}, "exit");
  }

  double gap_per_byte(int from, int to) const {
    return options_->links.empty() ? model_->gap_per_byte
                                   : options_->links.between(from, to).gap_per_byte;
  }

  /// When a message's end stops waiting. A port that is shared moves all of its messages at once;
  /// else its last bytes take what they take.
  double active_from(const SimulatedStep& s, const SimulatedStep& other) const {
    const double both = std::max(s.start, other.start);
    if (options_->ports == Ports::shared) return std::min(s.end, both);
    const bool sends = s.act == Act::send;
    const double rate = gap_per_byte(sends ? s.rank : s.peer, sends ? s.peer : s.rank);
    const double bytes = static_cast<double>(s.bytes);
    const double takes = bytes * (rate + model_->overhead_per_byte) + model_->overhead;
    return std::max(s.start, s.end - takes);
  }

  void steps() {
    active_.resize(run_->steps.size());
    for (std::size_t i = 0; i < active_.size(); ++i) active_[i] = run_->steps[i].start;
    for (const SimulatedEnds& m : run_->ends) {
      const SimulatedStep& send = run_->steps[m.send];
      const SimulatedStep& receive = run_->steps[m.receive];
      active_[m.send] = active_from(send, receive);
      active_[m.receive] = active_from(receive, send);
    }
    // What waits lies behind what moves.
    for (const bool waiting : {true, false}) {
      for (const Act act : {Act::send, Act::receive, Act::reduce, Act::copy}) bars(act, waiting);
    }
  }

  /// The bars of one kind; those that touch on the screen become one.
  void bars(Act act, bool waiting) {
    static constexpr std::array<std::string_view, 4> kinds{"send", "receive", "combine", "copy"};
    const std::string kind =
        std::string(kinds[static_cast<std::size_t>(act)]) + (waiting ? "-waits" : "");
    struct Bar {
      double from, to;
      std::size_t step;
      bool single;
    };
    std::vector<Bar> row;
    int rank = 0;
    const auto flush = [&] {
      std::sort(row.begin(), row.end(), [](const Bar& a, const Bar& b) { return a.from < b.from; });
      std::vector<Bar> joined;
      for (const Bar& b : row) {
        constexpr double seen = 0.4;  // pixels
        if (!joined.empty() && b.from - joined.back().to < seen &&
            (waiting || joined.back().to - joined.back().from < 2 || b.to - b.from < 2)) {
          joined.back().to = std::max(joined.back().to, b.to);
          joined.back().single = false;
        } else {
          joined.push_back(b);
        }
      }
      for (const Bar& b : joined) {
        const SimulatedStep& s = run_->steps[b.step];
        const bool titled = b.single && run_->steps.size() <= most_titles;
        bars_.rect({b.from, y(s)}, b.to - b.from, lane_, kind, titled ? title(s) : "");
      }
      row.clear();
    };
    for (std::size_t i = 0; i < run_->steps.size(); ++i) {
      const SimulatedStep& s = run_->steps[i];
      if (s.act != act) continue;
      if (s.rank != rank) flush();
      rank = s.rank;
      const double from = x(waiting ? s.start : active_[i]);
      const double to = x(waiting ? active_[i] : s.end);
      constexpr double least = 1.2;  // pixels: what takes no time is seen, too
      if (waiting && to - from < least) continue;
      row.push_back({from, std::max(to, from + least), i, true});
    }
    flush();
  }

  static std::string title(const SimulatedStep& s) {
    return step_text(s) + ": from " + duration_text(s.start) + " to " + duration_text(s.end);
  }

  /// The messages on their way.
  void lines() {
    int crossings = 0;
    for (const SimulatedEnds& m : run_->ends) {
      crossings += std::abs(run_->steps[m.send].rank - run_->steps[m.receive].rank);
      if (crossings > most_crossings) return;
    }
    for (const SimulatedEnds& m : run_->ends) {
      const SimulatedStep& send = run_->steps[m.send];
      const SimulatedStep& receive = run_->steps[m.receive];
      const bool down = receive.rank > send.rank;
      panel_.svg.line({x(active_[m.send]), y(send) + (down ? lane_ : 0)},
                      {x(receive.end), y(receive) + (down ? 0 : lane_)}, "flight");
    }
  }

  void path() {
    std::string way;
    Point at;
    for (const SimulatedStep& s : run_->critical_path) {
      const Point from{x(s.start), middle(s)};
      const Point to{x(s.end), middle(s)};
      if (way.empty()) {
        way = "M" + point(from);
      } else if (from.x - at.x > 0.1 || std::abs(from.y - at.y) > 0.1) {
        way += "L" + point(from);
      }
      if (to.x - from.x > 0.1) way += "L" + point(to);
      at = to;
    }
    if (way.empty()) return;
    panel_.svg.path(way, "critical-behind");
    panel_.svg.path(way, "critical");
  }

  static std::string point(Point p) { return coordinate(p.x) + " " + coordinate(p.y); }

  const Simulated* run_;
  const LogGops* model_;
  const SimulateOptions* options_;
  double first_ = 0;
  double last_ = 0;
  double lane_ = 9;
  double plot_ = 0;
  double bottom_ = 0;
  std::vector<double> active_;  ///< of each step: since when it does not wait any more
  Svg bars_;
  Panel panel_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
