// SPDX-License-Identifier: BSD-3-Clause
// Hierarchical without its header, where no other declares what it is.
#include <papcoll/algorithms/arrival/exchange.hpp>
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/thread_team.hpp>

#include <vector>

#ifdef PAPCOLL_TEST_CONTROL
#include <papcoll/hierarchical.hpp>
#endif

// EXPECT: papcoll: Hierarchical is named, and its header is not included: include
// EXPECT: <papcoll/hierarchical.hpp>
// EXPECT: hierarchical_is_included<
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
  papcoll::allreduce<papcoll::Hierarchical<papcoll::Exchange, papcoll::Ring>>(comm, data);
}
