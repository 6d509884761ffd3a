// SPDX-License-Identifier: BSD-3-Clause
// Hierarchical where what chooses has declared it, and its own header is not included.
#include <papcoll/core.hpp>

#include <vector>

#ifdef PAPCOLL_TEST_CONTROL
#include <papcoll/hierarchical.hpp>
#endif

// EXPECT: papcoll: Hierarchical is named, and its header is not included: include
// EXPECT: hierarchical_is_included<
// ERRORS: 2

using namespace papcoll;

void call(ThreadTeam::Rank& comm, std::vector<int>& data) {
  allreduce<Hierarchical<Exchange, Ring>>(comm, data);
#ifdef PAPCOLL_TEST_CONTROL
  bcast<Hierarchical<Exchange, Ring>, Reproducible>(comm, data, root{0});
#else
  ibcast<Hierarchical<Exchange, Ring>, Reproducible>(comm, data, root{0}).wait();
#endif
}
