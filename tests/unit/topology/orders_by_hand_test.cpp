// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "machines.hpp"

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/topology/mapping/greedy_mapping.hpp>
#include <papcoll/topology/mapping/map_positions.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

using namespace papcoll;
using machines::Placement;

namespace {

using Verdict = MappedOrder::Verdict;

std::vector<int> ranks_of(const Order& order) {
  std::vector<int> all;
  for (int p = 0; p < order.size(); ++p) all.push_back(order.rank(p));
  return all;
}

/// The cores of a machine, rank r on the one that `core_of` says.
template <class CoreOf> Machine dealt(const Machine& cores, CoreOf core_of) {
  std::vector<Place> places;
  for (int r = 0; r < cores.size(); ++r) places.push_back(cores.place(core_of(r)));
  return Machine{std::move(places), cores.network()};
}

/// Rank r on node r modulo `nodes`.
Machine around_nodes(const Machine& cores, int nodes) {
  return dealt(cores, [&](int r) { return r % nodes * (cores.size() / nodes) + r / nodes; });
}

/// 4 nodes of 2 cores; rank r is on node 0, 2, 1, 3, for r modulo 4.
Machine crossed(Network network) {
  constexpr std::array nodes{0, 2, 1, 3};
  return dealt(Machine::of_cores(4, 1, 1, 2, std::move(network)),
               [&](int r) { return 2 * nodes[static_cast<std::size_t>(r % 4)] + r / 4; });
}

MappedOrder mapped_ring(const Machine& m) {
  return map_positions(AnySchedule::of<Ring>(), Collective::allreduce, m, 0);
}

}  // namespace

TEST_CASE("one to four sockets with split L3, by socket: a ring goes cache by cache", "[mapping]") {
  for (const int sockets : {1, 2, 3, 4}) {
    // Each socket has two L3 of two cores.
    const int ranks = 4 * sockets;
    const Machine m =
        around_nodes(Machine::of_cores(1, sockets, 2, 2), sockets);  // sockets stand in for nodes
    const MappedOrder mapped = mapped_ring(m);
    INFO(sockets << " sockets");
    const double share = 2.0 * (ranks - 1) / ranks;
    CHECK(mapped.arranged.byte_hops == 0);
    if (sockets == 1) {
      CHECK(mapped.verdict == Verdict::gains_nothing);
      CHECK(mapped.order.is_identity());
      CHECK(mapped.in_rank_order.inside == Approx(share * 2));  // into the second L3, and back
      continue;
    }
    CHECK(mapped.verdict == Verdict::mapped);
    for (int p = 0; p < ranks; ++p) CHECK(mapped.order.rank(p) == p % 4 * sockets + p / 4);
    // In rank order every message goes to another socket; then one a socket does, and one to the
    // socket's other L3.
    CHECK(mapped.in_rank_order.inside == Approx(share * 3 * ranks));
    CHECK(mapped.arranged.inside == Approx(share * (3 + 1) * sockets));
  }
}

TEST_CASE("nodes of 24 and of 48 cores: a binomial tree crosses twice", "[mapping]") {
  for (const int l3 : {2, 4}) {
    const Machine m = around_nodes(Machine::of_cores(2, 2, l3, 6), 2);
    const int half = m.size() / 2;
    const MappedOrder mapped = map_positions(AnySchedule::of<Binomial>(), Collective::bcast, m, 0);
    CHECK(mapped.verdict == Verdict::mapped);
    for (int p = 0; p < m.size(); ++p) {
      CHECK(mapped.order.rank(p) == (p < half ? 2 * p : 2 * (p - half) + 1));
    }
    // P = 48: 0 → 32 and 16 → 24; P = 96: 0 → 64 and 32 → 48. By node, all leaves' messages cross.
    CHECK(mapped.arranged.byte_hops == Approx(2 * 2));
    CHECK(mapped.arranged.heaviest_link == Approx(2));
    CHECK(mapped.in_rank_order.byte_hops == Approx(2 * half));
    CHECK(mapped.in_rank_order.heaviest_link == Approx(half));
  }
}

TEST_CASE("three unequal nodes: a chain from a root in the middle", "[mapping]") {
  std::vector<Place> places;  // 3, 1 and 2 ranks
  for (const int node : {0, 1, 2, 0, 2, 0}) places.push_back({node, 0, 0, 0, Place::anywhere});
  const Machine m{std::move(places)};
  const MappedOrder mapped = map_positions(AnySchedule::of<Chain>(), Collective::bcast, m, 4);
  CHECK(mapped.verdict == Verdict::mapped);
  CHECK(ranks_of(mapped.order) == std::vector{4, 2, 0, 3, 5, 1});
  CHECK(mapped.arranged.byte_hops == Approx(2 * 2));       // 2 → 0 and 5 → 1
  CHECK(mapped.in_rank_order.byte_hops == Approx(4 * 2));  // 4 5 0 1 2 3: all but 5 → 0
}

TEST_CASE("a ring on a fat tree and on a dragonfly", "[mapping]") {
  const double share = 2.0 * 7 / 8;
  const MappedOrder tree = mapped_ring(crossed(Network::fat_tree(4, {2})));
  CHECK(tree.verdict == Verdict::mapped);
  CHECK(ranks_of(tree.order) == std::vector{0, 4, 2, 6, 1, 5, 3, 7});
  CHECK(tree.arranged.byte_hops == Approx(share * (2 + 4 + 2 + 4)));
  CHECK(tree.arranged.heaviest_link == Approx(share));
  CHECK(tree.in_rank_order.byte_hops == Approx(share * 8 * 4));
  CHECK(tree.in_rank_order.heaviest_link == Approx(share * 4));  // a leaf switch's, either way

  // 2 groups of 2 nodes, 5 hops apart.
  const MappedOrder hops =
      mapped_ring(crossed(Network::by_hops(4, {0, 2, 5, 5, 2, 0, 5, 5, 5, 5, 0, 2, 5, 5, 2, 0})));
  CHECK(hops.verdict == Verdict::mapped);
  CHECK(ranks_of(hops.order) == ranks_of(tree.order));
  CHECK(hops.arranged.byte_hops == Approx(share * (2 + 5 + 2 + 5)));
  CHECK(hops.in_rank_order.byte_hops == Approx(share * 8 * 5));
  CHECK(hops.in_rank_order.heaviest_link == Approx(share * 2));  // of a node
}

TEST_CASE("wide links and dear links count", "[mapping]") {
  // As above, but the leaf switches' links are 4 times as wide, and the hops of nodes cost 3.
  using Up = Network::Uplink;
  const Machine m = crossed(Network::tree(
      4, {Up{4, 3, 1}, Up{4, 3, 1}, Up{5, 3, 1}, Up{5, 3, 1}, Up{6, 1, 4}, Up{6, 1, 4}, Up{}}));
  const MappedOrder mapped = mapped_ring(m);
  const double share = 2.0 * 7 / 8;
  CHECK(mapped.arranged.byte_hops == Approx(share * (6 + 8 + 6 + 8)));
  CHECK(mapped.in_rank_order.heaviest_link == Approx(share * 2));  // a node's 2 of width 1
}

TEST_CASE("recursive doubling's allgather has its last partners near", "[mapping]") {
  // 2 nodes of 4 cores, by core. At distance 4 positions exchange half of all, at distance 1 ⅛.
  const MappedOrder mapped = map_positions(AnySchedule::of<RecursiveDoubling>(),
                                           Collective::allgather, Machine::of_cores(2, 1, 1, 4), 0);
  CHECK(mapped.verdict == Verdict::mapped);
  CHECK(ranks_of(mapped.order) == std::vector{0, 4, 2, 6, 1, 5, 3, 7});
  CHECK(mapped.in_rank_order.byte_hops == Approx(8 * 0.5 * 2));
  CHECK(mapped.in_rank_order.heaviest_link == Approx(4 * 0.5));
  CHECK(mapped.arranged.byte_hops == Approx(8 * 0.125 * 2));
  CHECK(mapped.arranged.heaviest_link == Approx(4 * 0.125));
}

TEST_CASE("what is worse on the heaviest link is not used", "[mapping]") {
  // Two trees among 0 1 | 2 3: 0 → 1 → 2, 3 and 0 → 3 → 2, 1, with half of the vector each.
  const Machine m = around_nodes(Machine::of_cores(2, 1, 1, 2), 2);
  const MappedOrder kept =
      map_positions(AnySchedule::of<TwoTreeComplete>(), Collective::bcast, m, 0);
  CHECK(kept.verdict == Verdict::worse);
  CHECK(kept.order.is_identity());
  // By node 0 and 2 are together: 4 of 6 messages cross, at most 2 of them one way.
  CHECK(kept.in_rank_order.byte_hops == Approx(4 * 0.5 * 2));
  CHECK(kept.in_rank_order.heaviest_link == Approx(2 * 0.5));
  // Grown, 0 and 1 are together: 4 cross, 3 of them the same way.
  CHECK(kept.arranged.byte_hops == Approx(4 * 0.5 * 2));
  CHECK(kept.arranged.heaviest_link == Approx(3 * 0.5));
  const MappedOrder rotated =
      map_positions(AnySchedule::of<TwoTreeComplete>(), Collective::bcast, m, 3);
  CHECK(rotated.order.rank(0) == 3);
  CHECK_FALSE(rotated.order.is_permutation());
}

TEST_CASE("a root's order crosses as rarely as that of rank 0", "[mapping]") {
  const int root = 77;  // on node 13, its fifth core
  const Machine all = machines::fat_tree_of_32(512, Placement::by_node);
  const Machine m{{all.places().begin(), all.places().end()}};  // one switch
  const AnySchedule binomial = AnySchedule::of<Binomial>();
  const Traffic traffic = traffic_of(binomial, Collective::bcast, 512).value();
  for (const int from : {0, root, 1, 31, 32, 300, 511}) {
    const MappedOrder anchored = map_positions(binomial, Collective::bcast, m, from);
    CHECK(anchored.verdict == Verdict::mapped);
    CHECK(anchored.order.rank(0) == from);
    CHECK(anchored.arranged.byte_hops == Approx(30));  // 15 messages, one for each node but one
    CHECK(anchored.arranged.heaviest_link == Approx(4));
  }
  // Why roots have orders of their own: the other ways to begin at a rank.
  std::vector<int> rotated = m.order();
  std::rotate(rotated.begin(), std::find(rotated.begin(), rotated.end(), root), rotated.end());
  CHECK(cost_of(traffic, m, rotated).byte_hops == Approx(62));
  CHECK(cost_of(traffic, m, rotated).heaviest_link == Approx(5));
  const std::vector<int> first = ranks_of(Order::permutation(m.order()).with_first(root));
  CHECK(cost_of(traffic, m, first).byte_hops == Approx(170));
  CHECK(cost_of(traffic, m, first).heaviest_link == Approx(9));
}

TEST_CASE("ties go to the lower number", "[mapping]") {
  const Machine m = Machine::of_cores(2, 1, 1, 2);
  Traffic star{4};  // all others talk to 0 alike
  for (const int p : {3, 1, 2}) star.add(0, p, 1);
  CHECK(GreedyMapper{star, m}.grow(m.order()) == std::vector{0, 1, 2, 3});
  Traffic apart{4};  // nobody talks to 0
  apart.add(3, 2, 1);
  CHECK(GreedyMapper{apart, m}.grow(m.order()) == std::vector{0, 1, 2, 3});
  Traffic pair{5};  // who has been placed has all of its partners before the next begins
  pair.add(1, 4, 1);
  CHECK(GreedyMapper{pair, Machine::of_cores(1, 1, 1, 5)}.grow(std::vector{0, 1, 2, 3, 4}) ==
        std::vector{0, 1, 4, 2, 3});
  // Branches of the machine follow by number, not by the order in which ranks name them.
  std::vector<Place> places;
  for (const int node : {2, 1, 0, 1}) places.push_back({node, 0, 0, 0, 0});
  CHECK(Machine{places}.order(1) == std::vector{1, 3, 2, 0});
}

TEST_CASE("the innermost open group comes first", "[mapping]") {
  // 2 L3 of 2 cores. 0 talks to 1; 2 talks more to 0 than 3 does, but 3 more to both of them.
  const Machine m = Machine::of_cores(1, 1, 2, 2);
  Traffic t{4};
  t.add(0, 1, 3);
  t.add(0, 2, 2);
  t.add(0, 3, 1);
  t.add(1, 3, 1.5);
  CHECK(GreedyMapper{t, m}.grow(m.order()) == std::vector{0, 1, 3, 2});
  t.add(1, 2, 1);
  CHECK(GreedyMapper{t, m}.grow(m.order()) == std::vector{0, 1, 2, 3});
}

TEST_CASE("one, two and three ranks", "[mapping]") {
  for (int ranks = 1; ranks <= 3; ++ranks) {
    const Machine together = Machine::of_cores(1, 1, 1, ranks);
    const Machine apart = Machine::of_cores(ranks, 1, 1, 1);
    for (const CatalogueRow& row : catalogue()) {
      if (row.plan == nullptr || (row.needs & capability::forecast) != 0) continue;
      const AnySchedule s = row.plan().resolved(ranks, 1 << 20);
      for (std::size_t i = 0; i < collective_count; ++i) {
        const auto c = static_cast<Collective>(i);
        if (!s.serves(c) || is_prefix_reduction(c)) continue;
        for (int root = 0; root < (is_rooted(c) ? ranks : 1); ++root) {
          INFO(s.name() << " " << name_of(c) << ", " << ranks << " ranks, root " << root);
          for (const Machine& m : {together, apart}) {
            const MappedOrder mapped = map_positions(s, c, m, root);
            CHECK(mapped.verdict == Verdict::gains_nothing);
            CHECK(mapped.order == Order::rotation(ranks, root));
          }
        }
      }
    }
  }
}

TEST_CASE("ranks that share cores stay together; unbound ones go by node alone", "[mapping]") {
  // Two cores, ranks 0 2 4 on one and 1 3 5 on the other, in L3s of their own.
  std::vector<Place> places;
  for (int r = 0; r < 6; ++r) {
    const auto core = static_cast<std::uint16_t>(r % 2);
    places.push_back({0, 0, 0, core, core});
  }
  const MappedOrder shared = mapped_ring(Machine{places});
  CHECK(shared.verdict == Verdict::mapped);
  CHECK(ranks_of(shared.order) == std::vector{0, 2, 4, 1, 3, 5});

  const std::vector<Place> unbound(6);
  const MappedOrder anywhere = mapped_ring(Machine{unbound});
  CHECK(anywhere.verdict == Verdict::gains_nothing);
  CHECK(anywhere.arranged.inside == 0);

  for (int r = 0; r < 6; ++r) places[static_cast<std::size_t>(r)] = Place{r % 2};
  const Machine by_node{places};
  CHECK(ranks_of(mapped_ring(by_node).order) == std::vector{0, 2, 4, 1, 3, 5});
  CHECK(by_node.groups({Level::l3}) == GroupColours{{0, 1, 0, 1, 0, 1}});
  // Bound to a package, but to no core of it, beside one that is bound to a core.
  places = {{0, 1, 1}, {0, 0, 0}, {0, 1, 1, 2, 5}, {0, 0, 0}};
  CHECK(Machine{places}.order() == std::vector{0, 2, 1, 3});
  CHECK(Machine{places}.groups({Level::l3}) == GroupColours{{2, 0, 1, 0}});
  CHECK(Machine{places}.groups({Level::package}) == GroupColours{{1, 0, 1, 0}});
}

TEST_CASE("the same machine has the same orders", "[mapping]") {
  const Machine m = machines::fat_tree_of_32(130, Placement::random);
  const Machine copy{{m.places().begin(), m.places().end()}, m.network()};
  std::size_t used = 0;
  for (const CatalogueRow& row : catalogue()) {
    if (row.plan == nullptr || (row.needs & capability::forecast) != 0) continue;
    const AnySchedule s = row.plan().resolved(130, 1 << 20);
    for (std::size_t i = 0; i < collective_count; ++i) {
      const auto c = static_cast<Collective>(i);
      if (!s.serves(c) || is_prefix_reduction(c)) continue;
      const MappedOrder once = map_positions(s, c, m, 0);
      const MappedOrder again = map_positions(s, c, copy, 0);
      INFO(s.name() << " " << name_of(c));
      CHECK(once.verdict == again.verdict);
      const std::vector<int> ranks = ranks_of(once.order);
      CHECK(ranks == ranks_of(again.order));
      std::vector<int> sorted = ranks;
      std::sort(sorted.begin(), sorted.end());
      std::vector<int> all(130);
      std::iota(all.begin(), all.end(), 0);
      CHECK(sorted == all);
      used += once.verdict == Verdict::mapped ? 1 : 0;
    }
  }
  CHECK(used > 10);
}
