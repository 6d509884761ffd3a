// Counts are std::size_t.
#include <papcoll/core.hpp>

#include <vector>

// EXPECT: papcoll: counts are a contiguous range of std::size_t
// ERRORS: 1

void call(papcoll::ThreadTeam::Rank& comm, std::vector<int>& data) {
#ifdef PAPCOLL_TEST_CONTROL
  const std::vector<std::size_t> each(2, 1);
  papcoll::reduce_scatter(comm, data, papcoll::counts{each});
#else
  const std::vector<int> each(2, 1);
  papcoll::reduce_scatter(comm, data, papcoll::counts{each});
#endif
}
