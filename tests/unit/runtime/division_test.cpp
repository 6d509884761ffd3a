// SPDX-License-Identifier: BSD-3-Clause
// The memory that a communicator sets aside for teams that are made later.

#include "catch.hpp"

#include <papcoll/options.hpp>
#include <papcoll/runtime/setup/division.hpp>
#include <papcoll/runtime/setup/hierarchy.hpp>
#include <papcoll/topology/groups.hpp>

#include <cstddef>
#include <random>
#include <vector>

using namespace papcoll;

namespace {

/// Colours for so many ranks, or groups.
std::vector<int> random_colours(std::mt19937& random, std::size_t n) {
  const auto most = static_cast<int>(random() % n) + 1;
  std::vector<int> colours(n);
  for (int& c : colours) c = static_cast<int>(random() % static_cast<unsigned>(most));
  return colours;
}

bool holds(const detail::NodeBytes& has, const detail::NodeBytes& needed) {
  return has.heads >= needed.heads && has.late >= needed.late && has.buffers >= needed.buffers;
}

}  // namespace

TEST_CASE("a node has room for the teams of any groups of its ranks", "[hierarchical]") {
  std::mt19937 random{42};
  for (int round = 0; round < 300; ++round) {
    const std::size_t ranks = random() % 40 + 1;
    const std::size_t here = random() % ranks + 1;  // the others are on another node
    std::vector<int> node_of(ranks, 0);
    for (std::size_t r = here; r < ranks; ++r) node_of[r] = static_cast<int>(here);
    Options options;
    options.chunk_bytes = std::size_t{64} << random() % 12U;
    std::size_t groups = ranks;
    for (auto levels = random() % 3 + 1; levels-- > 0;) {
      options.groups.push_back(random_colours(random, groups));
      groups = Groups::by_colour(options.groups.back()).members.size();
    }
    const HierarchyPlans plans{options.groups, node_of, 0, options.chunk_bytes};
    const auto has =
        detail::Division::bytes(static_cast<int>(here), here == ranks, nullptr, options);
    CHECK(holds(has, plans.bytes()));
  }
}

TEST_CASE("a node has room for the teams of its caches, and of a communicator's nodes",
          "[hierarchical]") {
  std::mt19937 random{42};
  for (int round = 0; round < 100; ++round) {
    const std::size_t ranks = random() % 40 + 1;
    const Options options;
    const std::vector<int> colours = random_colours(random, ranks);
    const Groups caches = Groups::by_colour(colours);
    const std::vector<int> one_node(ranks, 0);
    const HierarchyPlans by_caches{{colours}, one_node, 0, options.chunk_bytes, true};
    CHECK(holds(detail::Division::bytes(static_cast<int>(ranks), true, &caches, options),
                by_caches.bytes()));
    std::vector<int> two_nodes(one_node);
    two_nodes.push_back(static_cast<int>(ranks));
    const HierarchyPlans by_nodes{{two_nodes}, two_nodes, 0, options.chunk_bytes};
    CHECK(holds(detail::Division::bytes(static_cast<int>(ranks), false, nullptr, options),
                by_nodes.bytes()));
  }
}
