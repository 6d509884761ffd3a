#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/topology/machine.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

PAPCOLL_DECL std::string_view name_of(Level level) noexcept {
  switch (level) {
    case Level::core:
      return "core";
    case Level::l3:
      return "L3";
    case Level::numa:
      return "NUMA domain";
    case Level::package:
      return "package";
    case Level::node:
      return "node";
    case Level::leaf_switch:
      break;
  }
  return "leaf switch";
}

[[gnu::cold]] PAPCOLL_DECL Machine::Machine(std::vector<Place> places, Network network)
    : places_(std::move(places)), network_(std::move(network)) {
  int nodes = 0;
  for (const Place& p : places_) {
    if (p.node < 0) {
      detail::throw_error<argument_error>({"papcoll: a place of a machine is on node ", p.node,
                                           ": nodes are 0, 1, "
                                           "…"});
    }
    nodes = std::max(nodes, p.node + 1);
  }
  if (network_.nodes() == 0) network_ = Network::one_switch(nodes);
  if (network_.nodes() < nodes) {
    detail::throw_error<argument_error>({"papcoll: the places of a machine are on ", nodes,
                                         " nodes, but its network joins ", network_.nodes()});
  }
  sort();
}

[[gnu::cold]] PAPCOLL_DECL Machine Machine::of_cores(int nodes, int packages, int l3, int cores,
                                                     Network network) {
  std::vector<Place> places;
  for (int node = 0; node < nodes; ++node) {
    for (int i = 0; i < packages * l3 * cores; ++i) {
      const auto package = static_cast<std::uint16_t>(i / (l3 * cores));
      places.push_back({node, package, package, static_cast<std::uint16_t>(i / cores),
                        static_cast<std::uint16_t>(i)});
    }
  }
  return Machine{std::move(places), std::move(network)};
}

PAPCOLL_DECL int Machine::together(int a, int b) const noexcept {
  int level = 0;
  while (level < depth() && branch(a, level) == branch(b, level)) ++level;
  return level;
}

[[gnu::cold]] PAPCOLL_DECL void Machine::sort() {
  // The branches of the network are those of nodes, of which there are fewer than ranks.
  std::vector<int> nodes(static_cast<std::size_t>(network_.nodes()));
  std::iota(nodes.begin(), nodes.end(), 0);
  detail::heap_sort(nodes.data(), nodes.size(), [this](int a, int b) {
    for (int level = 0; level < network_.levels(); ++level) {
      const auto x = static_cast<std::uint32_t>(network_.branch(level, a));
      const auto y = static_cast<std::uint32_t>(network_.branch(level, b));
      if (x != y) return x < y;
    }
    return a < b;
  });
  std::vector<int> at(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    at[static_cast<std::size_t>(nodes[i])] = static_cast<int>(i);
  }
  const auto before = [&](int a, int b) {
    const Place& x = place(a);
    const Place& y = place(b);
    if (x.node != y.node) {
      return at[static_cast<std::size_t>(x.node)] < at[static_cast<std::size_t>(y.node)];
    }
    if (x.package != y.package) return x.package < y.package;
    if (x.numa != y.numa) return x.numa < y.numa;
    if (x.l3 != y.l3) return x.l3 < y.l3;
    return x.core != y.core ? x.core < y.core : a < b;
  };
  sorted_.resize(places_.size());
  std::iota(sorted_.begin(), sorted_.end(), 0);
  if (std::is_sorted(sorted_.begin(), sorted_.end(), before)) {
    sorted_.clear();
    return;
  }
  detail::heap_sort(sorted_.data(), sorted_.size(), before);
}

[[gnu::cold]] PAPCOLL_DECL std::vector<int> Machine::order(int anchor) const {
  const std::size_t n = places_.size();
  std::vector<int> all;
  all.reserve(n);
  std::size_t here = 0;
  while (here < n && sorted(here) != anchor) ++here;
  if (here == n) return all;
  // In the sorted ranks, those that are together with the anchor on so many levels stand together
  // around it.
  std::size_t lo = here;
  std::size_t hi = here + 1;
  all.push_back(anchor);
  for (int level = depth(); level >= 0; --level) {
    const std::size_t first = lo;
    const std::size_t last = hi;
    while (lo > 0 && together(sorted(lo - 1), anchor) >= level) --lo;
    while (hi < n && together(sorted(hi), anchor) >= level) ++hi;
    for (std::size_t i = lo; i < first; ++i) all.push_back(sorted(i));
    for (std::size_t i = last; i < hi; ++i) all.push_back(sorted(i));
  }
  return all;
}

[[gnu::cold]] PAPCOLL_DECL GroupColours Machine::groups(std::initializer_list<Level> levels) const {
  GroupColours colours;
  std::vector<int> members(places_.size());  // the lowest rank of each group so far
  std::iota(members.begin(), members.end(), 0);
  std::vector<int> group_of(places_.size());
  for (const Level level : levels) {
    const int wanted = depth() - static_cast<int>(level);  // levels that a group has in common
    int group = 0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (i > 0 && together(sorted(i - 1), sorted(i)) < wanted) ++group;
      group_of[static_cast<std::size_t>(sorted(i))] = group;
    }
    std::vector<int> colour;
    colour.reserve(members.size());
    for (const int m : members) colour.push_back(group_of[static_cast<std::size_t>(m)]);
    std::vector<int> next;
    for (const std::vector<int>& together_now : Groups::by_colour(colour).members) {
      next.push_back(members[static_cast<std::size_t>(together_now.front())]);
    }
    colours.push_back(std::move(colour));
    members = std::move(next);
  }
  return colours;
}

[[gnu::cold]] PAPCOLL_DECL Machine Machine::among(std::span<const int> ranks) const {
  std::vector<Place> places;
  places.reserve(ranks.size());
  for (const int r : ranks) places.push_back(place(r));
  std::vector<int> nodes;  // by their new numbers
  std::vector<int> numbers(static_cast<std::size_t>(network_.nodes()), -1);
  for (Place& p : places) {
    int& number = numbers[static_cast<std::size_t>(p.node)];
    if (number < 0) {
      number = static_cast<int>(nodes.size());
      nodes.push_back(p.node);
    }
    p.node = number;
  }
  Machine m{std::move(places), network_.among(nodes)};
  m.source = source;
  m.caches = caches;
  m.gpus = gpus;
  return m;
}

}  // namespace papcoll::inline PAPCOLL_ABI
