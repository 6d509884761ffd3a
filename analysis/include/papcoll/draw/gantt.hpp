// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/draw/bars.hpp>
#include <papcoll/draw/svg.hpp>
#include <papcoll/model/log_gops.hpp>
#include <papcoll/simulate/quantity_text.hpp>
#include <papcoll/simulate/simulated.hpp>
#include <papcoll/simulate/simulated_text.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Draws a simulation over time: a row for each rank, with a lane for what its port sends, one for
/// its processor and one for what its port receives.
class GanttPanel {
 public:
  /// Of a simulation with keep_steps; `model`: the one that it was made with.
  GanttPanel(const Simulated& run, const LogGops& model, double width) : run_(&run) {
    first_ = *std::min_element(run.arrivals.begin(), run.arrivals.end());
    last_ = *std::max_element(run.exits.begin(), run.exits.end());
    const std::size_t ranks = run.exits.size();
    lane_ = ranks <= 8 ? 9 : ranks <= 16 ? 7 : ranks <= 32 ? 6 : 4;
    plot_ = std::max(least_plot, width - left - right);
    bottom_ = top + static_cast<double>(ranks) * row();
    axis();
    for (std::size_t r = 0; r < ranks; ++r) presence(r);
    const Bars bars{run, model};
    for (std::size_t i = 0; i < Bars::looks.size(); ++i) {
      const auto look = static_cast<Bars::Look>(i);
      draw(look, bars.of(look));
    }
    lines();
    path();
    for (std::size_t r = 0; r < ranks; ++r) ends(r);
    panel_.width = left + plot_ + right;
    panel_.height = bottom_ + 34;
  }

  const Panel& panel() const noexcept { return panel_; }

  /// Returns what the colours mean, in a line, of those that are used.
  Panel legend() const {
    Panel p;
    const auto say = [&p](double room, std::string_view words) {
      p.svg.text({p.width + room, 10}, words, "note");
      p.width += room + width_of(words, 12) + 8;
    };
    for (std::size_t b = 0; b < Bars::looks.size(); ++b) {
      if (!used_[b]) continue;
      p.svg.rect({p.width, 1}, 14, 9, Bars::looks[b].kind);
      say(19, Bars::looks[b].legend);
    }
    p.svg.path(arrival_mark({p.width + 6, 6}), "arrival");
    say(13, "arrives");
    p.svg.line({p.width + 4, 0}, {p.width + 4, 11}, "exit");
    say(11, "leaves");
    if (has_lines()) {
      p.svg.line({p.width, 6}, {p.width + 20, 6}, "flight");
      say(25, "message");
    }
    p.svg.line({p.width, 6}, {p.width + 20, 6}, "critical");
    say(25, "critical path");
    p.height = 14;
    return p;
  }

  /// Returns what is to be known of the bars, in sentences.
  std::string caption() const {
    std::string text =
        "Of each rank: above, its port out; in the middle, its processor; below, its port in.";
    if (run_->ends.empty()) return text;
    if (!used_[Bars::overhead]) text += " Messages take no time of processors in this model.";
    const auto outlasts = [this](const SimulatedEnds& ends) {
      const auto rank = static_cast<std::size_t>(run_->steps[ends.send].rank);
      return ends.out_to > run_->exits[rank];
    };
    if (std::any_of(run_->ends.begin(), run_->ends.end(), outlasts)) {
      text += " A rank may leave while its port still sends.";
    }
    if (!has_lines()) {
      text += " The " + std::to_string(run_->ends.size()) +
              " messages' own lines are left out, as they are where there are more than " +
              std::to_string(most_lines) + ".";
    }
    return text;
  }

 private:
  static constexpr double left = 74;
  static constexpr double right = 24;
  static constexpr double top = 22;
  static constexpr double least_plot = 860;
  static constexpr double gap = 7;                  ///< between rows
  static constexpr std::size_t most_lines = 100;    ///< of messages: more would hide the rest
  static constexpr std::size_t most_titles = 4000;  ///< steps that say what they are

  double row() const noexcept { return 3 * lane_ + gap; }
  double x(double time) const noexcept {
    const double span = last_ - first_;
    return left + (span > 0 ? (time - first_) / span * plot_ : 0);
  }
  double y(int rank) const noexcept { return top + rank * row() + gap / 2; }
  static int lane_of(OpKind kind) noexcept {
    return kind == OpKind::send ? 0 : kind == OpKind::receive ? 2 : 1;
  }
  double y(const SimulatedStep& s) const noexcept { return y(s.rank) + lane_of(s.kind) * lane_; }
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

  /// Draws from when to when the rank is in the call.
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

  void draw(Bars::Look look, const std::vector<Bars::Bar>& bars) {
    std::vector<DrawnBar> all;
    for (const Bars::Bar& b : bars) {
      constexpr double least = 1.2;  // what takes no time is seen, too
      const double from = x(b.from);
      const double to = x(b.to);
      if (Bars::waits(look) && to - from < least) continue;
      all.push_back({run_->steps[b.step].rank, from, std::max(to, from + least), b, true});
    }
    const std::vector<DrawnBar> drawn = join_touching(std::move(all), Bars::waits(look));
    used_[look] = !drawn.empty();
    for (const DrawnBar& b : drawn) {
      const SimulatedStep& s = run_->steps[b.bar.step];
      const bool titled = b.single && run_->steps.size() <= most_titles;
      const double lane = look == Bars::overhead ? y(s.rank) + lane_ : y(s);
      panel_.svg.rect({b.from, lane}, b.to - b.from, lane_, Bars::looks[look].kind,
                      titled ? title(look, b.bar) : "");
    }
  }

  std::string title(Bars::Look look, const Bars::Bar& b) const {
    return step_text(run_->steps[b.step]) + std::string(Bars::looks[look].title) + " from " +
           duration_text(b.from - first_) + " to " + duration_text(b.to - first_);
  }

  bool has_lines() const noexcept { return !run_->ends.empty() && run_->ends.size() <= most_lines; }

  /// The messages on their way: from their first byte's leaving to their last one's coming.
  void lines() {
    if (!has_lines()) return;
    for (const SimulatedEnds& e : run_->ends) {
      const SimulatedStep& send = run_->steps[e.send];
      const SimulatedStep& receive = run_->steps[e.receive];
      const bool down = receive.rank > send.rank;
      panel_.svg.line({x(e.out_from), y(send) + (down ? lane_ : 0)},
                      {x(e.in_to), y(receive) + (down ? 0 : lane_)}, "flight");
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
  std::array<bool, Bars::looks.size()> used_{};  ///< by Look
  double first_ = 0;
  double last_ = 0;
  double lane_ = 9;
  double plot_ = 0;
  double bottom_ = 0;
  Panel panel_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
