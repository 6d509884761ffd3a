// SPDX-License-Identifier: BSD-3-Clause
// SUARA without a grid.
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: Suara needs a schedule for each of two or more dimensions: write Suara<Ring, Rab
// ERRORS: 2

using namespace papcoll;

void call(ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  allreduce<Suara<Ring, Rabenseifner>>(comm, data);
  allreduce(comm, data, sum, algorithm(Suara<Ring, Rabenseifner>{{8}}));
#else
  allreduce<Suara<>>(comm, data);
  allreduce(comm, data, sum, algorithm(Suara<Ring>{{8}}));
#endif
}
