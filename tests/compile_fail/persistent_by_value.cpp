// SPDX-License-Identifier: BSD-3-Clause
// A persistent call of an element by value: there is no buffer to use again.
#include <papcoll/core.hpp>

// EXPECT: Mistake::an_element_by_value_is_for_blocking_allreduce_reduce_bcast_scan_and_exscan
// EXPECT: papcoll: write allreduce(comm, data)
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, int& element) {
#ifdef PAPCOLL_TEST_CONTROL
  const papcoll::Persistent sum = papcoll::allreduce_init(comm, &element, 1);
#else
  const papcoll::Persistent sum = papcoll::allreduce_init(comm, element);
#endif
}
