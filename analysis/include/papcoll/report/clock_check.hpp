// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// No rank leaves a barrier, an allreduce or an allgather before the last rank has arrived. Clocks
// by which a rank does cannot be right, and each such call says how far off they are at most:
//
//     first exit of the others   ≥  arrival + correction        exit + correction  ≥  last arrival
//                                                                                  of the others
//
// A clock that is wrong is corrected by what all calls leave open. What they leave open changes by
// no more than clocks drift, but for jumps. Method: as for logical clocks, Lamport, "Time, clocks,
// and the ordering of events in a distributed system", CACM 21 (1978); for collectives of MPI,
// Becker, Rabenseifner, Wolf, "Implications of non-constant clock drifts for the timestamps of
// concurrent events", CLUSTER 2008.

#include <papcoll/report/calls.hpp>
#include <papcoll/report/clocks.hpp>
#include <papcoll/report/run.hpp>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {

/// Returns true if no rank can have left the call before all had arrived.
bool is_left_by_nobody_before_all_came(const Run& run, const Call& c);

}  // namespace detail

/// Joins the records to calls, by clocks that do not contradict them: those that do are corrected
/// in `clocks`, and are in Clocks::faults().
Calls checked_calls(const Run& run, Clocks& clocks);

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
