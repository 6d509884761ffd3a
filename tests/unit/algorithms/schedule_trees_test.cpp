// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/all.hpp>

#include <cstddef>

#include "plan_matrix.hpp"

// Linear, chains, trees and what is made of them serve what they say, with the right results.

using namespace papcoll;
using enum Collective;
using plan_simulation::failure_serving;

TEST_CASE("Linear", "[schedule]") {
  CHECK(failure_serving(Linear{}, {allreduce, reduce, bcast, allgather, reduce_scatter, gather,
                                   scatter, barrier, alltoall, scan, exscan}) == "");
}

TEST_CASE("chains", "[schedule]") {
  CHECK(failure_serving(Chain{}, {reduce, bcast, scan, exscan}) == "");
  // Segments of one element, of three, and of more than there are.
  for (const std::size_t bytes : {8U, 24U, 8000U}) {
    CHECK(failure_serving(PipelinedChain{.segment_bytes = bytes}, {reduce, bcast, scan, exscan}) ==
          "");
  }
}

TEST_CASE("Binomial", "[schedule]") {
  CHECK(failure_serving(Binomial{}, {allreduce, reduce, bcast, gather, scatter, scan, exscan}) ==
        "");
}

TEST_CASE("KNomial", "[schedule]") {
  for (const int radix : {2, 3, 4, 2'000'000'000}) {
    CHECK(failure_serving(KNomial{.radix = radix}, {allreduce, reduce, bcast}) == "");
  }
}

TEST_CASE("binary trees", "[schedule]") {
  CHECK(failure_serving(BinaryTree{}, {allreduce, reduce, bcast}) == "");
  for (const std::size_t bytes : {8U, 24U}) {
    const PipelinedBinaryTree tree{.segment_bytes = bytes};
    CHECK(failure_serving(tree, {allreduce, reduce, bcast}) == "");
  }
}

TEST_CASE("ScatterAllgather", "[schedule]") {
  CHECK(failure_serving(ScatterAllgather{}, {bcast}) == "");
  const ScatterAllgather doubling{.gathering = ScatterAllgather::Gathering::bruck};
  CHECK(failure_serving(doubling, {bcast}) == "");
}

TEST_CASE("ReduceThenBcast", "[schedule]") {
  CHECK(failure_serving(ReduceThenBcast<Binomial, Chain>{}, {allreduce}) == "");
  // Both parts pipeline, in segments of different length; one part does not.
  const ReduceThenBcast<PipelinedChain, PipelinedBinaryTree> both{{24}, {40}};
  CHECK(failure_serving(both, {allreduce}) == "");
  const AnyReduceThenBcast one{KNomial{.radix = 3}, PipelinedChain{.segment_bytes = 24}};
  CHECK(failure_serving(one, {allreduce}) == "");
}

TEST_CASE("parameters out of range are refused when a plan is made", "[schedule]") {
  Shape shape;
  shape.collective = bcast;
  shape.size = 3;
  shape.count = 1;
  CHECK_THROWS_AS(make_plan(KNomial{.radix = 1}, shape, Order::identity(3)), argument_error);
  shape.collective = allreduce;
  for (const auto& parts : {AnyReduceThenBcast{Ring{}, Chain{}},
                            AnyReduceThenBcast{Chain{}, Ring{}}, AnyReduceThenBcast{}}) {
    CHECK_THROWS_AS(make_plan(parts, shape, Order::identity(3)), argument_error);
  }
}
