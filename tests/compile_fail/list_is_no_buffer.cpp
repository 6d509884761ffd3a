// SPDX-License-Identifier: BSD-3-Clause
// The elements of a list are not contiguous.
#include <papcoll/core.hpp>

#include <list>
#include <vector>

// EXPECT: Mistake::a_buffer_is_a_contiguous_range_or_strided_and_no_vector_of_bool_or_list
// EXPECT: papcoll: write allreduce(comm, data)
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::allreduce(comm, data);
#else
  std::list<int> list(data.begin(), data.end());
  papcoll::allreduce(comm, list);
#endif
}
