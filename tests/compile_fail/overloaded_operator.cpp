// SPDX-License-Identifier: BSD-3-Clause
// A function that is overloaded, where the operator belongs.
#include <papcoll/core.hpp>

#include <algorithm>
#include <vector>

// EXPECT: Mistake::an_overloaded_function_such_as_std_max_is_no_operator_so_pass_papcoll_max
// EXPECT: papcoll: write allreduce(comm, data)

void call(papcoll::ThreadTeam::Rank& comm, std::vector<double>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::allreduce(comm, data, papcoll::max);
#else
  papcoll::allreduce(comm, data, std::max<double>);
#endif
}
