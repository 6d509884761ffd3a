// A root that is an int, and the result used.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: no bcast takes these arguments
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  data[0] = papcoll::bcast(comm, 1, papcoll::root{0});
#else
  data[0] = papcoll::bcast(comm, 1, 0);
#endif
}
