// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/model/closed_forms.hpp>
#include <suara_printed_forms.hpp>

#include <array>
#include <string>

// Closed forms against what the data volume takes, and against each other.

using namespace papcoll;

namespace {

constexpr double segment = 8192;

/// What was below its bound, empty if nothing.
struct Below {
  std::string text;

  void operator()(const char* name, double seconds, double bound, int p, double m) {
    if (!text.empty() || seconds >= bound * (1 - 1e-12)) return;
    text = std::string(name) + ", " + std::to_string(p) + " positions, " + std::to_string(m) +
           " bytes: " + std::to_string(seconds * 1e6) + " µs, bound " +
           std::to_string(bound * 1e6) + " µs";
  }
};

void check_all(Below& below, const HockneyWithGap& h, int p, double m) {
  namespace c = closed_form;
  const auto check = [&](const char* name, double seconds, double bound) {
    below(name, seconds, bound, p, m);
  };
  const double bcast = bandwidth_bound::bcast(h, p, m);
  check("linear bcast", c::linear_bcast(h, p, m), bcast);
  check("chain bcast", c::chain_bcast(h, p, m), bcast);
  check("binomial bcast", c::binomial_bcast(h, p, m), bcast);
  check("4-nomial bcast", c::knomial_bcast(h, p, m, 4), bcast);
  check("binary tree bcast", c::binary_tree_bcast(h, p, m), bcast);
  check("pipelined chain bcast", c::pipelined_chain_bcast(h, p, m, segment), bcast);
  check("pipelined binary tree bcast", c::pipelined_binary_tree_bcast(h, p, m, segment), bcast);
  check("scatter-allgather", c::scatter_allgather_bcast(h, p, m), bcast);
  check("two trees bcast", c::two_tree_bcast(h, p, m, segment), bcast);
  const double reduce = bandwidth_bound::reduce(h, p, m);
  check("linear reduce", c::linear_reduce(h, p, m), reduce);
  check("chain reduce", c::chain_reduce(h, p, m), reduce);
  check("binomial reduce", c::binomial_reduce(h, p, m), reduce);
  check("4-nomial reduce", c::knomial_reduce(h, p, m, 4), reduce);
  check("binary tree reduce", c::binary_tree_reduce(h, p, m), reduce);
  check("pipelined chain reduce", c::pipelined_chain_reduce(h, p, m, segment), reduce);
  check("pipelined binary tree reduce", c::pipelined_binary_tree_reduce(h, p, m, segment), reduce);
  check("two trees reduce", c::two_tree_reduce(h, p, m, segment), reduce);
  check("reduce-scatter-gather", c::reduce_scatter_gather_reduce(h, p, m), reduce);
  const double allreduce = bandwidth_bound::allreduce(h, p, m);
  check("linear", c::linear_allreduce(h, p, m), allreduce);
  check("binomial", c::binomial_allreduce(h, p, m), allreduce);
  check("4-nomial", c::knomial_allreduce(h, p, m, 4), allreduce);
  check("binary tree", c::binary_tree_allreduce(h, p, m), allreduce);
  check("nonoverlapping", c::nonoverlapping_allreduce(h, p, m), allreduce);
  check("recursive doubling", c::recursive_doubling_allreduce(h, p, m), allreduce);
  check("ring", c::ring_allreduce(h, p, m), allreduce);
  check("Rabenseifner", c::rabenseifner_allreduce(h, p, m), allreduce);
  check("two trees", c::two_tree_allreduce(h, p, m, segment), allreduce);
  check("ring in segments", c::segmented_ring_allreduce_serial(h, p, m, segment), allreduce);
  for (const std::size_t window : {1U, 4U, 16U}) {
    check("ring in segments, in flight", c::segmented_ring_allreduce(h, p, m, segment, window),
          allreduce);
  }
  const double allgather = bandwidth_bound::allgather(h, p, m);
  check("ring allgather", c::ring_allgather(h, p, m), allgather);
  check("Bruck", c::bruck_allgather(h, p, m), allgather);
  check("neighbour exchange", c::neighbour_exchange_allgather(h, p, m), allgather);
  check("recursive doubling allgather", c::recursive_doubling_allgather(h, p, m), allgather);
  check("linear allgather", c::linear_allgather(h, p, m), allgather);
  check("linear gather", c::linear_gather(h, p, m), allgather);
  check("binomial gather", c::binomial_gather(h, p, m), allgather);
  check("linear scatter", c::linear_scatter(h, p, m), allgather);
  check("binomial scatter", c::binomial_scatter(h, p, m), allgather);
  for (const int window : {1, 3, 32}) {
    check("spread-out", c::spread_out_alltoall(h, p, m, window), allgather);
  }
  check("linear alltoall", c::linear_alltoall(h, p, m), allgather);
  for (const int radix : {2, 3, 64}) {
    if (p > 140) break;
    check("Bruck's alltoall", c::bruck_alltoall(h, p, m, radix), allgather);
  }
  check("chain scan", c::chain_scan(h, p, m), bcast);
  check("chain exscan", c::chain_exscan(h, p, m), bcast);
  check("pipelined chain scan", c::pipelined_chain_scan(h, p, m, segment), bcast);
  check("recursive doubling scan", c::recursive_doubling_scan(h, p, m), bcast);
  check("recursive doubling exscan", c::recursive_doubling_exscan(h, p, m), bcast);
  const double scatter = bandwidth_bound::reduce_scatter(h, p, m);
  check("ring reduce_scatter", c::ring_reduce_scatter(h, p, m), scatter);
  check("pairwise", c::pairwise_reduce_scatter(h, p, m), scatter);
  check("linear reduce_scatter", c::linear_reduce_scatter(h, p, m), scatter);
  check("recursive halving", c::recursive_halving_reduce_scatter(h, p, m), scatter);
}

}  // namespace

TEST_CASE("no closed form is below the bandwidth bound", "[model]") {
  const Hockney published;
  const std::array machines{
      HockneyWithGap{published}, HockneyWithGap{published, 0}, HockneyWithGap{Hockney{0, 1e-9, 0}},
      HockneyWithGap{Hockney{0, 1e-10, 1e-8}}, HockneyWithGap{Hockney{1e-4, 1e-12, 1e-12}, 1e-5}};
  Below below;
  for (int p = 2; p <= 1100; p += p < 140 ? 1 : 37) {
    for (double m = 1; m < 1e9; m *= 7.3) {
      for (const HockneyWithGap& h : machines) check_all(below, h, p, m);
    }
  }
  CHECK(below.text == "");
}

TEST_CASE("one position costs nothing", "[model]") {
  namespace c = closed_form;
  const Hockney h;
  CHECK(c::linear_allreduce(h, 1, 100) == 0);
  CHECK(c::binomial_allreduce(h, 1, 100) == 0);
  CHECK(c::knomial_allreduce(h, 1, 100, 3) == 0);
  CHECK(c::binary_tree_allreduce(h, 1, 100) == 0);
  CHECK(c::nonoverlapping_allreduce(h, 1, 100) == 0);
  CHECK(c::recursive_doubling_allreduce(h, 1, 100) == 0);
  CHECK(c::ring_allreduce(h, 1, 100) == 0);
  CHECK(c::rabenseifner_allreduce(h, 1, 100) == 0);
  CHECK(c::segmented_ring_allreduce(h, 1, 100, segment) == 0);
  CHECK(c::pipelined_chain_bcast(h, 1, 100, segment) == 0);
  CHECK(c::pipelined_binary_tree_reduce(h, 1, 100, segment) == 0);
  CHECK(c::dissemination_barrier(h, 1) == 0);
  CHECK(c::chain_exscan(h, 1, 100) == 0);
  CHECK(c::recursive_doubling_exscan(h, 1, 100) == 0);
  CHECK(c::linear_alltoall(h, 1, 100) == 0);
  CHECK(c::bruck_alltoall(h, 1, 100, 2) == 0);
}

TEST_CASE("closed forms are those of the headers", "[model]") {
  namespace c = closed_form;
  const Hockney h{3, 0.5, 0.25};
  CHECK(c::ring_allreduce(h, 4, 8) == Approx(2 * 3 * 3 + 2 * 0.75 * 4 + 0.75 * 2));
  CHECK(c::recursive_doubling_allreduce(h, 8, 8) == Approx(3 * (3 + 4 + 2)));
  CHECK(c::recursive_doubling_allreduce(h, 6, 8) == Approx(3 * (3 + 4 + 2) + 3 + 4));
  CHECK(c::rabenseifner_allreduce(h, 4, 8) == Approx(4 * 3 + 2 * 0.75 * 4 + 0.75 * 2));
  CHECK(c::rabenseifner_allreduce(h, 6, 8) ==
        Approx(c::rabenseifner_allreduce(h, 4, 8) + 3 * 3 + 2 * 4 + 1));
  CHECK(c::ring_alltoall(h, 4, 8) == Approx(3 * (3 + 1)));
  CHECK(c::bruck_alltoall(h, 8, 8, 2) == Approx(3 * (3 + 2)));
  CHECK(c::bruck_alltoall({h, 0}, 9, 9, 3) == Approx(2 * (3 + 2 * 1.5)));
  CHECK(c::recursive_doubling_exscan(h, 8, 8) == Approx(3 * (3 + 4) + 5 * 2));
  CHECK(c::chain_exscan(h, 4, 8) == Approx(3 * (3 + 4) + 2 * 2));
  CHECK(c::knomial_bcast(h, 9, 8, 3) == Approx(2 * 2 * (3 + 4)));
  CHECK(c::knomial_bcast(h, 9, 8, 100) == Approx(c::linear_bcast(h, 9, 8)));
  CHECK(c::knomial_reduce(h, 9, 8, 2) == Approx(c::binomial_reduce(h, 9, 8)));
  CHECK(c::pipelined_chain_bcast(h, 5, 8, 2) == Approx((5 - 2 + 4) * (3 + 1)));
  CHECK(c::pipelined_binary_tree_bcast(h, 7, 8, 2) == Approx(2 * (2 - 1 + 4) * (3 + 1)));
  CHECK(c::pipelined_chain_bcast(h, 5, 8, 100) == Approx(c::chain_bcast(h, 5, 8)));
  // Where the latency of a message passes while the next one leaves.
  CHECK(c::pipelined_chain_bcast({h, 0}, 5, 8, 2) == Approx(4 * (3 + 1) + 3 * 1));
}

TEST_CASE("the printed ring with segmentation undercuts the bound, the corrected one does not",
          "[model]") {
  const Hockney h;
  const double m = 52e6;
  for (const int p : {16, 64, 256}) {
    const double bound = bandwidth_bound::allreduce(h, p, m);
    CHECK(suara_printed::segmented_ring(h, p, m, segment) < 0.5 * bound);
    CHECK(closed_form::segmented_ring_allreduce_serial(h, p, m, segment) >= bound);
    CHECK(closed_form::segmented_ring_allreduce(h, p, m, segment) >= bound);
  }
}

TEST_CASE("the paper's grid of two segmented rings", "[model]") {
  const Hockney h;
  CHECK(suara_printed::columns_of_two_segmented_rings(h, 1024, 4e6, segment) == 32);
  CHECK(suara_printed::columns_of_two_segmented_rings(h, 16, 52e6, segment) == 16);
  CHECK(suara_printed::ring(h, 4, 8) == Approx(closed_form::ring_allreduce(h, 4, 8)));
  CHECK(suara_printed::rabenseifner(h, 8, 8) ==
        Approx(closed_form::rabenseifner_allreduce(h, 8, 8)));
  CHECK(suara_printed::recursive_doubling(h, 8, 8) ==
        Approx(closed_form::recursive_doubling_allreduce(h, 8, 8)));
  CHECK(suara_printed::linear(h, 3, 8) == Approx(2 * (2 * h.message(8) + h.gamma * 8)));
}
