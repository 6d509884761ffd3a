// SPDX-License-Identifier: BSD-3-Clause
// Dimensions of SUARA's grid that are no static schedules.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: Suara runs an allreduce along each dimension of its grid, and one of
// EXPECT(clang++): part_serves<papcoll::SplitTail,
// ERRORS: 2

using namespace papcoll;

void call(ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  allreduce<Suara<Ring, RecursiveDoubling>>(comm, data);
  iallreduce<Suara<Ring, Ring>>(comm, data).wait();
#else
  allreduce<Suara<Ring, SplitTail>>(comm, data);
  iallreduce<Suara<ThreadTransport, Ring>>(comm, data).wait();
#endif
}
