// SPDX-License-Identifier: BSD-3-Clause
// A schedule by the order of arrival under a contract that forbids just that.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: this schedule keeps only weaker contracts, and the call asks for
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<float>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::allreduce<papcoll::CombiningTree, papcoll::Reproducible>(comm, data);
#else
  papcoll::allreduce<papcoll::SplitTail, papcoll::Reproducible>(comm, data);
#endif
}
