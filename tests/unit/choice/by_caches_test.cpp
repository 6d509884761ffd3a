// SPDX-License-Identifier: BSD-3-Clause
#include "automatic.hpp"
#include "catch.hpp"
#include "matrix.hpp"
#include "sanitizer.hpp"

#include <papcoll/automatic.hpp>
#include <papcoll/choice/selection/selection_state.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/thread_team.hpp>
#include <papcoll/topology/machine.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

using namespace papcoll;

namespace {

/// Ranks on the cores of L3 caches, one after the other, two caches to a package.
Machine caches_of_node(int count, int cores) {
  return Machine::of_cores(1, (count + 1) / 2, count > 1 ? 2 : 1, cores);
}

/// So that a few ranks go by caches.
PeerCosts dear_lines() {
  PeerCosts costs;
  costs.line_ns = 100'000;
  return costs;
}

}  // namespace

TEST_CASE("ranks are near where they share a cache, else a package", "[select]") {
  const auto by_cache = cache_groups(caches_of_node(4, 3).places());
  REQUIRE(by_cache != nullptr);
  CHECK(by_cache->count() == 4);
  CHECK(by_cache->contiguous());

  // One rank on each L3: by packages.
  const auto by_package = cache_groups(caches_of_node(4, 1).places());
  REQUIRE(by_package != nullptr);
  CHECK(by_package->count() == 2);

  CHECK(cache_groups(caches_of_node(1, 8).places()) == nullptr);
  CHECK(cache_groups(Machine::of_cores(2, 1, 2, 2).places()) == nullptr);  // several nodes
  std::vector<Place> unbound(8);
  CHECK(cache_groups(unbound) == nullptr);
  unbound[0].l3 = 0;  // one of them is bound
  const auto one_apart = cache_groups(unbound);
  REQUIRE(one_apart != nullptr);
  CHECK(one_apart->largest() == 7);
}

TEST_CASE("calls go by caches where the model expects less of that", "[select]") {
  SelectionInputs s;
  const Thresholds thresholds;
  s.thresholds = &thresholds;
  s.size = 16;
  s.cache_groups = 4;
  s.near_chunk_bytes = 4096;
  s.chunk_bytes = 65536;
  Call call;
  call.collective = Collective::allreduce;
  call.reducer.size = sizeof(double);
  call.reducer.commutative = true;
  const auto by_caches = [&](std::size_t bytes) {
    call.count = bytes / sizeof(double);
    Call picked = call;
    AlgorithmSpec chosen;
    chosen.transport = &transport_table<ThreadTransport>;
    choose(chosen, picked, s, detail::chooser_of(call.collective));
    return chosen.hierarchical != nullptr && chosen.hierarchical->by_caches;
  };
  CHECK(by_caches(8));
  CHECK_FALSE(by_caches(65536));
  s.oversubscribed = true;
  CHECK_FALSE(by_caches(8));
  s.oversubscribed = false;
  call.contract = NumericalContract::reproducible;
  CHECK_FALSE(by_caches(8));
  call.contract = NumericalContract::rank_consistent;
  s.must_pass_messages = true;
  CHECK_FALSE(by_caches(8));
  s.must_pass_messages = false;
  s.cache_groups = 8;
  CHECK_FALSE(by_caches(8));  // pairs save too little
  s.size = 64;
  CHECK(by_caches(8));
  s.size = 8;
  s.cache_groups = 2;
  CHECK_FALSE(by_caches(8));
  PeerCosts costs;
  costs.line_ns = 100;  // so many take one at a time
  s.costs = &costs;
  CHECK(by_caches(8));
  s.near_chunk_bytes = 0;
  CHECK_FALSE(by_caches(8));
  s.near_chunk_bytes = 4096;
  s.cache_groups = 0;
  CHECK_FALSE(by_caches(8));
  s.cache_groups = 2;
  call.collective = Collective::barrier;
  CHECK(by_caches(0));
  call.collective = Collective::bcast;
  CHECK_FALSE(by_caches(8));
}

TEST_CASE("calls by caches that do not match leave outputs as they were", "[select]") {
  if (under_tsan) return;
  Options options;
  options.machine = caches_of_node(2, 2);
  options.deadline = std::chrono::seconds{60};
  for (const bool rooted : {false, true}) {
    ThreadTeam team{4, options};
    std::mutex mutex;
    std::string problems;
    int refused = 0;
    team.run([&](ThreadTeam::Rank& comm) {
      TeamCore& core = comm.core();
      core.set_oversubscribed(false);
      automatic::set_costs(core, dear_lines());
      // The second group calls with another count: within groups all calls match.
      std::vector<int> data(comm.rank() < 2 ? 4 : 5, comm.rank());
      const std::vector<int> before = data;
      bool threw = false;
      try {
        if (rooted) {
          reduce(comm, data, root{0});
        } else {
          allreduce(comm, data);
        }
      } catch (const error&) {
        threw = true;
      }
      const std::lock_guard lock{mutex};
      if (threw) ++refused;
      if (data != before) problems += "rank " + std::to_string(comm.rank()) + "'s data changed\n";
    });
    CHECK(problems == "");
    CHECK(refused >= (rooted ? 1 : 4));
  }
}

TEST_CASE("teams by caches have small chunk buffers", "[select]") {
  const std::vector<int> one_node(16, 0);
  GroupColours pairs(1);
  for (int r = 0; r < 16; ++r) pairs[0].push_back(r / 2);
  const HierarchyPlans by_caches{pairs, one_node, 0, 65536, true};
  const HierarchyPlans named{pairs, one_node, 0, 65536, false};
  CHECK(by_caches.chunk_bytes() == 4096);
  CHECK(by_caches.bytes().buffers * 10 < named.bytes().buffers);
}

TEST_CASE("calls by caches give what all others give", "[select]") {
  if (under_tsan) return;  // 8 threads that spin: the explorer has the same steps
  Options options;
  options.machine = caches_of_node(4, 2);
  ThreadTeam team{8, options};
  std::mutex mutex;
  std::string problems;
  std::string explained;
  team.run([&](ThreadTeam::Rank& comm) {
    TeamCore& core = comm.core();
    core.set_oversubscribed(false);
    automatic::set_costs(core, dear_lines());
    matrix::Runner runner{comm};
    const std::vector<std::size_t> counts{0, 1, 5, 40};
    runner.run_all({}, counts);
    const std::string text = explain(comm, Collective::allreduce, 64).text();
    // By name, the ranks of a node are one group.
    const int sum_by_name = allreduce(comm, 1, sum, algorithm("Hierarchical:Exchange,Ring"));
    const std::lock_guard lock{mutex};
    problems += runner.problems();
    if (sum_by_name != 8) problems += "by name the sum is wrong\n";
    explained = text;
  });
  CHECK(problems == "");
  CHECK(explained.find("Hierarchical:DynamicLeader,auto") == 0);
  CHECK(explained.find("one node of 4 groups that share a cache: expected ") != std::string::npos);
}
