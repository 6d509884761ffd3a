// SPDX-License-Identifier: BSD-3-Clause
// The name of an algorithm where the output belongs.
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: Mistake::text_is_no_output_so_write_papcoll_algorithm_as_the_last_argument
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::allreduce(comm, data, papcoll::sum, papcoll::algorithm("Ring"));
#else
  papcoll::allreduce(comm, data, "Ring");
#endif
}
