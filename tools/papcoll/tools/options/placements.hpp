// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// How a job's ranks come to the places of a machine.

#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/topology/machine.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// Core after core, in turn to all nodes, node after node but there in turn to the packages, or at
/// random to the places that by_core takes.
enum class Placement : unsigned char { by_core, by_socket, by_node, random };
inline constexpr std::array<std::string_view, 4> placement_names{"by-core", "by-socket", "by-node",
                                                                 "random"};

constexpr std::string_view name_of(Placement placement) {
  return placement_names[static_cast<std::size_t>(placement)];
}

inline Placement placement_named(const std::string& name) {
  const auto* const at = std::find(placement_names.begin(), placement_names.end(), name);
  return static_cast<Placement>(at - placement_names.begin());
}

/// Ranks, of which each has its group's branch of a level, in turn from each group.
inline std::vector<int> dealt_in_turn(const Machine& m, const std::vector<int>& ranks, int level) {
  std::vector<std::vector<int>> groups;
  for (const int r : ranks) {
    if (groups.empty() || m.branch(groups.back().front(), level) != m.branch(r, level)) {
      groups.emplace_back();
    }
    groups.back().push_back(r);
  }
  std::vector<int> dealt;
  for (std::size_t i = 0; dealt.size() < ranks.size(); ++i) {
    for (const std::vector<int>& group : groups) {
      if (i < group.size()) dealt.push_back(group[i]);
    }
  }
  return dealt;
}

/// SplitMix64, of Steele, Lea and Flood: so short that benchmarks/reproduce/platforms.py has it,
/// too, and places ranks alike.
inline std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

/// Refuses a machine whose file describes a network alone. Throws argument_error.
inline void require_places(const Machine& machine) {
  if (machine.size() > 0) return;
  throw argument_error(detail::joined(
      {"papcoll: ", machine.source,
       " describes a network alone: add a line of places, which says what is on a node"}));
}

/// The machine of `ranks` ranks on places of a machine, which has one for each of its own ranks.
/// Throws argument_error if these are too few.
inline Machine placed(const Machine& all, Placement placement, int ranks, std::uint64_t seed = 1) {
  require_places(all);
  if (ranks > all.size()) {
    throw argument_error(detail::joined(
        {"papcoll: the machine has places for ", all.size(), " ranks, and not for ", ranks}));
  }
  const int node_level = all.network().levels();
  std::vector<int> places = all.order();
  if (placement == Placement::by_node) places = dealt_in_turn(all, places, node_level);
  if (placement == Placement::by_socket) {
    std::vector<int> dealt;
    for (auto first = places.begin(); first != places.end();) {
      const auto last = std::find_if(
          first, places.end(), [&](int r) { return all.place(r).node != all.place(*first).node; });
      const std::vector<int> on_node = dealt_in_turn(all, {first, last}, node_level + 1);
      dealt.insert(dealt.end(), on_node.begin(), on_node.end());
      first = last;
    }
    places = std::move(dealt);
  }
  places.resize(static_cast<std::size_t>(ranks));
  if (placement == Placement::random) {
    for (std::size_t i = places.size(); i > 1; --i) {
      std::swap(places[i - 1], places[static_cast<std::size_t>(next_random(seed) % i)]);
    }
  }
  std::vector<Place> taken;
  taken.reserve(places.size());
  for (const int r : places) taken.push_back(all.place(r));
  return Machine{std::move(taken), all.network()};
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
