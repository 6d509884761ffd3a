// SPDX-License-Identifier: BSD-3-Clause
// No root.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: Mistake::a_root_goes_right_after_the_buffers_as_in_papcoll_root_0
// EXPECT: papcoll: write bcast(comm, data, papcoll::root{0}
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::bcast(comm, data, papcoll::root{0});
#else
  papcoll::bcast(comm, data);
#endif
}
