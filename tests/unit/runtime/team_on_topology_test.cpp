// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "machines.hpp"
#include "matrix.hpp"
#include "sanitizer.hpp"
#include "temporary_directory.hpp"

#include <papcoll/explain.hpp>
#include <papcoll/thread_team.hpp>
#include <papcoll/topology/network_file.hpp>

#include <fstream>
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
      const papcoll::MappedOrder& ring = comm.core().plan_runs.machine_orders().of(
          papcoll::AnySchedule::of<papcoll::Ring>(), papcoll::Collective::allreduce, 0,
          papcoll::AlongMachine::by(papcoll::map_positions), comm.core().plan_runs.plans());
      const std::lock_guard lock{mutex};
      problems += runner.problems();
      permuted += ring.order.is_permutation() ? 1 : 0;
    });
    CHECK(problems == "");
    CHECK(permuted == (ranks >= 4 ? ranks : 0));  // of fewer, one node has all
  }
}

TEST_CASE("explain shows the order along the machine, of named and of chosen schedules", "[team]") {
  papcoll::ThreadTeam team{4, {.machine = machines::dealt_by_node(4, 2)}};
  std::mutex mutex;
  std::vector<std::string> orders;
  std::vector<std::string> algorithms;
  team.run([&](papcoll::ThreadTeam::Rank& comm) {
    if (comm.rank() != 0) return;
    for (const char* name : {"OnTopology+Rabenseifner", "OnTopology", "OnTopology+auto"}) {
      const papcoll::Explanation e = papcoll::explain(comm, papcoll::Collective::allreduce, 800'000,
                                                      {.algorithm = papcoll::algorithm(name)});
      const std::lock_guard lock{mutex};
      orders.push_back(e.order);
      algorithms.push_back(e.algorithm);
    }
  });
  REQUIRE(orders.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(algorithms[i] == "OnTopology+Rabenseifner+ThreadTransport");
    CHECK(orders[i] ==
          "along the machine: bytes x hops 8.00 -> 4.00, heaviest link 2.00 -> 1.00 vectors "
          "(machine: described in code); position 0, 1, … is rank 0, 2, 1, 3");
  }
}

TEST_CASE("machines that have no places are refused", "[team]") {
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH((papcoll::ThreadTeam{2, {.machine = papcoll::Machine{}}}),
                    Contains("machine: it has no places: describe those of all ranks"));
  const TemporaryDirectory directory;
  const std::string file = (directory.path() / "two.network").string();
  std::ofstream{file} << "node a\nnode b\nswitch s\nlink a s\nlink b s\n";
  CHECK_THROWS_WITH((papcoll::ThreadTeam{2, {.machine = papcoll::network_file(file)}}),
                    Contains("two.network describes a network alone"));
}
