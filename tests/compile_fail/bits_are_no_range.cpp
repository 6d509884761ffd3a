// SPDX-License-Identifier: BSD-3-Clause
// std::vector<bool> has no elements that stand in memory one after the other.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: Mistake::a_buffer_is_a_contiguous_range_or_strided_and_no_vector_of_bool_or_list
// EXPECT: papcoll: write allreduce(comm, data)
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::allreduce(comm, data);
#else
  papcoll::allreduce(comm, std::vector<bool>(data.size()));
#endif
}
