#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/call/team_of.hpp>
#include <papcoll/choice/names/explain_call.hpp>

#include <cstddef>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Returns the algorithm that the next call on `comm` would run, and the reason.
///
/// `bytes`: of one rank's block in allgather, gather, scatter, alltoall and reduce_scatter, of the
/// vector otherwise. `traits`: operator, contract, element size, and whatever else the choice
/// depends on. Local: sends nothing. All ranks get the same answer between the same two calls,
/// except for the text on their memory.
///
/// Example:
///
///     const auto why = papcoll::explain(comm, papcoll::Collective::allreduce, 65536);
///     std::puts(why.text().c_str());
template <Team C>
Explanation explain(C&& comm, Collective collective, std::size_t bytes,
                    const CallTraits& traits = {}) {
  return detail::explain_call(detail::core_of(comm), collective, bytes, traits);
}

/// Returns how many of this rank's calls on a team each algorithm has run, in the order of first
/// use. Non-blocking calls count when they start; the phases of a hierarchical call are part of it.
template <Team C>
std::vector<AlgorithmCount> algorithm_counts(C&& comm) {
  return detail::algorithm_counts_of(detail::core_of(comm));
}

}  // namespace papcoll::inline PAPCOLL_ABI
