// SPDX-License-Identifier: BSD-3-Clause
// A schedule that weighs predictions, where there are none.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: this schedule needs to know how late each rank will be
// EXPECT: unmet::forecast<
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::iallreduce<papcoll::PreReducedRing>(comm, data).wait();
#else
  papcoll::iallreduce<papcoll::PreReducedRing, papcoll::StaticOrder>(comm, data).wait();
#endif
}
