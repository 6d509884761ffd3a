// An operator of other elements.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: this operator does not make one element of two of this type
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::allreduce(comm, data);
#else
  papcoll::allreduce(comm, data, papcoll::minloc);
#endif
}
