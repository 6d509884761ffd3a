// SPDX-License-Identifier: BSD-3-Clause
// The name of an algorithm where the operator of a non-blocking call belongs.
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: an_algorithm_goes_after_the_operator_as_in_papcoll_sum_then_papcoll_algorithm
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::iallreduce(comm, data.data(), 1, papcoll::sum, papcoll::algorithm("Ring")).wait();
#else
  papcoll::iallreduce(comm, data.data(), 1, "Ring").wait();
#endif
}
