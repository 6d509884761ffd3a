// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Nodes whose ranks are late together: none of these is last alone.

#include <papcoll/report/calls.hpp>
#include <papcoll/report/clocks.hpp>
#include <papcoll/report/imbalance.hpp>
#include <papcoll/report/lateness.hpp>
#include <papcoll/report/run.hpp>

#include <cstdint>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

/// The ranks of one or more nodes that are late together at a place.
struct LateGroup {
  std::vector<std::int32_t> ranks;
  std::uint32_t place = profile::no_entry;
  std::uint32_t communicator = 0;
  std::uint64_t calls = 0;
  std::uint64_t times = 0;    ///< in which the one of them came late that did so least often
  double typical = 0;         ///< median of what they come after all others, nanoseconds
  double cost = 0;            ///< what each other rank waited, as a part of the records' time
  std::uint32_t example = 0;  ///< a call, in Calls::calls
};

/// The groups of ranks that are named together: those of whole nodes. In a call the late ones are
/// those after the largest gap of the later half, if it is larger than what either side is apart;
/// the rest of the rule is that of lateness_of(), whose span this takes.
std::vector<LateGroup> late_groups_of(const Run& run, const Clocks& clocks, const Calls& calls,
                                      const std::vector<Imbalance>& imbalances, double span,
                                      const NamingRule& rule = {});

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
