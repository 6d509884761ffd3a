#include "catch.hpp"

#include <papcoll/mapping/arranged.hpp>
#include <papcoll/mapping/map_positions.hpp>
#include <papcoll/names/rows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace papcoll;

namespace {

using Ranks = std::vector<int>;

enum class Initial { by_core, by_node, by_socket, random };

/// 32 cores a node: 2 packages with 2 L3 of 8 cores each; 4 nodes to a leaf switch.
Machine fat(int ranks, Initial initial) {
  const int nodes = (ranks + 31) / 32;
  const Machine cores = Machine::of_cores(nodes, 2, 2, 8);
  std::vector<Place> places;
  std::vector<int> taken(static_cast<std::size_t>(nodes), 0);
  std::vector<int> of_all(static_cast<std::size_t>(cores.size()));
  for (std::size_t i = 0; i < of_all.size(); ++i) of_all[i] = static_cast<int>(i);
  if (initial == Initial::random) {
    std::shuffle(of_all.begin(), of_all.end(), std::mt19937{7});
  }
  for (int r = 0; r < ranks; ++r) {
    int place = of_all[static_cast<std::size_t>(r)];
    if (initial == Initial::by_node) {
      place = r % nodes * 32 + taken[static_cast<std::size_t>(r % nodes)]++;
    } else if (initial == Initial::by_socket) {
      const int i = r % 32;
      place = r - i + i % 2 * 16 + i / 2;
    }
    places.push_back(cores.place(place));
  }
  return Machine{std::move(places), Network::fat_tree(nodes, {4})};
}

/// The same ranks on a dragonfly: groups of 4 nodes, 2 hops within and 5 between them.
Machine dragonfly(int ranks, Initial initial) {
  const Machine m = fat(ranks, initial);
  const int nodes = m.network().nodes();
  std::vector<float> hops;
  for (int a = 0; a < nodes; ++a) {
    for (int b = 0; b < nodes; ++b) hops.push_back(a == b ? 0.0F : a / 4 == b / 4 ? 2.0F : 5.0F);
  }
  return Machine{{m.places().begin(), m.places().end()}, Network::by_hops(nodes, std::move(hops))};
}

/// Bytes × hops and the heaviest link, counted by themselves.
std::pair<double, double> count(const Traffic& traffic, const Machine& m, const Order& order) {
  double byte_hops = 0;
  std::map<int, double> up;
  std::map<int, double> down;
  const Network& n = m.network();
  for (const Traffic::Arc& a : traffic.arcs()) {
    int from = m.place(order.rank(a.from)).node;
    int to = m.place(order.rank(a.to)).node;
    const auto share = static_cast<double>(a.share);
    byte_hops += share * n.hops(from, to);
    if (from == to) continue;
    up[from] += share;
    down[to] += share;
    if (!n.is_tree()) continue;
    const int leaf_from = n.uplinks()[static_cast<std::size_t>(from)].switch_number;
    const int leaf_to = n.uplinks()[static_cast<std::size_t>(to)].switch_number;
    if (leaf_from == leaf_to) continue;
    up[leaf_from] += share;
    down[leaf_to] += share;
  }
  double heaviest = 0;
  for (const auto& [link, load] : up) heaviest = std::max(heaviest, load);
  for (const auto& [link, load] : down) heaviest = std::max(heaviest, load);
  return {byte_hops, heaviest};
}

std::vector<AnySchedule> schedules() {
  std::vector<AnySchedule> all;
  for (const CatalogueRow& row : catalogue()) {
    if (row.plan != nullptr && (row.needs & capability::forecast) == 0) all.push_back(row.plan());
  }
  all.emplace_back(ScatterAllgather{ScatterAllgather::Gathering::bruck});
  all.push_back(AnySchedule{AnyReduceThenBcast{Binomial{}, Chain{}}});
  return all;
}

}  // namespace

TEST_CASE("arranged positions", "[mapping]") {
  CHECK(arranged_positions(Arrangement::consecutive, 4) == Ranks{0, 1, 2, 3});
  CHECK(arranged_positions(Arrangement::bit_reversed, 8) == Ranks{0, 4, 2, 6, 1, 5, 3, 7});
  // Core positions 0 and 1 speak for 1 and 3; the core is 0 2 4 5.
  CHECK(arranged_positions(Arrangement::bit_reversed, 6) == Ranks{0, 1, 4, 2, 3, 5});
  // 1 has 2 and 3, 2 has 4 and 5, 3 has 6.
  CHECK(arranged_positions(Arrangement::depth_first, 7) == Ranks{0, 1, 3, 6, 2, 5, 4});
  for (const Arrangement a : {Arrangement::by_traffic, Arrangement::bit_reversed,
                              Arrangement::consecutive, Arrangement::depth_first}) {
    for (int size = 1; size < 40; ++size) {
      Ranks all = arranged_positions(a, size);
      CHECK(all.front() == 0);
      std::sort(all.begin(), all.end());
      CHECK(all == arranged_positions(Arrangement::consecutive, size));
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
  CHECK(PositionGrower{t, m}.grow(m.order()) == Ranks{0, 2, 1, 3});
  // Nobody talks: in order.
  CHECK(PositionGrower{Traffic{4}, m}.grow(m.order()) == Ranks{0, 1, 2, 3});
  // Of two that talk alike, the one that leaves least outside.
  Traffic tie{4};
  tie.add(0, 1, 1);
  tie.add(0, 2, 1);
  tie.add(1, 3, 1);
  CHECK(PositionGrower{tie, m}.grow(m.order()) == Ranks{0, 2, 1, 3});
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

TEST_CASE("verdicts", "[mapping]") {
  using Verdict = MappedOrder::Verdict;
  const Machine by_node = fat(128, Initial::by_node);
  const Machine by_core = fat(128, Initial::by_core);
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
  const Machine m = fat(512, Initial::by_node);
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

TEST_CASE("no order that is used is worse than that of the ranks", "[mapping]") {
  std::size_t used = 0;
  for (const int ranks : {64, 96, 130, 256, 500}) {
    for (const Initial initial :
         {Initial::by_core, Initial::by_node, Initial::by_socket, Initial::random}) {
      for (const Machine& m : {fat(ranks, initial), dragonfly(ranks, initial)}) {
        for (const AnySchedule& named : schedules()) {
          for (std::size_t i = 0; i < collective_count; ++i) {
            const auto c = static_cast<Collective>(i);
            if (!named.serves(c) || is_prefix_reduction(c)) continue;
            const AnySchedule s = named.resolved(ranks, 1 << 20);
            const int root = is_rooted(c) ? ranks / 3 : 0;
            const MappedOrder mapped = map_positions(s, c, m, root);
            if (mapped.verdict != MappedOrder::Verdict::mapped) continue;
            ++used;
            INFO(s.name() << " " << name_of(c) << ", " << ranks << " ranks, placement "
                          << static_cast<int>(initial));
            const auto traffic = traffic_of(s, c, ranks);
            REQUIRE(traffic.has_value());
            const auto before = count(*traffic, m, Order::rotation(ranks, root));
            const auto after = count(*traffic, m, mapped.order);
            CHECK(after.first <= before.first * (1 + 1e-5));
            CHECK(after.second <= before.second * (1 + 1e-5));
            CHECK(after.first == Approx(mapped.arranged.byte_hops));
            CHECK(after.second == Approx(mapped.arranged.heaviest_link));
          }
        }
      }
    }
  }
  CHECK(used > 300);
}
