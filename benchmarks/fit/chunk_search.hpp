// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "candidates/problem.hpp"
#include "fit/chunk_counts.hpp"
#include "fit/cost_fit.hpp"
#include "fit/modelled.hpp"
#include "timing/contest.hpp"
#include "timing/placement.hpp"

#include <papcoll/model/log_gops.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace bench {

/// So often everything is measured, each time with a part of the time limit.
constexpr std::size_t sweeps = 5;

/// Of the medians of so many sweeps: the least. What slows a machine down from outside for seconds
/// or minutes only ever adds, and must not do so to one size alone.
inline double of_sweeps(const std::vector<double>& medians) {
  return *std::min_element(medians.begin(), medians.end());
}

/// So many of those searched are measured anew: the quickest of a dozen is also the luckiest.
constexpr std::size_t finalists = 4;

/// So many time limits search_chunks() takes at most: a sweep of all around both models' counts,
/// and all sweeps of these two and the finalists.
constexpr double most_limits_of_search =
    static_cast<double>(2 * counts_around_one) / sweeps + 2 + finalists;

/// In how many chunks a schedule's vector is best cut.
struct ChunkChoice {
  struct Timed {
    std::size_t chunks = 0;
    std::size_t segment = 0;  ///< bytes
    double seconds = 0;
  };
  std::size_t by_form = 0;        ///< by the closed form, with the schedule's own α and β
  std::size_t by_simulation = 0;  ///< by the simulator
  std::vector<Timed> searched;    ///< those around both, ascending
  std::vector<Timed> compared;    ///< the two and the best of `searched`, measured anew
  Timed best;                     ///< the quickest of `compared`

  /// By how much so many chunks, which were compared, take longer than the best.
  double above_best(std::size_t chunks) const;
  /// What the best was found by.
  const char* source() const;
};

/// Finds it. Collective over the placement's communicator; the same on all ranks. `fit`: of the
/// schedule's runs; `model`: the simulator's; `contest`: of one sweep.
ChunkChoice search_chunks(const Modelled& schedule, const CostFit& fit, std::size_t bytes,
                          const Options& options, const Placement& placement,
                          const papcoll::LogGops& model, Contest& contest);

}  // namespace bench
