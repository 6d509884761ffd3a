// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/draw/forest.hpp>
#include <papcoll/draw/gantt.hpp>
#include <papcoll/draw/messages.hpp>
#include <papcoll/draw/rounds.hpp>
#include <papcoll/draw/svg.hpp>
#include <papcoll/draw/trees.hpp>
#include <papcoll/model/log_gops.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/simulate/quantity_text.hpp>
#include <papcoll/simulate/simulate.hpp>
#include <papcoll/simulate/simulated_text.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Pictures of static schedules, as SVG. Above what the plans of all ranks say: trees, or the rounds
// in which messages go. Below it the plans' simulation over time, with the critical path. They are
// meant for 2 to 32 ranks; with more they are drawn, too, but hard to read.

namespace papcoll::inline PAPCOLL_ABI {

/// What a picture shows besides the schedule.
struct DrawOptions {
  LogGops model{};               ///< what messages and combining cost
  SimulateOptions simulation{};  ///< keep_steps need not be set
  std::string name{};            ///< of the algorithm, in the title; empty: the schedule's
};

namespace detail {

/// Colours of Okabe and Ito, which the colour-blind can distinguish.
inline constexpr std::string_view draw_style = R"(
text { font-family: Arial, Helvetica, "DejaVu Sans", sans-serif; font-size: 12px; fill: #222 }
line, path { fill: none; stroke: #222 }
.title { font-size: 18px; font-weight: bold }
.head { font-weight: bold }
.section { font-size: 14px; font-weight: bold }
.note, .number, .tick { fill: #555 }
.number { text-anchor: end }
.rank, .label, .edge, .tick { text-anchor: middle }
.label, .edge { font-size: 10px }
.page, .behind { fill: #fff }
.stripe { fill: #f4f4f4 }
.node { fill: #fff; stroke: #222; stroke-width: 1.2 }
.life { stroke: #bbb }
.taken { stroke: #0072b2; stroke-width: 1.4 }
.taken-head { fill: #0072b2; stroke: none }
.taken-box { fill: #e3f1fa; stroke: #0072b2 }
.combined { stroke: #d55e00; stroke-width: 1.4 }
.combined-head { fill: #d55e00; stroke: none }
.combined-box { fill: #fdebdd; stroke: #d55e00 }
.present { fill: #eee }
.grid { stroke: #ddd }
.send, .receive, .combine, .copy { stroke: #fff; stroke-width: 0.5 }
.send { fill: #0072b2 }
.send-waits { fill: #b3d4e8 }
.receive { fill: #009e73 }
.receive-waits { fill: #bfe6da }
.combine { fill: #d55e00 }
.copy { fill: #cc79a7 }
.overhead { fill: #777; stroke: #fff; stroke-width: 0.5 }
.flight { stroke: #666; stroke-width: 0.6 }
.arrival { fill: #222; stroke: none }
.exit { stroke: #222; stroke-width: 2 }
.critical { stroke: #000; stroke-width: 1.8; stroke-linejoin: round }
.critical-behind { stroke: #fff; stroke-width: 3.2; stroke-linejoin: round }
)";

/// All that is drawn of one call.
class Page {
 public:
  Page(const AnySchedule& schedule, const Shape& shape, const Order& order,
       const DrawOptions& options)
      : title_(call_text(options.name.empty() ? schedule.name() : options.name, shape)) {
    const MessageGraph graph = message_graph(schedule, shape, order);
    const auto trees = trees_of(graph, static_cast<std::size_t>(shape.size));
    const Panel upper = trees.empty() ? RoundsPanel{graph, order}.panel()
                                      : TreePanel{graph, trees, order, most_width}.panel();
    SimulateOptions simulation = options.simulation;
    simulation.keep_steps = true;
    const Simulated run = simulate(schedule, shape, order, options.model, simulation);
    const GanttPanel gantt{run, options.model, upper.width};
    const Panel legend = gantt.legend();
    width_ = std::max({upper.width, gantt.panel().width, legend.width});

    add(title_, "title", 24);
    add(summary(run), "note", 22);
    add(model_text(options.model, simulation), "note", 18);
    y_ += 12;
    add(trees.empty() ? "Rounds" : trees.size() == 1 ? "Tree" : "Trees", "section", 20);
    if (graph.messages.empty()) {
      add("No messages.", "note", 18);
    } else {
      add(trees.empty() ? RoundsPanel::caption(graph) : TreePanel::caption(graph, trees), "note",
          18);
      if (graph.pieces.size() > 1) add(sizes(graph, shape.element_size), "note", 18);
      add(colours(graph), "note", 18);
      if (graph.blocks > 1) {
        add("This is one of " + std::to_string(graph.blocks) + " blocks, of " +
                bytes_text(graph.block_elements * shape.element_size) +
                " each (the last one may be shorter), which follow each other.",
            "note", 18);
      }
      if (!order.is_identity()) {
        add("Position 0 is rank " + std::to_string(order.rank(0)) + ".", "note", 18);
      }
      y_ += 14;
      add(upper);
    }
    y_ += 22;
    add("Simulation", "section", 20);
    add(gantt.caption(), "note", 18);
    y_ += 6;
    add(legend);
    y_ += 12;
    add(gantt.panel());
  }

  std::string document() const {
    Svg page;
    const double width = width_ + 2 * margin;
    const double height = y_ + margin;
    page.rect({0, 0}, width, height + margin, "page");
    page.add(body_, {margin, margin});
    return page.document(width, height + margin, title_, draw_style);
  }

 private:
  static constexpr double margin = 20;
  static constexpr double most_width = 1200;  ///< of trees side by side

  static std::string summary(const Simulated& run) {
    std::string text = "Simulated: " + duration_text(run.time());
    if (run.time() > run.tail()) {
      text += " from the first arrival to the last exit; tail (from the last arrival): " +
              duration_text(run.tail());
    }
    return text + "; " + std::to_string(run.messages) +
           (run.messages == 1 ? " message." : " messages.");
  }

  static std::string model_text(const LogGops& m, const SimulateOptions& o) {
    std::string text = "Model: ";
    if (o.links.empty()) {
      text += "latency " + duration_text(m.latency) + ", " + duration_text(m.gap_per_byte * 1024) +
              " a KB";
    } else {
      text += "latencies and rates by pairs of ranks";
    }
    if (m.overhead > 0) text += ", " + duration_text(m.overhead) + " overhead at either end";
    text += ", combining " + duration_text(m.combine_per_byte * 1024) + " a KB; ports are " +
            (o.ports == Ports::shared ? "shared" : "exclusive");
    return text + ".";
  }

  static std::string sizes(const MessageGraph& graph, std::size_t element_size) {
    const auto [shortest, longest] = graph.pieces.sizes();
    std::string text =
        std::to_string(graph.pieces.size()) + " pieces, of " + bytes_text(shortest * element_size);
    if (longest > shortest) text += " to " + bytes_text(longest * element_size);
    return text + " each.";
  }

  static std::string colours(const MessageGraph& graph) {
    const auto combined = [](const DrawnMessage& m) { return m.combined; };
    const auto n = std::count_if(graph.messages.begin(), graph.messages.end(), combined);
    if (n == 0) return "The receiver takes what comes as it is.";
    if (n == static_cast<std::ptrdiff_t>(graph.messages.size())) {
      return "The receiver combines what comes with what it has.";
    }
    return "Orange: the receiver combines what comes with what it has. Blue: it takes it as it is.";
  }

  /// Words, in as many lines as they need.
  void add(std::string_view words, std::string_view kind, double line) {
    constexpr double font_size = 12;
    while (!words.empty()) {
      std::size_t end = words.size();
      while (width_of(words.substr(0, end), font_size) > width_) {
        const std::size_t blank = words.rfind(' ', end - 1);
        if (blank == std::string_view::npos || blank == 0) break;
        end = blank;
      }
      y_ += line;
      body_.text({0, y_ - 6}, words.substr(0, end), kind);
      words.remove_prefix(std::min(words.size(), end + 1));
    }
  }

  void add(const Panel& panel) {
    body_.add(panel.svg, {0, y_});
    y_ += panel.height;
  }

  std::string title_;
  Svg body_;
  double width_ = 0;
  double y_ = 0;
};

}  // namespace detail

/// A picture of a static schedule, which must serve the collective, as an SVG document. Throws
/// argument_error and error as make_plan() and simulate() do.
inline std::string draw(const AnySchedule& schedule, const Shape& shape, const Order& order,
                        const DrawOptions& options = {}) {
  return detail::Page{schedule, shape, order, options}.document();
}

}  // namespace papcoll::inline PAPCOLL_ABI
