#pragma once

// Machines to try orders on.

#include <papcoll/topology/machine.hpp>

#include <cstdint>
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

}  // namespace machines
