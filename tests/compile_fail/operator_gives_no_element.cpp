// An operator of two elements that makes something else of them.
#include <papcoll/core.hpp>

#include <string>
#include <vector>

// EXPECT: papcoll: this operator does not make one element of two of this type
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::allreduce(comm, data, [](int a, int b) { return a + b; });
#else
  papcoll::allreduce(comm, data, [](int a, int b) { return std::to_string(a + b); });
#endif
}
