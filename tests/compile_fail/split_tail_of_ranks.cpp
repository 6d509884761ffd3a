// SPDX-License-Identifier: BSD-3-Clause
// A schedule by tickets under an arrival policy that draws none.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: this schedule goes by the order in which ranks arrive, and this arrival policy
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<float>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::allreduce<papcoll::SplitTail, papcoll::ArrivalOrder>(comm, data);
#else
  papcoll::allreduce<papcoll::SplitTail, papcoll::StaticOrder>(comm, data);
#endif
}
