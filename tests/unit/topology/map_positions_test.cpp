// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "machines.hpp"

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/topology/mapping/greedy_mapping.hpp>
#include <papcoll/topology/mapping/hinted_order.hpp>
#include <papcoll/topology/mapping/map_positions.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

using namespace papcoll;
using machines::fat_tree_of_32;

namespace {

using Ranks = std::vector<int>;

}  // namespace

TEST_CASE("arranged positions", "[mapping]") {
  CHECK(hinted_positions(MappingHint::consecutive, 4) == Ranks{0, 1, 2, 3});
  CHECK(hinted_positions(MappingHint::bit_reversed, 8) == Ranks{0, 4, 2, 6, 1, 5, 3, 7});
  // Core positions 0 and 1 speak for 1 and 3; the core is 0 2 4 5.
  CHECK(hinted_positions(MappingHint::bit_reversed, 6) == Ranks{0, 1, 4, 2, 3, 5});
  // 1 has 2 and 3, 2 has 4 and 5, 3 has 6.
  CHECK(hinted_positions(MappingHint::depth_first, 7) == Ranks{0, 1, 3, 6, 2, 5, 4});
  for (const MappingHint a : {MappingHint::by_traffic, MappingHint::bit_reversed,
                              MappingHint::consecutive, MappingHint::depth_first}) {
    for (int size = 1; size < 40; ++size) {
      Ranks all = hinted_positions(a, size);
      CHECK(all.front() == 0);
      std::sort(all.begin(), all.end());
      CHECK(all == hinted_positions(MappingHint::consecutive, size));
    }
  }
}

TEST_CASE("positions grow along the machine by what they send", "[mapping]") {
  // Two nodes of two cores. 0 and 2 talk most, then 1 and 3.
  const Machine m = Machine::of_cores(2, 1, 1, 2);
  Traffic t{4};
  t.add(0, 1, 0.1);
  t.add(0, 2, 1);
  t.add(1, 3, 0.5);
  CHECK(GreedyMapper{t, m}.grow(m.order()) == Ranks{0, 2, 1, 3});
  // Nobody talks: in order.
  CHECK(GreedyMapper{Traffic{4}, m}.grow(m.order()) == Ranks{0, 1, 2, 3});
  // Of two that talk alike, the one that leaves least outside.
  Traffic tie{4};
  tie.add(0, 1, 1);
  tie.add(0, 2, 1);
  tie.add(1, 3, 1);
  CHECK(GreedyMapper{tie, m}.grow(m.order()) == Ranks{0, 2, 1, 3});
}

TEST_CASE("orders by hand", "[mapping]") {
  // Four ranks dealt out to two nodes.
  std::vector<Place> places;
  for (int r = 0; r < 4; ++r) {
    places.push_back({r % 2, 0, 0, 0, static_cast<std::uint16_t>(r / 2)});
  }
  const Machine m{std::move(places)};
  const auto ranks_of = [&](const AnySchedule& s, Collective c, int root) {
    const MappedOrder mapped = map_positions(s, c, m, root);
    Ranks all;
    for (int p = 0; p < 4; ++p) all.push_back(mapped.order.rank(p));
    return all;
  };
  CHECK(ranks_of(AnySchedule::of<Ring>(), Collective::allreduce, 0) == Ranks{0, 2, 1, 3});
  CHECK(ranks_of(AnySchedule::of<Chain>(), Collective::bcast, 3) == Ranks{3, 1, 0, 2});
  // Far-first: in rank order partners at distance 2 are on one node already.
  const MappedOrder doubling =
      map_positions(AnySchedule::of<RecursiveDoubling>(), Collective::allgather, m, 0);
  CHECK(doubling.verdict == MappedOrder::Verdict::gains_nothing);
  CHECK(doubling.order.is_identity());
  // From ranks by core it is the other way round.
  const Machine by_core = Machine::of_cores(2, 1, 1, 2);
  const MappedOrder mapped =
      map_positions(AnySchedule::of<RecursiveDoubling>(), Collective::allgather, by_core, 0);
  CHECK(mapped.verdict == MappedOrder::Verdict::mapped);
  CHECK(mapped.order.rank(1) == 2);
  CHECK(mapped.order.rank(2) == 1);
}

TEST_CASE("where all distances carry as much, networks by hops keep rank order", "[mapping]") {
  // Gathered by groups, 64 ranks of a group would send to one other group at a time: on a simulated
  // dragonfly that took 15 % longer than from random places.
  const Machine in_tree = fat_tree_of_32(128, machines::Placement::random);
  const AnySchedule doubling = AnySchedule::of<RecursiveDoubling>();
  CHECK(map_positions(doubling, Collective::allreduce, in_tree, 0).verdict ==
        MappedOrder::Verdict::mapped);
  const int nodes = in_tree.network().nodes();
  std::vector<float> hops;
  for (int a = 0; a < nodes; ++a) {
    for (int b = 0; b < nodes; ++b) hops.push_back(a == b ? 0.0F : a / 2 == b / 2 ? 2.0F : 5.0F);
  }
  const std::span<const Place> places = in_tree.places();
  const Machine by_hops{{places.begin(), places.end()}, Network::by_hops(nodes, std::move(hops))};
  const MappedOrder kept = map_positions(doubling, Collective::allreduce, by_hops, 0);
  CHECK(kept.verdict == MappedOrder::Verdict::links_unknown);
  CHECK(kept.order.is_identity());
  CHECK(map_positions(doubling, Collective::allgather, by_hops, 0).verdict ==
        MappedOrder::Verdict::mapped);
}

TEST_CASE("verdicts", "[mapping]") {
  using Verdict = MappedOrder::Verdict;
  const Machine by_node = fat_tree_of_32(128, machines::Placement::by_node);
  const Machine by_core = fat_tree_of_32(128, machines::Placement::by_core);
  const auto verdict = [](const AnySchedule& s, Collective c, const Machine& m) {
    return map_positions(s, c, m, 0).verdict;
  };
  CHECK(verdict(AnySchedule::of<Ring>(), Collective::allreduce, by_node) == Verdict::mapped);
  CHECK(verdict(AnySchedule::of<Ring>(), Collective::allreduce, by_core) == Verdict::gains_nothing);
  CHECK(verdict(AnySchedule::of<RecursiveDoubling>(), Collective::allreduce, by_node) ==
        Verdict::gains_nothing);
  CHECK(verdict(AnySchedule::of<Pairwise>(), Collective::alltoall, by_node) ==
        Verdict::all_talk_to_all);
  const MappedOrder kept =
      map_positions(AnySchedule::of<Pairwise>(), Collective::reduce_scatter, by_node, 0);
  CHECK(kept.order.is_identity());
}

TEST_CASE("a root has an order that begins at its place and crosses no more", "[mapping]") {
  const Machine m = fat_tree_of_32(512, machines::Placement::by_node);
  const auto cost = [&](int root) {
    const MappedOrder mapped =
        map_positions(AnySchedule::of<Binomial>(), Collective::bcast, m, root);
    CHECK(mapped.verdict == MappedOrder::Verdict::mapped);
    CHECK(mapped.order.rank(0) == root);
    return mapped.arranged;
  };
  const MappingCost of_first = cost(0);
  for (const int root : {1, 77, 300, 511}) {
    CHECK(cost(root).byte_hops == Approx(of_first.byte_hops).epsilon(0.1));
    CHECK(cost(root).heaviest_link <= of_first.heaviest_link + 1);
  }
}
