// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/all.hpp>

#include <cstddef>

#include "plan_matrix.hpp"

// Rings and exchanges between pairs serve what they say, with the right results.

using namespace papcoll;
using enum Collective;
using plan_simulation::failure_serving;

TEST_CASE("rings", "[schedule]") {
  CHECK(failure_serving(Ring{}, {allreduce, allgather, reduce_scatter, alltoall}) == "");
  // Segments of one element, of three, and of more than there are.
  for (const std::size_t bytes : {8U, 24U, 8000U}) {
    CHECK(failure_serving(SegmentedRing{.segment_bytes = bytes}, {allreduce}) == "");
  }
}

TEST_CASE("exchanges at doubling distances", "[schedule]") {
  CHECK(failure_serving(RecursiveDoubling{}, {allreduce, allgather, barrier, scan, exscan}) == "");
  CHECK(failure_serving(Rabenseifner{}, {allreduce}) == "");
  CHECK(failure_serving(ReduceScatterGather{}, {reduce}) == "");
  CHECK(failure_serving(ReduceThenBcast<ReduceScatterGather, ScatterAllgather>{}, {allreduce}) ==
        "");
  CHECK(failure_serving(RecursiveHalving{}, {reduce_scatter}) == "");
  for (const int radix : {2, 3, 4, 100}) {
    CHECK(failure_serving(Bruck{.radix = radix}, {allgather, alltoall}) == "");
  }
  CHECK(failure_serving(Dissemination{}, {barrier}) == "");
}

TEST_CASE("groups with leaders that exchange", "[schedule]") {
  for (const int groups : {1, 2, 3, 100}) {
    for (const std::size_t bytes : {8U, 24U, 8000U}) {
      const ThreeStage schedule{.groups = groups, .segment_bytes = bytes};
      CHECK(failure_serving(schedule, {allreduce}) == "");
    }
  }
}

TEST_CASE("exchanges in pairs", "[schedule]") {
  CHECK(failure_serving(Pairwise{}, {reduce_scatter, alltoall}) == "");
  CHECK(failure_serving(NeighbourExchange{}, {allgather}) == "");
  for (const int window : {0, 1, 3, 32}) {
    CHECK(failure_serving(SpreadOut{.window = window}, {alltoall}) == "");
  }
}
