// Sizes without papcoll::counts, where the operator belongs.
#include <papcoll/core.hpp>

#include <cstddef>
#include <vector>

// EXPECT: papcoll: a range is no operator: sizes of a reduce_scatter go in papcoll::counts{sizes}
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& in, std::vector<int>& out) {
  const std::vector<std::size_t> sizes(2, 1);
#ifdef PAPCOLL_TEST_CONTROL
  papcoll::reduce_scatter(comm, in, out, papcoll::counts{sizes});
#else
  papcoll::reduce_scatter(comm, in, out, sizes);
#endif
}
