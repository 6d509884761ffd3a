// std::vector<bool> has no elements that stand in memory one after the other.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: no allreduce takes these arguments
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::allreduce(comm, data);
#else
  papcoll::allreduce(comm, std::vector<bool>(data.size()));
#endif
}
