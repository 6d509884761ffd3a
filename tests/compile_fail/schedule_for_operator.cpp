// A schedule where the operator belongs.
#include <papcoll/algorithm.hpp>
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: an algorithm goes after the operator
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::iallreduce(comm, data, papcoll::sum, papcoll::algorithm(papcoll::KNomial{8})).wait();
#else
  papcoll::iallreduce(comm, data, papcoll::KNomial{8}).wait();
#endif
}
