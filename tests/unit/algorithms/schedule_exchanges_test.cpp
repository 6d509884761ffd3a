#include "catch.hpp"

#include <papcoll/algorithms/static/all.hpp>

#include <cstddef>

#include "plan_matrix.hpp"

// Rings and exchanges between pairs serve what they say, with the right results.

using namespace papcoll;
using enum Collective;
using plan_simulation::failure_serving;

TEST_CASE("rings", "[schedule]") {
  CHECK(failure_serving(Ring{}, {allreduce, allgather, reduce_scatter}) == "");
  // Segments of one element, of three, and of more than there are.
  for (const std::size_t bytes : {8U, 24U, 8000U}) {
    CHECK(failure_serving(SegmentedRing{.segment_bytes = bytes}, {allreduce}) == "");
  }
}

TEST_CASE("exchanges at doubling distances", "[schedule]") {
  CHECK(failure_serving(RecursiveDoubling{}, {allreduce, allgather, barrier, scan}) == "");
  CHECK(failure_serving(Rabenseifner{}, {allreduce}) == "");
  CHECK(failure_serving(ReduceScatterGather{}, {reduce}) == "");
  CHECK(failure_serving(ReduceThenBcast<ReduceScatterGather, ScatterAllgather>{}, {allreduce}) ==
        "");
  CHECK(failure_serving(RecursiveHalving{}, {reduce_scatter}) == "");
  CHECK(failure_serving(Bruck{}, {allgather, alltoall}) == "");
  CHECK(failure_serving(Dissemination{}, {barrier}) == "");
}

TEST_CASE("exchanges in pairs", "[schedule]") {
  CHECK(failure_serving(Pairwise{}, {reduce_scatter, alltoall}) == "");
  CHECK(failure_serving(NeighbourExchange{}, {allgather}) == "");
}
