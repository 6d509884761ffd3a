// Elements that lie apart and may not be written, as an output.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: the output of a collective is
// EXPECT: papcoll: an in-place collective writes its buffer
// ERRORS: 2

void calls(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  int* const p = data.data();
#else
  const int* const p = data.data();
#endif
  papcoll::alltoall(comm, data, papcoll::strided(p, 2, 1, 2));
  papcoll::bcast(comm, papcoll::indexed(p, data, data), papcoll::root{0});
}
