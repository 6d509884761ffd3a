// SPDX-License-Identifier: BSD-3-Clause
// Policies that are made of others, without these.
#include <papcoll/core.hpp>
#include <papcoll/hierarchical.hpp>

#include <vector>

// EXPECT(g++): this_policy_is_made_of_others_and_they_are_missing<Suara>
// EXPECT(clang++): this_policy_is_made_of_others_and_they_are_missing<papcoll::Suara>
// EXPECT(g++): this_policy_is_made_of_others_and_they_are_missing<ReduceThenBcast>
// EXPECT(clang++): this_policy_is_made_of_others_and_they_are_missing<papcoll::ReduceThenBcast>
// EXPECT(g++): this_policy_is_made_of_others_and_they_are_missing<Hierarchical>
// EXPECT(clang++): this_policy_is_made_of_others_and_they_are_missing<papcoll::Hierarchical>
// ERRORS: 4

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
