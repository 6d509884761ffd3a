#pragma once

// Calls that name no algorithm: allreduce(comm, data), or only its transport, contract or arrival
// policy. What runs is chosen for each call. Included by papcoll.hpp and core.hpp.
#include <papcoll/entry/entry.hpp>

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/entry/chosen_call.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

template <Collective C>
inline constexpr bool chooses<CollectiveTag<C>> = true;

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
#endif
