// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/error.hpp>
#include <papcoll/topology/machine.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

using namespace papcoll;

namespace {

using Ranks = std::vector<int>;

/// `ranks` ranks dealt out by node.
Machine by_node(const Machine& cores, int nodes) {
  const int each = cores.size() / nodes;
  std::vector<Place> places;
  for (int r = 0; r < cores.size(); ++r)
    places.push_back(cores.place(r % nodes * each + r / nodes));
  return Machine{std::move(places), cores.network()};
}

bool is_permutation_of_ranks(Ranks order) {
  std::sort(order.begin(), order.end());
  Ranks all(order.size());
  std::iota(all.begin(), all.end(), 0);
  return order == all;
}

}  // namespace

TEST_CASE("ranks by core are in order; from an anchor on, its branches come first", "[topology]") {
  // 2 nodes of 2 packages with 2 L3 of 2 cores: 16 ranks.
  const Machine m = Machine::of_cores(2, 2, 2, 2);
  Ranks in_order(16);
  std::iota(in_order.begin(), in_order.end(), 0);
  CHECK(m.order(0) == in_order);
  // Rank 13 is on node 1, package 1, L3 2 of that node, the second core of it.
  CHECK(m.order(13) == Ranks{13, 12, 14, 15, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(m.together(13, 12) == 4);  // node, package, NUMA domain, L3
  CHECK(m.together(13, 14) == 3);
  CHECK(m.together(13, 8) == 1);
  CHECK(m.together(13, 0) == 0);
  CHECK(m.together(13, 13) == m.depth());
  CHECK(m.hops(13, 8) == 0);
  CHECK(m.hops(13, 0) == 2);
}

TEST_CASE("ranks by node are gathered node by node", "[topology]") {
  const Machine m = by_node(Machine::of_cores(3, 1, 2, 2), 3);
  CHECK(m.order(0) == Ranks{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11});
  CHECK(m.order(7) == Ranks{7, 10, 1, 4, 0, 3, 6, 9, 2, 5, 8, 11});
}

TEST_CASE("one to four sockets, by socket", "[topology]") {
  for (const int sockets : {1, 2, 4}) {
    // Ranks go around the sockets: rank r is on socket r modulo `sockets`.
    std::vector<Place> places;
    for (int r = 0; r < 4 * sockets; ++r) {
      const auto s = static_cast<std::uint16_t>(r % sockets);
      const auto core = static_cast<std::uint16_t>(s * 4 + r / sockets);
      places.push_back({0, s, s, s, core});
    }
    const Machine m{std::move(places)};
    const Ranks order = m.order(0);
    CHECK(is_permutation_of_ranks(order));
    for (std::size_t i = 0; i < order.size(); ++i) {
      CHECK(m.place(order[i]).package == i / 4);
      CHECK(order[i] == static_cast<int>(i / 4) + static_cast<int>(i % 4) * sockets);
    }
  }
}

TEST_CASE("nodes of 24 and 48 cores, and three unequal nodes", "[topology]") {
  const Machine wide = Machine::of_cores(2, 2, 4, 6);  // 48 cores a node, L3s of 6
  CHECK(wide.size() == 96);
  CHECK(wide.place(47).l3 == 7);
  CHECK(wide.groups({Level::l3}).front()[47] == 7);
  CHECK(Machine::of_cores(4, 2, 2, 6).order(95).front() == 95);  // 24 cores a node

  // 3, 1 and 2 ranks, dealt out: 0 1 2, 3 (node 0) 4 (node 2), 5 (node 0)
  std::vector<Place> places;
  for (const int node : {0, 1, 2, 0, 2, 0}) places.push_back({node, 0, 0, 0, Place::anywhere});
  const Machine m{std::move(places)};
  CHECK(m.order(0) == Ranks{0, 3, 5, 1, 2, 4});
  CHECK(m.order(4) == Ranks{4, 2, 0, 3, 5, 1});
  CHECK(m.groups({Level::node}) == GroupColours{{0, 1, 2, 0, 2, 0}});
}

TEST_CASE("a fat tree keeps leaf switches together", "[topology]") {
  // 4 nodes of 1 core, two to a leaf switch; ranks on nodes 0 2 1 3.
  std::vector<Place> places;
  for (const int node : {0, 2, 1, 3}) places.push_back({node, 0, 0, 0, 0});
  const Machine m{std::move(places), Network::fat_tree(4, {2})};
  CHECK(m.network().levels() == 1);
  CHECK(m.order(0) == Ranks{0, 2, 1, 3});
  CHECK(m.order(3) == Ranks{3, 1, 0, 2});
  CHECK(m.hops(0, 2) == 2);
  CHECK(m.hops(0, 1) == 4);
  // Colours follow the machine; of each list the lowest ranks of groups are asked for the next.
  CHECK(m.groups({Level::node, Level::leaf_switch}).back() == Ranks{0, 1, 0, 1});
}

TEST_CASE("a dragonfly by hops: groups of all-to-all routers", "[topology]") {
  // 2 groups of 2 nodes: 2 hops in a group, 5 between groups.
  const std::vector<float> hops{0, 2, 5, 5, 2, 0, 5, 5, 5, 5, 0, 2, 5, 5, 2, 0};
  const Network network = Network::by_hops(4, hops);
  CHECK(network.levels() == 1);
  CHECK(network.branch(0, 0) == network.branch(0, 1));
  CHECK(network.branch(0, 0) != network.branch(0, 2));
  std::vector<Place> places;
  for (const int node : {0, 3, 1, 2}) places.push_back({node, 0, 0, 0, 0});
  const Machine m{std::move(places), network};
  CHECK(m.order(0) == Ranks{0, 2, 3, 1});
  CHECK(m.hops(0, 1) == 5);
}

TEST_CASE("ranks that share a core, and ranks that are not bound", "[topology]") {
  std::vector<Place> places(4);
  places[1].core = places[3].core = 2;
  const Machine m{places};
  CHECK(m.order(0) == Ranks{0, 2, 1, 3});  // those on any core are together
  CHECK(m.order(3) == Ranks{3, 1, 0, 2});
  CHECK(m.together(1, 3) == m.depth());
  CHECK(m.groups({Level::core}).front() == Ranks{1, 0, 1, 0});
}

TEST_CASE("a part of a machine has its nodes alone", "[topology]") {
  const Machine m = Machine::of_cores(8, 1, 1, 2, Network::fat_tree(8, {2, 2}));
  const std::vector<int> ranks{14, 3, 2};
  const Machine part = m.among(ranks);
  CHECK(part.size() == 3);
  CHECK(part.network().nodes() == 2);
  CHECK(part.hops(0, 1) == m.hops(14, 3));
  CHECK(part.hops(1, 2) == 0);
  CHECK(part.order(1) == Ranks{1, 2, 0});
}

TEST_CASE("the smallest machines", "[topology]") {
  CHECK(Machine{}.size() == 0);
  CHECK(Machine::of_cores(1, 1, 1, 1).order(0) == Ranks{0});
  CHECK(Machine::of_cores(2, 1, 1, 1).order(1) == Ranks{1, 0});
  CHECK(Network::fat_tree(1, {4}).hops(0, 0) == 0);
  CHECK(Network::fat_tree(0, {}).nodes() == 0);
}

TEST_CASE("networks that cannot be are refused", "[topology]") {
  using Up = Network::Uplink;
  const auto complaint = [](auto&& make) -> std::string {
    try {
      make();
    } catch (const argument_error& e) {
      return e.what();
    }
    return "";
  };
  const auto has = [](const std::string& text, const std::string& part) {
    INFO(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(has(complaint([] {
              Network::tree(1, {Up{1, 1, 1}, Up{2, 1, 1}, Up{1, 1, 1}, Up{}});
            }),
            "cycle"));
  CHECK(has(complaint([] { Network::tree(2, {Up{1, 1, 1}, Up{2, 1, 1}, Up{}}); }), "no switch"));
  CHECK(has(complaint([] { Network::tree(1, {Up{1, 1, 0}, Up{}}); }), "not positive"));
  CHECK(has(complaint([] { Network::tree(1, {Up{1, 1, 1}, Up{}, Up{}}); }), "2 tops"));
  CHECK(has(complaint([] { Network::by_hops(2, {0, 1, 2, 0}); }), "same both ways"));
  CHECK(has(complaint([] { Network::by_hops(2, {0, 1, 1}); }), "4 hops"));
  CHECK(has(complaint([] { Machine{{Place{3, 0, 0, 0, 0}}, Network::one_switch(2)}; }), "joins 2"));
  CHECK(has(complaint([] { Machine{{Place{-1, 0, 0, 0, 0}}}; }), "node -1"));
}

TEST_CASE("links carry what passes them, over their widths", "[topology]") {
  const Network fat = Network::fat_tree(4, {2}, {1, 4});
  LinkLoads loads{fat};
  loads.add(0, 1, 3);  // within a leaf
  loads.add(0, 2, 2);
  loads.add(3, 0, 8);
  loads.add(1, 1, 100);
  CHECK(loads.heaviest() == Approx(8));  // node 3 up, and node 0 down
  CHECK(loads.of_node(0) == Approx(8));
  CHECK(loads.of_node(1) == Approx(3));
  loads.add(3, 1, 30);
  CHECK(loads.of_node(3) == Approx(38));
}
