#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/choice/names/explanation.hpp>
#include <papcoll/runtime/algorithm_counts.hpp>

#include <cstddef>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

class TeamCore;

namespace detail {

/// What explain() and algorithm_counts() say of a team.
PAPCOLL_DECL Explanation explain_call(TeamCore& team, Collective collective, std::size_t bytes,
                                      const CallTraits& traits);
PAPCOLL_DECL std::vector<AlgorithmCount> algorithm_counts_of(const TeamCore& team);

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/choice/names/explain_call.ipp>
#endif
