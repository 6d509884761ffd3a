// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// How far apart the ranks of a call arrive, and what that makes them wait.

#include <papcoll/report/calls.hpp>
#include <papcoll/report/clocks.hpp>
#include <papcoll/report/run.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

/// The imbalance of one call; times in nanoseconds. Only complete calls of at least two ranks have
/// one, in which all ranks called the same. Differences between ranks are what is left of them
/// beyond the clocks' bound: it is so much at least.
struct Imbalance {
  bool known = false;
  bool decided = false;    ///< the last one came so much later that its clock leaves no doubt
  double omega = 0;        ///< Ω: last less first arrival
  double delta = 0;        ///< Δ̄: mean of |arrival − mean arrival|; 0 with omega
  double node_omega = -1;  ///< Ω of each node with two ranks or more, averaged; −1: there is none
  double node_delta = -1;
  double alpha = 0;       ///< one-way time of a message of the call's size; 0: not measured
  double node_alpha = 0;  ///< the same on a node
  double bound = 0;       ///< what differences of two arrivals may be wrong by at most
  double omega_most = 0;  ///< Ω is no more than this
  double gap = 0;         ///< last less second-last arrival
  double gap_most = 0;    ///< this is no more, whoever came last
  double others = 0;      ///< the same spread of those who wait for the last one
  double own = 0;         ///< what the others waited during the gap, summed over them
  double waited = 0;      ///< what they waited for the last one in all, summed over them
  double waiting = 0;     ///< what ranks waited until the last one came, whoever it was, summed
  double in_call = 0;     ///< time in the call, summed over the ranks; 0 while one is inside
  /// How much longer the last one took since it left its call before than the others did in the
  /// median; infinite if that is not known. Who left a call late may come late without fault.
  double excess = 0;
  std::uint32_t last = profile::no_entry;  ///< the member that came last
};

namespace detail {

/// Returns for how long a member had been outside of calls as it came to this one, in nanoseconds;
/// less than 0: that is not known.
double outside_before(const Run& run, const Calls& calls, const Call& call, std::size_t member);

}  // namespace detail

/// Returns the imbalance of each of Calls::calls.
std::vector<Imbalance> imbalances(const Run& run, const Clocks& clocks, const Calls& calls);

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
