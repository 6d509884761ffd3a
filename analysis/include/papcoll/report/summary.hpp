// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Imbalances of many calls, summed up: of all of them, and by collective and size, place and
// communicator.

#include <papcoll/report/calls.hpp>
#include <papcoll/report/imbalance.hpp>
#include <papcoll/report/run.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

/// Sizes of messages that are looked at together.
struct SizeRange {
  std::string name;
  std::uint64_t most;  ///< bytes that the largest of them has
};

/// The ranges of P. Alizadeh's thesis (2021), section 3.2.4: up to 1 KB, up to 1 MB, and more.
std::vector<SizeRange> usual_ranges();

/// Position of the range that has a size; the last one has no end.
std::size_t range_of(const std::vector<SizeRange>& ranges, std::uint64_t bytes);

/// What some numbers are like.
struct Distribution {
  std::size_t count = 0;
  double mean = 0;
  double median = 0;
  double p90 = 0;  ///< nine in ten are below
  double p99 = 0;
  double worst = 0;
};

/// The values are left in another order.
Distribution distribution_of(std::vector<double>& values);

/// Imbalances of some calls. Times in nanoseconds; factors are of α, see Imbalance.
struct Summary {
  std::size_t calls = 0;     ///< those that the figures are of
  std::size_t balanced = 0;  ///< of these: Ω was below what the clocks resolve
  double own = 0;            ///< what ranks waited for the last one alone, summed
  Distribution omega, delta, omega_factor, delta_factor;
  Distribution node_omega, node_delta, node_omega_factor, node_delta_factor;
};

/// A summary and what it is of.
struct SummaryRow {
  profile::MpiCollective collective{};             ///< by_collective()
  std::uint32_t flags = 0;                         ///< by_collective()
  std::size_t range = 0;                           ///< by_collective()
  std::uint32_t place = profile::no_entry;         ///< by_place()
  std::uint32_t communicator = profile::no_entry;  ///< by_communicator()
  Summary summary;
};

/// Returns the summary of the calls with these positions.
Summary summarise(const std::vector<Imbalance>& all, const std::vector<std::uint32_t>& positions);

/// Positions of all calls.
std::vector<std::uint32_t> all_positions(const Calls& calls);

/// A row for each collective and size.
std::vector<SummaryRow> by_collective(const Calls& calls, const std::vector<Imbalance>& all,
                                      const std::vector<SizeRange>& ranges);

/// A row for each place.
std::vector<SummaryRow> by_place(const Calls& calls, const std::vector<Imbalance>& all);

/// A row for each communicator.
std::vector<SummaryRow> by_communicator(const Calls& calls, const std::vector<Imbalance>& all);

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
