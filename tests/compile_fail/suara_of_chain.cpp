// SPDX-License-Identifier: BSD-3-Clause
// A dimension of SUARA's grid whose schedule serves no allreduce.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: Suara runs an allreduce along each dimension of its grid
// EXPECT(clang++): part_serves<
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::allreduce<papcoll::Suara<papcoll::Ring, papcoll::Rabenseifner>>(comm, data);
#else
  papcoll::allreduce<papcoll::Suara<papcoll::Ring, papcoll::Chain>>(comm, data);
#endif
}
