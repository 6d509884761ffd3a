// Other policies beside a composite, and parts that are none.
#include <papcoll/core.hpp>
#include <papcoll/hierarchical.hpp>

#include <vector>

// EXPECT: papcoll: Hierarchical is made of whole algorithms, so no arrival policy and no transport
// EXPECT: composite_stands_alone<
// EXPECT: papcoll: Hierarchical cannot be non-blocking
// EXPECT: papcoll: a numerical contract is that of a whole call
// EXPECT: papcoll: the first algorithm of Hierarchical is that of the inmost groups
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
