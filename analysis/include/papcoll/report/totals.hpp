// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Calls and time of the whole run, from sums that also have what dropped out of the rings.

#include <papcoll/report/run.hpp>
#include <papcoll/report/summary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

/// Calls of a collective, of a place and a range of sizes, summed over the ranks.
struct TotalRow {
  profile::MpiCollective collective{};
  std::uint32_t flags = 0;
  std::size_t range = 0;
  std::uint32_t place = profile::no_entry;  ///< totals_by_place() only
  std::uint64_t calls = 0;  ///< that have returned; a call of n ranks counts n times
  double time = 0;          ///< in them, seconds
  double bytes = 0;
  double longest = 0;  ///< seconds of one
  double moved = 0;    ///< of the time, seconds that corrections of clocks added or took away

  /// In the mean of the calls, of which there is one.
  std::uint64_t bytes_each() const noexcept {
    constexpr double most = 1e18;
    return static_cast<std::uint64_t>(std::min(bytes / static_cast<double>(calls), most));
  }
};

/// What there is of records, and what is lost.
struct Coverage {
  std::uint64_t begun = 0;     ///< calls of all ranks
  std::uint64_t kept = 0;      ///< of these there are records
  std::uint64_t complete = 0;  ///< calls of which there is a record of each rank
};

/// Returns the totals by collective and range of sizes, those that took longest first.
std::vector<TotalRow> totals_by_size(const Run& run, const Clocks& clocks,
                                     const std::vector<SizeRange>& ranges);

/// Returns the totals by place and collective, those that took longest first; `range` says nothing.
std::vector<TotalRow> totals_by_place(const Run& run, const Clocks& clocks);

/// Counts records.
Coverage coverage_of(const Run& run, const Calls& calls);

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
