#include "catch.hpp"
#include "machines.hpp"
#include "matrix.hpp"
#include "sanitizer.hpp"

#include <papcoll/thread_team.hpp>

#include <mutex>
#include <string>
#include <vector>

TEST_CASE("all static schedules along a machine, all roots, 2 to 12 ranks", "[team]") {
  const auto all = matrix::candidates_along_machine("ThreadTransport");
  const std::vector<std::size_t> counts{3, 40};
  CHECK(all.size() > 20);
  for (const int ranks : {2, 3, 4, 5, 8, 12}) {
    if (under_tsan && ranks > 5) break;
    papcoll::ThreadTeam team{ranks, {.machine = machines::dealt_by_node(ranks, (ranks + 2) / 3)}};
    std::mutex mutex;
    std::string problems;
    int permuted = 0;
    team.run([&](papcoll::ThreadTeam::Rank& comm) {
      matrix::Runner runner{comm};
      for (const matrix::Candidate& c : all) runner.run_all(c, counts);
      const papcoll::MappedOrder& ring = comm.core().machine_orders().of(
          papcoll::AnySchedule::of<papcoll::Ring>(), papcoll::Collective::allreduce, 0,
          papcoll::map_positions, comm.core().plans());
      const std::lock_guard lock{mutex};
      problems += runner.problems();
      permuted += ring.order.is_permutation() ? 1 : 0;
    });
    CHECK(problems == "");
    CHECK(permuted == (ranks >= 4 ? ranks : 0));  // of fewer, one node has all
  }
}
