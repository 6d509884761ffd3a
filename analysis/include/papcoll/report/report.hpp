// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// All that `papcoll report` prints of a run.

#include <papcoll/report/calls.hpp>
#include <papcoll/report/clocks.hpp>
#include <papcoll/report/imbalance.hpp>
#include <papcoll/report/late_groups.hpp>
#include <papcoll/report/lateness.hpp>
#include <papcoll/report/phases.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/report/summary.hpp>
#include <papcoll/report/time_use.hpp>
#include <papcoll/report/totals.hpp>
#include <papcoll/report/unfinished.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

/// A run and what follows from its traces.
struct Report {
  /// Without what follows yet.
  Report(Run traces, std::vector<SizeRange> sizes)
      : run(std::move(traces)), clocks(run), ranges(std::move(sizes)) {}

  Run run;
  Clocks clocks;
  std::vector<SizeRange> ranges;
  Calls calls;
  std::vector<Imbalance> imbalances;  ///< of each call
  Coverage coverage;
  Summary all;
  std::vector<SummaryRow> by_collective, by_place, by_communicator;
  std::vector<TotalRow> totals, totals_by_place;
  LatenessReport lateness;
  std::vector<LateGroup> late_groups;
  std::vector<PhasesOfPlace> phases;
  Ending ending;
  TimeUse time_use;
  bool has_alpha = false;   ///< one-way times were measured
  bool is_whole = true;     ///< no call has dropped out of a rank's records
  double rank_seconds = 0;  ///< for which all ranks were recorded, summed
};

/// From what was read and, if wanted, symbolised. `now_unix`: nanoseconds since 1970.
Report report_of(Run run, std::vector<SizeRange> ranges = usual_ranges(),
                 std::int64_t now_unix = unix_now());

/// Returns the time on rank 0's clock before which no record of any rank begins: the zero of files
/// that have all records, not only calls of which several ranks have theirs.
std::int64_t first_arrival(const Report& r);

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
