#pragma once

#include <papcoll/base/pointers.hpp>
#include <papcoll/runtime/thread_team_state.hpp>
#include <papcoll/thread_team.hpp>

namespace papcoll::inline PAPCOLL_ABI::detail {

PAPCOLL_DECL detail::Shared<ThreadTeamState> thread_team_state(int ranks, const Options& options) {
  auto team = detail::make_shared<ThreadTeamState>(ranks, options);
  for (int r = 0; r < ranks; ++r) team->core(r).set_owner(team);
  return team;
}

PAPCOLL_DECL TeamCore& core_of_thread(ThreadTeamState& team, int rank) noexcept {
  return team.core(rank);
}

PAPCOLL_DECL void run_threads(ThreadTeamState& team, void (*body)(void*, int), void* context) {
  team.run(body, context);
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
