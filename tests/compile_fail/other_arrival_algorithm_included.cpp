// SPDX-License-Identifier: BSD-3-Clause
// An arrival policy, where the header of another arrival-driven algorithm is included.
#undef PAPCOLL_COMPILED  // such files need not include it
#include <papcoll/algorithms/arrival/exchange.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/thread_team.hpp>

#include <vector>

#ifdef PAPCOLL_TEST_CONTROL
#include <papcoll/algorithms/arrival/leader_fan.hpp>
#endif

// EXPECT: papcoll: an algorithm is named, and its header is not included
// EXPECT: DynamicLeader>

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
  papcoll::allreduce<papcoll::DynamicLeader>(comm, data);
}
