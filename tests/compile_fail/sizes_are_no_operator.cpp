// SPDX-License-Identifier: BSD-3-Clause
// Sizes without papcoll::counts, where the operator belongs.
#include <papcoll/core.hpp>

#include <cstddef>
#include <vector>

// EXPECT: Mistake::a_range_is_no_operator_and_sizes_of_a_reduce_scatter_go_in_papcoll_counts
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& in, std::vector<int>& out) {
  const std::vector<std::size_t> sizes(2, 1);
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::reduce_scatter(comm, in, out, papcoll::counts{sizes});
#else
  papcoll::reduce_scatter(comm, in, out, sizes);
#endif
}
