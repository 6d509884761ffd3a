// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/report.hpp>

#include <papcoll/report/calls.hpp>
#include <papcoll/report/clock_check.hpp>
#include <papcoll/report/clocks.hpp>
#include <papcoll/report/imbalance.hpp>
#include <papcoll/report/late_groups.hpp>
#include <papcoll/report/lateness.hpp>
#include <papcoll/report/one_way.hpp>
#include <papcoll/report/phases.hpp>
#include <papcoll/report/read.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/report/summary.hpp>
#include <papcoll/report/symbols.hpp>
#include <papcoll/report/time_use.hpp>
#include <papcoll/report/totals.hpp>
#include <papcoll/report/unfinished.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {
namespace {

/// Returns the seconds from the begin of recording to MPI_Finalize, until now if it runs, or to the
/// last sign of life.
double recorded_seconds(const RankTrace& r, std::int64_t now_unix, const Clocks& clocks,
                        std::size_t trace) {
  std::uint64_t end = r.header.ended;
  if (end == 0 && r.alive && r.header.began_unix > 0) {
    end = r.header.began +
          static_cast<std::uint64_t>(std::max<std::int64_t>(0, now_unix - r.header.began_unix));
  } else if (end == 0) {
    for (const profile::Record& record : r.records) {
      end = std::max({end, record.arrival, record.exit});
    }
  }
  constexpr double nanosecond = 1e-9;
  if (end == 0) return 0;
  const std::int64_t time = clocks.global(trace, end) - clocks.global(trace, r.header.began);
  return static_cast<double>(std::max<std::int64_t>(0, time)) * nanosecond;
}
}  // namespace
}  // namespace detail

Report report_of(Run run, std::vector<SizeRange> ranges, std::int64_t now_unix) {
  Report r{std::move(run), std::move(ranges)};
  r.calls = checked_calls(r.run, r.clocks);
  r.imbalances = imbalances(r.run, r.clocks, r.calls);
  r.coverage = coverage_of(r.run, r.calls);
  r.all = summarise(r.imbalances, all_positions(r.calls));
  r.by_collective = by_collective(r.calls, r.imbalances, r.ranges);
  r.by_place = by_place(r.calls, r.imbalances);
  r.by_communicator = by_communicator(r.calls, r.imbalances);
  r.totals = totals_by_size(r.run, r.clocks, r.ranges);
  r.totals_by_place = totals_by_place(r.run, r.clocks);
  for (std::size_t i = 0; i < r.run.ranks.size(); ++i) {
    const RankTrace& rank = r.run.ranks[i];
    r.rank_seconds += detail::recorded_seconds(rank, now_unix, r.clocks, i);
    r.is_whole = r.is_whole && rank.begun <= rank.header.records;
  }
  constexpr double second = 1e9;
  const double recorded = r.rank_seconds / static_cast<double>(r.run.ranks.size()) * second;
  r.lateness = lateness_of(r.run, r.calls, r.imbalances, {}, r.is_whole ? recorded : 0);
  r.late_groups = late_groups_of(r.run, r.clocks, r.calls, r.imbalances, r.lateness.span);
  r.phases = phases_of(r.calls, r.imbalances);
  r.ending = ending_of(r.run, r.calls, now_unix);
  r.time_use = time_use_of(r.run, r.calls, r.imbalances, r.totals_by_place, r.rank_seconds);
  r.has_alpha = one_way_of(r.run).measured();
  return r;
}

std::int64_t first_arrival(const Report& r) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < r.run.ranks.size(); ++i) {
    for (const profile::Record& record : r.run.ranks[i].records) {
      first = std::min(first, r.clocks.global(i, record.arrival));
    }
  }
  return first;
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
