// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "machines.hpp"

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/baselines/free_places.hpp>
#include <papcoll/baselines/greedy.hpp>
#include <papcoll/topology/mapping/map_positions.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

using namespace papcoll;

namespace {

using Greedy = std::vector<int>;

bool is_bijection(Greedy ranks, int size) {
  std::sort(ranks.begin(), ranks.end());
  for (int r = 0; r < size; ++r) {
    if (ranks[static_cast<std::size_t>(r)] != r) return false;
  }
  return static_cast<int>(ranks.size()) == size;
}

}  // namespace

TEST_CASE("the nearest free place is the one that has most levels in common", "[mapping]") {
  // Two nodes of two packages of two cores; ranks by core.
  const Machine m = Machine::of_cores(2, 2, 1, 2);
  FreePlaces free{m, 0};
  CHECK(free.take(5));
  CHECK_FALSE(free.take(5));
  CHECK(free.take_nearest(5) == 4);  // its package
  CHECK(free.take_nearest(5) == 6);  // its node
  CHECK(free.take_nearest(2) == 2);  // itself
  CHECK(free.take_nearest(2) == 3);
  CHECK(free.take_nearest(2) == 0);
  CHECK(free.take_nearest(0) == 1);
  CHECK(free.take_nearest(0) == 7);  // the other node
}

TEST_CASE("greedy orders by hand", "[mapping]") {
  // Eight ranks on one core each, so that the next free place is that of the lowest rank left: an
  // order says in which sequence the positions were placed.
  const Machine one = Machine::of_cores(1, 1, 1, 8);
  CHECK(greedy_ring(one) == Greedy{0, 1, 2, 3, 4, 5, 6, 7});
  // Placed: 0, 4, 2 from 0; 6, 3 from 2; 7, 1 from 3; 5 from 1.
  CHECK(greedy_doubling(one) == Greedy{0, 6, 2, 4, 1, 7, 3, 5});
  // Placed: 0, 1, 2 from 0; 3, 6 from 2; 7, 4 from 6; 5 from 4.
  CHECK(greedy_rabenseifner(one) == Greedy{0, 1, 2, 3, 6, 7, 4, 5});
  // 0 has 1 and 2, 1 has 3 and 5, 2 has 4 and 6, 3 has 7: placed 0, 2, 6, 4, 1, 5, 3, 7.
  CHECK(greedy_binary_tree(one) == Greedy{0, 4, 1, 6, 3, 5, 2, 7});
  // Binomial, placed: 0, 1, 2, 3, 4, 5, 6, 7.
  CHECK(greedy_k_nomial(one, 2) == Greedy{0, 1, 2, 3, 4, 5, 6, 7});
  // Radix 3: 0 has 1, 2, 3 and 6; 7 is the leaf of 6.
  CHECK(greedy_k_nomial(one, 3) == Greedy{0, 1, 2, 3, 4, 5, 6, 7});
  // A leaf of a higher level, 4, comes before the subtree of 2.
  CHECK(greedy_k_nomial(Machine::of_cores(1, 1, 1, 5), 2) == Greedy{0, 1, 3, 4, 2});
}

TEST_CASE("greedy orders fill a node before they leave it", "[mapping]") {
  // Ranks 0, 2 are on node 0, ranks 1, 3 on node 1.
  const Machine m = machines::dealt_by_node(4, 2);
  CHECK(greedy_ring(m) == Greedy{0, 2, 1, 3});
  CHECK(greedy_ring(m, 3) == Greedy{3, 1, 0, 2});
  CHECK(greedy_doubling(m)[2] == 2);      // the farthest partner of 0 is beside it
  CHECK(greedy_rabenseifner(m)[1] == 2);  // the nearest partner is
}

TEST_CASE("greedy orders are bijections that begin with the root", "[mapping]") {
  for (int size = 1; size <= 70; ++size) {
    const Machine m = machines::dealt_by_node(size, std::min(size, 5));
    for (const int root : {0, size / 2, size - 1}) {
      for (const Greedy& g :
           {greedy_ring(m, root), greedy_doubling(m, root), greedy_rabenseifner(m, root),
            greedy_binary_tree(m, root), greedy_k_nomial(m, 2, root), greedy_k_nomial(m, 4, root),
            greedy_k_nomial(m, 100, root)}) {
        INFO(size << " ranks, root " << root);
        CHECK(is_bijection(g, size));
        CHECK(g.front() == root);
      }
    }
  }
}

TEST_CASE("greedy orders by a schedule's name", "[mapping]") {
  const Machine m = machines::dealt_by_node(24, 5);
  CHECK(greedy_order(AnySchedule::of<Ring>(), m, 3) == greedy_ring(m, 3));
  CHECK(greedy_order(AnySchedule::of<RecursiveDoubling>(), m) == greedy_doubling(m));
  CHECK(greedy_order(AnySchedule::of<Rabenseifner>(), m) == greedy_rabenseifner(m));
  CHECK(greedy_order(AnySchedule::of<Binomial>(), m, 2) == greedy_k_nomial(m, 2, 2));
  CHECK(greedy_order(AnySchedule::of<KNomial>(), m) == greedy_k_nomial(m, 4));
  CHECK(greedy_order(AnySchedule{KNomial{3}}, m) == greedy_k_nomial(m, 3));
  using Gathering = ScatterAllgather::Gathering;
  CHECK(greedy_order(AnySchedule{ScatterAllgather{Gathering::ring}}, m) == greedy_ring(m));
  CHECK_FALSE(greedy_order(AnySchedule::of<BinaryTree>(), m).has_value());
}

TEST_CASE("greedy orders in the place of papcoll's", "[mapping]") {
  using Verdict = MappedOrder::Verdict;
  MapPositions& map = map_greedily;  // as OrderSource::machine() takes it
  const Machine m = machines::fat_tree_of_32(256, machines::Placement::by_node);
  const AnySchedule ring = AnySchedule::of<Ring>();
  const MappedOrder mapped = map(ring, Collective::allreduce, m, 0);
  CHECK(mapped.verdict == Verdict::mapped);
  const MappedOrder ours = map_positions(ring, Collective::allreduce, m, 0);
  CHECK(mapped.arranged.byte_hops == Approx(ours.arranged.byte_hops));
  CHECK(mapped.in_rank_order.byte_hops == Approx(ours.in_rank_order.byte_hops));
  CHECK(map(AnySchedule::of<BinaryTree>(), Collective::bcast, m, 9).order ==
        Order::rotation(256, 9));
  CHECK(map(AnySchedule::of<Pairwise>(), Collective::alltoall, m, 0).verdict ==
        Verdict::all_talk_to_all);
}

TEST_CASE("a walk along the wrong masks is far worse than rank order", "[mapping]") {
  // Rabenseifner's with the largest exchange at the largest distance, and the walk that favours the
  // smallest: by node, the former is as good as can be.
  const int size = 256;
  Traffic far{size};
  for (int p = 0; p < size; ++p) {
    for (int k = 0; k < 8; ++k) far.add(p, p ^ (1 << k), 2.0 / (1 << (8 - k)));
  }
  const Machine m = machines::fat_tree_of_32(size, machines::Placement::by_node);
  const auto byte_hops = [&](const Greedy& ranks) { return cost_of(far, m, ranks).byte_hops; };
  Greedy identity(size);
  std::iota(identity.begin(), identity.end(), 0);
  CHECK(byte_hops(greedy_rabenseifner(m)) > 10 * byte_hops(identity));
  CHECK(byte_hops(greedy_doubling(m)) < 2 * byte_hops(identity));
}

TEST_CASE("the thesis's walk of Open MPI's binary tree may load a link more", "[mapping]") {
  const int size = 1024;
  Traffic tree{size};
  for (int p = 0; p < size; ++p) {
    int step = 1;
    while (2 * step <= p + 1) step *= 2;
    for (const int child : {p + step, p + 2 * step}) {
      if (child < size) tree.add(p, child, 1);
    }
  }
  const Machine m = machines::fat_tree_of_32(size, machines::Placement::by_node);
  const Machine by_node{{m.places().begin(), m.places().end()},
                        Network::fat_tree(32, {16}, {1, 64})};
  Greedy identity(size);
  std::iota(identity.begin(), identity.end(), 0);
  const MappingCost before = cost_of(tree, by_node, identity);
  const MappingCost after = cost_of(tree, by_node, greedy_binary_tree(by_node));
  CHECK(before.byte_hops == Approx(154));
  CHECK(after.byte_hops == Approx(138));
  CHECK(before.heaviest_link == Approx(2));
  CHECK(after.heaviest_link == Approx(7));
}
