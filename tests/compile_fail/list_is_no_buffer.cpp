// The elements of a list are not contiguous.
#include <papcoll/core.hpp>

#include <list>
#include <vector>

// EXPECT: papcoll: no allreduce takes these arguments
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::allreduce(comm, data);
#else
  std::list<int> list(data.begin(), data.end());
  papcoll::allreduce(comm, list);
#endif
}
