// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/model/log_gops.hpp>
#include <papcoll/simulate/link_costs.hpp>
#include <papcoll/simulate/simulated.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// What a simulated call's time consists of, in seconds: the parts of its critical path. They add
/// up to Simulated::time().
struct PathCosts {
  double late_arrival = 0;  ///< until the rank arrived with which the path begins
  double latency = 0;       ///< of messages: L
  double bytes = 0;         ///< of messages: G
  double overhead = 0;      ///< of messages, on processors: o and O
  double combining = 0;     ///< γ
  double copying = 0;       ///< of elements, on processors
  double waiting = 0;       ///< for ports or processors that were busy with something else

  /// All of it.
  double sum() const noexcept {
    return late_arrival + latency + bytes + overhead + combining + copying + waiting;
  }
};

namespace detail {

/// Takes what it can, at most `most`, of a time.
inline double at_most(double& rest, double most) noexcept {
  const double part = std::clamp(most, 0.0, std::max(rest, 0.0));
  rest -= part;
  return part;
}

}  // namespace detail

/// Of a simulation with keep_steps; `model` and `options` are those that it was made with.
inline PathCosts path_costs(const Simulated& run, const LogGops& model,
                            const SimulateOptions& options) {
  PathCosts costs;
  const std::vector<SimulatedStep>& path = run.critical_path;
  if (path.empty() || run.arrivals.empty()) {
    costs.late_arrival = run.time();
    return costs;
  }
  const double first = *std::min_element(run.arrivals.begin(), run.arrivals.end());
  costs.late_arrival = path.front().start - first;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const SimulatedStep& s = path[i];
    double rest = s.end - s.start;
    if (s.kind == OpKind::reduce) {
      costs.combining += rest;
      continue;
    }
    if (s.kind == OpKind::copy) {
      costs.copying += rest;
      continue;
    }
    const bool sends = s.kind == OpKind::send;
    const LinkCost link = options.link(model, sends ? s.rank : s.peer, sends ? s.peer : s.rank);
    const auto bytes = static_cast<double>(s.bytes);
    // Where another message of the same rank and direction follows, it waited for this one's bytes
    // to leave the port. Where the message's own end follows, they are part of that.
    const bool last = i + 1 == path.size();
    const bool blocks = !last && path[i + 1].kind == s.kind && path[i + 1].rank == s.rank;
    const bool goes_on = !last && sends && path[i + 1].kind == OpKind::receive &&
                         path[i + 1].rank == s.peer && path[i + 1].peer == s.rank;
    const double on_port = std::max(bytes * link.gap_per_byte, model.gap);
    if (blocks) {
      costs.waiting += detail::at_most(rest, on_port);
    } else if (!goes_on) {
      costs.bytes += detail::at_most(rest, bytes * link.gap_per_byte);
    }
    if (!sends) costs.latency += detail::at_most(rest, link.latency);
    costs.overhead += detail::at_most(rest, model.overhead + bytes * model.overhead_per_byte);
    costs.waiting += rest;
  }
  return costs;
}

}  // namespace papcoll::inline PAPCOLL_ABI
