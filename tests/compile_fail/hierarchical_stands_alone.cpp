// SPDX-License-Identifier: BSD-3-Clause
// Other policies beside Hierarchical, and parts that are none.
#include <papcoll/core.hpp>
#include <papcoll/hierarchical.hpp>

#include <vector>

// EXPECT: papcoll: Hierarchical is made of whole algorithms, so only a contract stands
// EXPECT: unmet::hierarchical_stands_alone<
// EXPECT: papcoll: this algorithm moves only while its rank waits
// EXPECT: papcoll: a numerical contract is that of the whole call
// EXPECT: papcoll: these are levels within a level of Hierarchical
// EXPECT: papcoll: two schedules for one collective
// EXPECT: papcoll: this schedule combines contributions out of rank order
// ERRORS: 7

using namespace papcoll;

void call(ThreadTeam::Rank& comm, std::vector<int>& data) {
  using Two = Hierarchical<Policies<DynamicLeader, ThreadTransport>, Policies<Ring>>;
#ifdef PAPCOLL_TEST_CONTROL
  allreduce<Two>(comm, data);
  barrier<Two, Reproducible>(comm);
  barrier<Hierarchical<Exchange, Hierarchical<Linear, Binomial>>>(comm);
  allreduce<Hierarchical<Exchange, Linear>>(comm, data, [](int a, int b) { return a - b; });
#else
  allreduce<Two, ThreadTransport>(comm, data);
  bcast<Two, DynamicLeader>(comm, data, root{0});
  ibarrier<Two>(comm).wait();
  barrier<Hierarchical<Policies<Exchange, Fast>, Linear>>(comm);
  barrier<Hierarchical<Hierarchical<Exchange, Linear>, Linear>>(comm);
  barrier<Two, Linear>(comm);
  allreduce<Two>(comm, data, [](int a, int b) { return a - b; });
#endif
}
