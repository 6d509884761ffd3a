// SPDX-License-Identifier: BSD-3-Clause
// Non-contiguous elements that may not be written, as an output.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: Mistake::the_output_is_an_lvalue_or_a_span_of_non_const_elements
// EXPECT: Mistake::an_in_place_buffer_is_written_so_pass_an_lvalue_or_a_span
// ERRORS: 2

void calls(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  int* const p = data.data();
#else
  const int* const p = data.data();
#endif
  papcoll::alltoall(comm, data, papcoll::strided(p, 2, 1, 2));
  papcoll::bcast(comm, papcoll::indexed(p, data, data), papcoll::root{0});
}
