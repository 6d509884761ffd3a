// SPDX-License-Identifier: BSD-3-Clause
// A schedule where the operator belongs.
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: an_algorithm_goes_after_the_operator_as_in_papcoll_sum_then_papcoll_algorithm
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::iallreduce(comm, data, papcoll::sum, papcoll::algorithm(papcoll::KNomial{8})).wait();
#else
  papcoll::iallreduce(comm, data, papcoll::KNomial{8}).wait();
#endif
}
