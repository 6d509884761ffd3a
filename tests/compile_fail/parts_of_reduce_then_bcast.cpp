// SPDX-License-Identifier: BSD-3-Clause
// A reduce and a bcast by schedules that serve none.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: ReduceThenBcast begins with a reduce, and its first schedule is no static one
// EXPECT(clang++): part_serves<papcoll::ReorderedTwoTree,
// EXPECT: papcoll: ReduceThenBcast ends with a bcast, and its second schedule is no static one
// ERRORS: 2

using namespace papcoll;

void call(ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  allreduce<ReduceThenBcast<TwoTreeComplete, ReorderedTwoTree>>(comm, data);
  iallreduce<ReduceThenBcast<Chain, Chain>>(comm, data).wait();
#else
  allreduce<ReduceThenBcast<ReorderedTwoTree, TwoTreeComplete>>(comm, data);
  iallreduce<ReduceThenBcast<Chain, DynamicLeader>>(comm, data).wait();
#endif
}
