// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/topology/groups.hpp>
#include <papcoll/topology/network.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// The place of a rank: its node, and the objects of the node that contain it. Numbers of objects
/// are unique within a node for each kind, also among objects in different enclosing objects.
/// `anywhere`: the rank may run on several objects of a kind, or the kind is unknown.
struct Place {
  static constexpr std::uint16_t anywhere = std::numeric_limits<std::uint16_t>::max();

  int node = 0;
  std::uint16_t package = anywhere;
  std::uint16_t numa = anywhere;
  std::uint16_t l3 = anywhere;
  std::uint16_t core = anywhere;

  friend bool operator==(const Place&, const Place&) = default;
};

/// What ranks may have in common, from the inside out. `leaf_switch`: the inmost level of branches
/// of the network.
enum class Level : unsigned char { core, l3, numa, package, node, leaf_switch };

/// "core", "L3", "NUMA domain", "package", "node", "leaf switch".
PAPCOLL_DECL std::string_view name_of(Level level) noexcept;

/// Bytes of a processor's data caches; 0 where unknown.
struct CacheSizes {
  std::size_t l1 = 0;
  std::size_t l2 = 0;
  std::size_t l3 = 0;
  friend bool operator==(const CacheSizes&, const CacheSizes&) = default;
};

/// A number for the name of a host, up to its first dot: the same for n1 and n1.example.org. Of an
/// address such as 10.0.0.1 all counts.
inline std::uint64_t hash_of_host(std::string_view name) noexcept {
  const bool is_address = name.find_first_not_of("0123456789.") == std::string_view::npos;
  if (!is_address) name = name.substr(0, name.find('.'));
  return detail::hash_of_text(name);
}

/// A GPU of a node.
struct Gpu {
  std::string name;  ///< its address on the PCI bus, or what the producer calls it
  std::uint16_t numa = Place::anywhere;
  std::uint16_t package = Place::anywhere;  ///< by hwloc
  std::string devices{};                    ///< its names in the system, "cuda0, nvml0", by hwloc
  std::string model{};                      ///< what its vendor calls it, by hwloc
  /// Addresses of the PCI bridges that it is behind, the outermost first.
  std::vector<std::string> bridges{};
  friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// The places of a number of ranks, and the network between their nodes: a value, made by a
/// producer (topology/linux.hpp, hwloc.hpp, network_file.hpp) or in code. Uses memory for ranks
/// and, if the network is given by hops, for pairs of nodes; none for pairs of ranks.
///
/// Ranks are leaves of a tree: levels of the network, then node, package, NUMA domain, L3 cache and
/// core. They are numbered from 0 to size() − 1, which is not checked unless a function is
/// documented to throw.
///
/// Example:
///
///     // 2 nodes of 2 packages with 1 L3 cache and 8 cores each: 32 ranks
///     const papcoll::Machine machine = papcoll::Machine::of_cores(2, 2, 1, 8);
class Machine {
 public:
  /// The most places that a file or a command line may describe.
  static constexpr int most_described = 1 << 22;

  /// Constructs a machine without ranks.
  Machine() = default;

  /// Constructs a machine in which rank r is at places[r]. `network` must have at least the nodes
  /// of the places; an empty one stands for one switch. Throws argument_error.
  explicit Machine(std::vector<Place> places, Network network = {});

  /// Returns a machine of `nodes` nodes, each with `packages` packages of `l3` L3 caches of `cores`
  /// cores, and a rank on each core, ordered by node and core. NUMA domains are packages.
  static Machine of_cores(int nodes, int packages, int l3, int cores, Network network = {});

  /// What made it, for messages: "Linux", "hwloc", "in code"…
  std::string source = "described in code";
  CacheSizes caches{};         ///< of the processor this rank runs on
  detail::Vector<Gpu> gpus{};  ///< of this rank's node, if the producer looks for them
  /// hash_of_host() of each node, in a description of a network alone.
  std::vector<std::uint64_t> hosts{};

  int size() const noexcept { return static_cast<int>(places_.size()); }
  const Place& place(int rank) const noexcept { return places_[static_cast<std::size_t>(rank)]; }
  std::span<const Place> places() const noexcept { return places_; }
  const Network& network() const noexcept { return network_; }

  /// Returns the number of levels. Level 0 is the outermost of the network, depth() − 5 the nodes,
  /// depth() − 1 the cores.
  int depth() const noexcept { return network_.levels() + 5; }
  /// Returns the branch that contains the rank on `level`, 0 being the outermost. Two ranks share a
  /// subtree down to a level if their branches agree on that level and on every level above it.
  std::uint32_t branch(int rank, int level) const noexcept {
    const Place& p = place(rank);
    const int inside = level - network_.levels();
    switch (inside) {
      case 0: return static_cast<std::uint32_t>(p.node);
      case 1: return p.package;
      case 2: return p.numa;
      case 3: return p.l3;
      case 4: return p.core;
      default: return static_cast<std::uint32_t>(network_.branch(level, p.node));
    }
  }
  /// Returns the number of levels, from the outermost on, on which two ranks share a branch:
  /// depth() if they are on one core.
  int together(int a, int b) const noexcept;

  /// Hops of the network between two ranks.
  double hops(int a, int b) const noexcept { return network_.hops(place(a).node, place(b).node); }

  /// All ranks, depth first: the branch that the anchor is in comes first on every level, the
  /// others follow by number; on one core, by rank.
  std::vector<int> order(int anchor = 0) const;

  /// The ranks that are together on each of the levels, from the inside out, as Options::groups
  /// wants them: groups({Level::l3}), groups({Level::node, Level::leaf_switch}). A rank that may
  /// run on several L3 caches is in one group with those of its package that may, and so on.
  GroupColours groups(std::initializer_list<Level> levels) const;

  /// The machine of some of its ranks, which are then 0, 1, … in the order given.
  Machine among(std::span<const int> ranks) const;

  /// Returns true if places and network are equal, whatever described them.
  friend bool operator==(const Machine& a, const Machine& b) {
    return a.places_ == b.places_ && a.network_ == b.network_;
  }

 private:
  void sort();
  int sorted(std::size_t i) const noexcept {
    return sorted_.empty() ? static_cast<int>(i) : sorted_[i];
  }

  std::vector<Place> places_;
  Network network_;
  std::vector<int> sorted_;  ///< ranks by their branches; empty: they are sorted as they are
};

/// The groups in which the ranks of one node are near each other: those that share an L3 cache,
/// else a NUMA domain, else a package: the first of which there are several, one of them with
/// several ranks. Null if there are none, as where ranks are not bound, or are on several nodes.
[[gnu::cold]] inline detail::Shared<const Groups> cache_groups(std::span<const Place> places) {
  const auto shares = [](const Place& a, const Place& b, Level level) {
    return a.node == b.node && a.package == b.package &&
           (level == Level::package || a.numa == b.numa) && (level != Level::l3 || a.l3 == b.l3);
  };
  if (places.size() < 3) return nullptr;
  bool all_share_l3 = true;
  for (const Place& p : places) {
    if (p.node != places.front().node) return nullptr;
    all_share_l3 = all_share_l3 && shares(p, places.front(), Level::l3);
  }
  if (all_share_l3) return nullptr;
  for (const Level level : {Level::l3, Level::numa, Level::package}) {
    std::vector<int> lowest(places.size());  // the first rank with which each shares it
    for (std::size_t r = 0; r < places.size(); ++r) {
      std::size_t first = 0;
      while (!shares(places[first], places[r], level)) ++first;
      lowest[r] = static_cast<int>(first);
    }
    Groups groups = Groups::by_colour(lowest);
    if (groups.count() > 1 && groups.count() < groups.size()) {
      return detail::make_shared<const Groups>(std::move(groups));
    }
  }
  return nullptr;
}

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/base/error.hpp>

#include <algorithm>
#include <array>
#include <numeric>

namespace papcoll::inline PAPCOLL_ABI {

PAPCOLL_DECL std::string_view name_of(Level level) noexcept {
  constexpr std::array<std::string_view, 6> names{"core",    "L3",   "NUMA domain",
                                                  "package", "node", "leaf switch"};
  return names[static_cast<std::size_t>(level)];
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

#endif
