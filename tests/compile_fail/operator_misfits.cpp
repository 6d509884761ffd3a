// SPDX-License-Identifier: BSD-3-Clause
// An operator of other elements.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: Mistake::this_operator_does_not_make_one_element_of_two_of_this_type
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::allreduce(comm, data);
#else
  papcoll::allreduce(comm, data, papcoll::minloc);
#endif
}
