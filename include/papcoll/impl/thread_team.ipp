#pragma once

#include <papcoll/runtime/thread_team_state.hpp>
#include <papcoll/thread_team.hpp>

#include <memory>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

PAPCOLL_DECL std::shared_ptr<ThreadTeamState> thread_team_state(int ranks, const Options& options) {
  auto team = std::make_shared<ThreadTeamState>(ranks, options);
  for (int r = 0; r < ranks; ++r) team->core(r).set_owner(team);
  return team;
}

PAPCOLL_DECL TeamCore& core_of_thread(ThreadTeamState& team, int rank) noexcept {
  return team.core(rank);
}

PAPCOLL_DECL void run_threads(ThreadTeamState& team, void (*body)(void*, int), void* context) {
  team.run(body, context);
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
