// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "fit/cost_fit.hpp"
#include "fit/modelled.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace bench {

/// Where runs were made.
struct Processors {
  int ranks = 1;
  int processors = 1;  ///< fewer than ranks where these share them
};

/// A schedule's own costs, by that of its closed forms which explains its runs better.
struct ScheduleFit {
  CostFit costs;
  bool shared = false;  ///< the form of processors that ranks share, else of ports

  const char* form() const { return shared ? "shared processors" : "ports"; }
};

/// γ is start.gamma. Throws papcoll::argument_error where the runs do not tell α and β apart.
inline ScheduleFit fit_schedule(const Modelled& schedule, const std::vector<Run>& runs,
                                const papcoll::Hockney& start, Processors on) {
  using papcoll::Hockney;
  const Form ports = [seconds = schedule.seconds, p = on.ranks](
                         const Hockney& h, double m, double s) { return seconds(h, p, m, s); };
  ScheduleFit best{fit_cost(ports, runs, start)};
  if (on.processors >= on.ranks || schedule.on_shared == nullptr) return best;
  const SharedPipeline pipeline = schedule.on_shared(on.ranks, on.processors);
  const Form shared = [pipeline](const Hockney& h, double m, double s) {
    return pipeline.seconds(h, m, s);
  };
  CostFit other = fit_cost(shared, runs, start);
  if (other.squares < best.costs.squares) best = {std::move(other), true};
  return best;
}

/// The same from the runs of one size alone, in how many chunks ever; `whole` if there are too few.
/// The best number of chunks is a question of that size, whatever α and β are at others.
inline ScheduleFit fit_schedule_at(double bytes, const Modelled& schedule,
                                   const std::vector<Run>& runs, const papcoll::Hockney& start,
                                   Processors on, const ScheduleFit& whole) {
  constexpr std::size_t fewest = 3;
  std::vector<Run> here;
  for (const Run& run : runs) {
    if (run.bytes == bytes) here.push_back(run);
  }
  return here.size() < fewest ? whole : fit_schedule(schedule, here, start, on);
}

}  // namespace bench
