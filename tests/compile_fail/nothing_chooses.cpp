// SPDX-License-Identifier: BSD-3-Clause
// A call that names no algorithm, where the header that chooses one is not included.
#undef PAPCOLL_COMPILED  // such files need not include it
#include <papcoll/allreduce.hpp>
#include <papcoll/thread_team.hpp>

#include <vector>

#ifdef PAPCOLL_TEST_CONTROL
#include <papcoll/automatic.hpp>
#endif

// EXPECT: papcoll: this call names no algorithm, and nothing that chooses one is included
// EXPECT: include <papcoll/automatic.hpp>
// EXPECT: call_can_be_chosen_for<
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
  papcoll::allreduce(comm, data);
}
