// SPDX-License-Identifier: BSD-3-Clause
// An operator of two elements that makes something else of them.
#include <papcoll/core.hpp>

#include <string>
#include <vector>

// EXPECT: Mistake::this_operator_does_not_make_one_element_of_two_of_this_type
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::allreduce(comm, data, [](int a, int b) { return a + b; });
#else
  papcoll::allreduce(comm, data, [](int a, int b) { return std::to_string(a + b); });
#endif
}
