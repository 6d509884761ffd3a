// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/totals.hpp>

#include <papcoll/report/run.hpp>
#include <papcoll/report/summary.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {
namespace {

/// A range of a total is that of the mean of its sizes, which differ by less than two times.
template <class Key>
std::vector<TotalRow> totals_by(const Run& run, const Clocks& clocks,
                                const std::vector<SizeRange>& ranges, const Key& key) {
  std::map<decltype(key(TotalRow{})), TotalRow> rows;
  constexpr double nanosecond = 1e-9;
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    const RankTrace& r = run.ranks[i];
    const bool is_corrected = clocks.is_corrected(i);
    for (const profile::Total& t : r.totals) {
      if (t.calls == 0) continue;
      const profile::TotalKey k = profile::unpacked(t.key);
      TotalRow row;
      row.collective = k.collective;
      row.flags = k.flags;
      row.range = range_of(ranges, t.bytes / t.calls);
      row.place = k.site < r.places.size() ? r.places[k.site] : profile::no_entry;
      TotalRow& sum = rows.try_emplace(key(row), row).first->second;
      sum.calls += t.calls;
      sum.time += static_cast<double>(t.time) * nanosecond;
      sum.bytes += static_cast<double>(t.bytes);
      if (is_corrected) continue;
      sum.longest = std::max(sum.longest, static_cast<double>(t.longest) * nanosecond);
    }
    if (!is_corrected) continue;
    for (const profile::Record& record : r.records) {  // a clock may have jumped within a call
      TotalRow row;
      row.collective = static_cast<profile::MpiCollective>(record.collective);
      row.flags = kind_flags(record);
      row.range = range_of(ranges, record.bytes);
      row.place = r.place(record);
      const auto found = rows.find(key(row));
      if (record.exit == 0 || found == rows.end()) continue;
      TotalRow& sum = found->second;
      const double time =
          static_cast<double>(clocks.global(i, record.exit) - clocks.global(i, record.arrival)) *
          nanosecond;
      const double moved = time - static_cast<double>(record.exit - record.arrival) * nanosecond;
      sum.time = std::max(0.0, sum.time + moved);
      sum.moved += std::fabs(moved);
      sum.longest = std::max(sum.longest, time);
    }
  }
  std::vector<TotalRow> all;
  all.reserve(rows.size());
  for (const auto& [k, row] : rows) all.push_back(row);
  std::stable_sort(all.begin(), all.end(),
                   [](const TotalRow& a, const TotalRow& b) { return a.time > b.time; });
  return all;
}
}  // namespace
}  // namespace detail

std::vector<TotalRow> totals_by_size(const Run& run, const Clocks& clocks,
                                     const std::vector<SizeRange>& ranges) {
  return detail::totals_by(run, clocks, ranges, [](const TotalRow& r) {
    return std::tuple{r.collective, r.flags, r.range};
  });
}

std::vector<TotalRow> totals_by_place(const Run& run, const Clocks& clocks) {
  return detail::totals_by(run, clocks, {usual_ranges().back()}, [](const TotalRow& r) {
    return std::tuple{r.place, r.collective, r.flags};
  });
}

Coverage coverage_of(const Run& run, const Calls& calls) {
  Coverage c;
  for (const RankTrace& r : run.ranks) {
    c.begun += r.begun;
    c.kept += r.records.size();
  }
  c.complete = static_cast<std::uint64_t>(std::count_if(
      calls.calls.begin(), calls.calls.end(), [](const Call& call) { return call.complete; }));
  return c;
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
