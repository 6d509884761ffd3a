// SPDX-License-Identifier: BSD-3-Clause
// Counts are integers, of any type.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: counts are a contiguous range of integers, one for each rank
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  const std::vector<int> each(2, 1);
  papcoll::reduce_scatter(comm, data, papcoll::counts{each});
#else
  const std::vector<double> each(2, 1);
  papcoll::reduce_scatter(comm, data, papcoll::counts{each});
#endif
}
