// SPDX-License-Identifier: BSD-3-Clause
// An algorithm that is named, where its header is not included.
#undef PAPCOLL_COMPILED  // such files need not include it
#include <papcoll/allreduce.hpp>
#include <papcoll/thread_team.hpp>

#include <vector>

#ifdef PAPCOLL_TEST_CONTROL
#include <papcoll/algorithms/static/rabenseifner.hpp>
#endif

// EXPECT: papcoll: an algorithm is named, and its header is not included
// EXPECT: algorithm_is_included<false, papcoll::
// EXPECT: Rabenseifner>
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
  papcoll::allreduce<papcoll::Rabenseifner>(comm, data);
}
