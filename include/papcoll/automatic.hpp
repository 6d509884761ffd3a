#pragma once

// Calls that name no algorithm: allreduce(comm, data), or only its transport, contract or arrival
// policy. What runs is chosen for each call. Included by papcoll.hpp and core.hpp.
#include <papcoll/entry/entry.hpp>

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/entry/chosen_call.hpp>

namespace papcoll::inline PAPCOLL_ABI::detail {

template <Collective C>
inline constexpr bool chooses<CollectiveTag<C>> = true;

}  // namespace papcoll::inline PAPCOLL_ABI::detail
#endif
