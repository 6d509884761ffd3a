// No root.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: no bcast takes these arguments
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::bcast(comm, data, papcoll::root{0});
#else
  papcoll::bcast(comm, data);
#endif
}
