// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Machines to try orders on.

#include <papcoll/topology/machine.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace machines {

/// Ranks dealt out by node: rank r is on node r modulo `nodes`, of which each has two packages, and
/// two nodes are on a switch.
inline papcoll::Machine dealt_by_node(int ranks, int nodes) {
  const int each = (ranks + nodes - 1) / nodes;
  std::vector<papcoll::Place> places;
  for (int r = 0; r < ranks; ++r) {
    const auto core = static_cast<std::uint16_t>(r / nodes);
    const auto package = static_cast<std::uint16_t>(2 * core / each);
    places.push_back({r % nodes, package, package, package, core});
  }
  return papcoll::Machine{std::move(places), papcoll::Network::fat_tree(nodes, {2})};
}

/// How ranks come to their places.
enum class Placement : unsigned char { by_core, by_node, by_socket, random };
inline constexpr std::array all_placements{Placement::by_core, Placement::by_node,
                                           Placement::by_socket, Placement::random};

/// 32 cores a node: 2 packages with 2 L3 of 8 cores each; 4 nodes to a leaf switch. The last node
/// may have cores left.
inline papcoll::Machine fat_tree_of_32(int ranks, Placement placement) {
  const int nodes = (ranks + 31) / 32;
  const papcoll::Machine cores = papcoll::Machine::of_cores(nodes, 2, 2, 8);
  std::vector<papcoll::Place> places;
  std::vector<int> taken(static_cast<std::size_t>(nodes), 0);
  std::vector<int> of_all(static_cast<std::size_t>(cores.size()));
  std::iota(of_all.begin(), of_all.end(), 0);
  if (placement == Placement::random) {
    std::shuffle(of_all.begin(), of_all.end(), std::mt19937{7});
  }
  for (int r = 0; r < ranks; ++r) {
    int place = of_all[static_cast<std::size_t>(r)];
    if (placement == Placement::by_node) {
      place = r % nodes * 32 + taken[static_cast<std::size_t>(r % nodes)]++;
    } else if (placement == Placement::by_socket) {
      const int i = r % 32;
      place = r - i + i % 2 * 16 + i / 2;
    }
    places.push_back(cores.place(place));
  }
  return papcoll::Machine{std::move(places), papcoll::Network::fat_tree(nodes, {4})};
}

/// The same ranks on a dragonfly: groups of 4 nodes, 2 hops within and 5 between them.
inline papcoll::Machine dragonfly_of_32(int ranks, Placement placement) {
  const papcoll::Machine m = fat_tree_of_32(ranks, placement);
  const int nodes = m.network().nodes();
  std::vector<float> hops;
  for (int a = 0; a < nodes; ++a) {
    for (int b = 0; b < nodes; ++b) hops.push_back(a == b ? 0.0F : a / 4 == b / 4 ? 2.0F : 5.0F);
  }
  return papcoll::Machine{{m.places().begin(), m.places().end()},
                          papcoll::Network::by_hops(nodes, std::move(hops))};
}

}  // namespace machines
