#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/call/team_of.hpp>
#include <papcoll/choice/names/explain_call.hpp>

#include <cstddef>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// What would run if the team's next call were this one, and why. `bytes` as the call counts: of a
/// rank's contribution for allgather, gather, scatter and reduce_scatter. Local: nothing is sent.
/// All ranks get the same answer between the same two calls, except what they say of their memory.
template <Team C>
Explanation explain(C&& comm, Collective collective, std::size_t bytes,
                    const CallTraits& traits = {}) {
  return detail::explain_call(detail::core_of(comm), collective, bytes, traits);
}

/// How many of this rank's calls on a team ran by which algorithm so far, in the order in which the
/// algorithms were first met. Non-blocking calls count when they start; what a hierarchical call
/// does within a node and between them is a part of it.
template <Team C>
std::vector<AlgorithmCount> algorithm_counts(C&& comm) {
  return detail::algorithm_counts_of(detail::core_of(comm));
}

}  // namespace papcoll::inline PAPCOLL_ABI
