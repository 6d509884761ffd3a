// A persistent call of an element by value: there is no buffer to use again.
#include <papcoll/core.hpp>

// EXPECT: papcoll: no allreduce_init takes these arguments: write allreduce_init(comm, data
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, int& element) {
#ifdef PAPCOLL_TEST_CONTROL
  const papcoll::Persistent sum = papcoll::allreduce_init(comm, &element, 1);
#else
  const papcoll::Persistent sum = papcoll::allreduce_init(comm, element);
#endif
}
