#pragma once

#include <papcoll/call/team_of.hpp>

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/call/chosen_call.hpp>

namespace papcoll::inline PAPCOLL_ABI::detail {

template <Collective C>
inline constexpr bool chooses<CollectiveTag<C>> = true;

}  // namespace papcoll::inline PAPCOLL_ABI::detail
#endif
