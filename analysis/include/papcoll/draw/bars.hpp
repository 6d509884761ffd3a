// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/model/log_gops.hpp>
#include <papcoll/simulate/simulated.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// What ports and processors do in a simulation with keep_steps, and what waits for them or for the
/// other side, as bars over time.
class Bars {
 public:
  /// What bars show; what comes first lies behind.
  enum Look : std::size_t {
    send_waits,
    receive_waits,
    sends,
    receives,
    overhead,
    combines,
    copies
  };
  struct LookText {
    std::string_view kind;  ///< its class
    std::string_view legend;
    std::string_view title;  ///< what the step does then, where a viewer shows it
  };
  static constexpr std::array<LookText, 7> looks{
      {{"send-waits", "send waits", ": waits"},
       {"receive-waits", "receive waits", ": waits"},
       {"send", "port sends", ": the port is busy"},
       {"receive", "port receives", ": the port is busy"},
       {"overhead", "starts or ends a message", ": the processor is busy"},
       {"combine", "combines", ":"},
       {"copy", "copies", ":"}}};
  static constexpr bool waits(Look look) noexcept {
    return look == send_waits || look == receive_waits;
  }

  struct Bar {
    double from, to;  ///< seconds
    std::size_t step;
  };

  /// `model`: the one that the simulation was made with.
  Bars(const Simulated& run, const LogGops& model) {
    messages(run);
    processors(run, model);
  }

  const std::vector<Bar>& of(Look look) const noexcept { return bars_[look]; }

 private:
  void messages(const Simulated& run) {
    const double last = *std::max_element(run.exits.begin(), run.exits.end());
    for (const SimulatedEnds& e : run.ends) {
      bars_[send_waits].push_back({e.sent, e.depart, e.send});
      bars_[receive_waits].push_back({run.steps[e.receive].start, e.in_from, e.receive});
      bars_[sends].push_back({e.out_from, std::min(e.out_to, last), e.send});
      bars_[receives].push_back({e.in_from, std::min(e.in_to, last), e.receive});
    }
  }

  void processors(const Simulated& run, const LogGops& model) {
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
      const SimulatedStep& s = run.steps[i];
      if (s.kind == OpKind::reduce || s.kind == OpKind::copy) {
        bars_[s.kind == OpKind::reduce ? combines : copies].push_back({s.start, s.end, i});
        continue;
      }
      const double takes = model.overhead + model.overhead_per_byte * static_cast<double>(s.bytes);
      if (!(takes > 0)) continue;
      const double from = s.kind == OpKind::send ? s.start : s.end - takes;
      bars_[overhead].push_back({from, from + takes, i});
    }
  }

  std::array<std::vector<Bar>, looks.size()> bars_;
};

/// A bar on the screen, or several of one rank that touch there.
struct DrawnBar {
  int rank;
  double from, to;  ///< pixels
  Bars::Bar bar;    ///< the first one
  bool single;
};

/// Those of one kind that touch become one if they are short; those that wait and those of ports
/// that are shared, which overlap, always do.
inline std::vector<DrawnBar> join_touching(std::vector<DrawnBar> bars, bool waits) {
  std::sort(bars.begin(), bars.end(), [](const DrawnBar& a, const DrawnBar& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.from < b.from;
  });
  std::vector<DrawnBar> joined;
  for (const DrawnBar& b : bars) {
    constexpr double seen = 0.4;
    constexpr double brief = 2;
    DrawnBar* const last =
        joined.empty() || joined.back().rank != b.rank ? nullptr : &joined.back();
    const double between = last == nullptr ? seen : b.from - last->to;
    const bool is_brief =
        last != nullptr && (last->to - last->from < brief || b.to - b.from < brief);
    if (between < -seen || (between < seen && (waits || is_brief))) {
      last->to = std::max(last->to, b.to);
      last->single = false;
    } else {
      joined.push_back(b);
    }
  }
  return joined;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
