// SPDX-License-Identifier: BSD-3-Clause
#include "timing/bound.hpp"

#include "catch.hpp"

using bench::least_traffic;
using bench::lower_bound;
using bench::Machine;
using bench::Workload;
using papcoll::Collective;

namespace {
constexpr bench::MemoryCosts memory{.copy = 4e-11, .write = 2e-11, .read = 1e-11};
constexpr Machine node{.signal = 1e-7, .network = {}, .memory = memory};

Workload allreduce_of(double bytes) {
  return {.bytes = bytes, .ranks = 4, .processors = 4, .fullest_node = 4};
}
}  // namespace

TEST_CASE("a small message is bounded by a signal, a large one by memory", "[bench]") {
  const auto small = lower_bound(allreduce_of(8), node);
  CHECK(small.seconds == 1e-7);
  CHECK(small.how == "one-way signal in shared memory");

  // Four ranks read and write 1 MB each, on four processors.
  const auto large = lower_bound(allreduce_of(1e6), node);
  CHECK(large.seconds == 1e6 * 4e-11);
  CHECK(large.how == "inputs read and outputs written once");

  auto two_processors = allreduce_of(1e6);
  two_processors.processors = 2;
  CHECK(lower_bound(two_processors, node).seconds == 2 * large.seconds);
}

TEST_CASE("one rank in place has nothing to do", "[bench]") {
  for (std::size_t c = 0; c < papcoll::collective_count; ++c) {
    const Workload alone{.collective = static_cast<Collective>(c), .bytes = 1e6, .in_place = true};
    CHECK(lower_bound(alone, node).seconds == 0);
  }
}

TEST_CASE("what early ranks may do beforehand can only lower the bound", "[bench]") {
  for (std::size_t c = 0; c < papcoll::collective_count; ++c) {
    for (const double nodes : {1, 2, 4}) {
      for (const bool in_place : {false, true}) {
        Workload w{.collective = static_cast<Collective>(c),
                   .bytes = 1e5,
                   .ranks = 8,
                   .processors = 8,
                   .nodes = nodes,
                   .fullest_node = 8 / nodes,
                   .in_place = in_place};
        const auto together = least_traffic(w);
        w.together = false;
        const auto last = least_traffic(w);
        CAPTURE(c, nodes, in_place);
        CHECK(last.read <= together.read);
        CHECK(last.written <= together.written);
        CHECK(last.sent <= together.sent);
        CHECK(last.signals <= together.signals);
        CHECK((together.sent > 0) == (nodes > 1 && w.collective != Collective::barrier));
      }
    }
  }
}

TEST_CASE("between nodes the known bound of allreduce holds", "[bench]") {
  const Workload w{.bytes = 1e6, .ranks = 8, .processors = 8, .nodes = 4, .fullest_node = 2};
  const Machine cluster{
      .signal = 1e-7, .network = {.latency = 2e-6, .bandwidth = 1e9}, .memory = memory};
  const auto bound = lower_bound(w, cluster);
  CHECK(bound.seconds == 2 * 0.75 * 1e6 / 1e9);
  CHECK(bound.how == "bytes a node must send or receive");
  auto small = w;
  small.bytes = 8;
  CHECK(lower_bound(small, cluster).seconds == 2e-6);
}

TEST_CASE("in place, a rank's own block is not written", "[bench]") {
  Workload w{.collective = Collective::allgather, .bytes = 10, .ranks = 3, .processors = 3};
  CHECK(least_traffic(w).written == 90);
  w.in_place = true;
  CHECK(least_traffic(w).written == 60);
  w.together = false;
  CHECK(least_traffic(w).written == 40);
}
