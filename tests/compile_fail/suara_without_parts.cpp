// Policies that are made of others, without these.
#include <papcoll/core.hpp>
#include <papcoll/hierarchical.hpp>

#include <vector>

// EXPECT: papcoll: this policy is made of others, and they are missing: write Suara<Ring, Raben
// EXPECT: policy_has_its_parts<papcoll::Suara>
// EXPECT: policy_has_its_parts<papcoll::ReduceThenBcast>
// EXPECT: policy_has_its_parts<papcoll::Hierarchical>
// ERRORS: 3

using namespace papcoll;

void call(ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  allreduce<AnySuara>(comm, data);
  allreduce<AnySuara, Fast>(comm, data, [](int a, int b) { return a - b; });
  iallreduce<RankConsistent, ThreadTransport, ReduceThenBcast<Binomial, Chain>>(comm, data).wait();
  bcast<Hierarchical<Exchange, Binomial>>(comm, data, root{0});
#else
  allreduce<Suara, ThreadTransport>(comm, data);
  allreduce<ThreadTransport, Suara>(comm, data);
  iallreduce<RankConsistent, ThreadTransport, ReduceThenBcast>(comm, data).wait();
  bcast<Hierarchical>(comm, data, root{0});
#endif
}
