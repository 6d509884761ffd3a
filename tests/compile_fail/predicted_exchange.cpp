// SPDX-License-Identifier: BSD-3-Clause
// An arrival-driven schedule in predicted order.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: this schedule does not run under this arrival policy
// EXPECT: unmet::fitting_arrival_policy<
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::allreduce<papcoll::PredictedOrder<>, papcoll::Binomial>(comm, data);
#else
  papcoll::allreduce<papcoll::PredictedOrder<>, papcoll::Exchange>(comm, data);
#endif
}
