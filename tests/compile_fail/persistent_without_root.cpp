// No root.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: no bcast_init takes these arguments
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  const papcoll::Persistent bcast = papcoll::bcast_init(comm, data, papcoll::root{0});
#else
  const papcoll::Persistent bcast = papcoll::bcast_init(comm, data);
#endif
}
