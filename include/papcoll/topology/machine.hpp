#pragma once

#include <papcoll/base/config.hpp>
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
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Where a rank sits: its node, and of that the objects it is in. Numbers of objects tell those of
/// one node apart, and are not the same for two objects of a kind even where these are in different
/// objects around them. `anywhere`: the rank may run on several of a kind, or the kind is unknown.
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

/// Where each of a number of ranks sits, and the network between their nodes: a value, made by a
/// producer (topology/linux.hpp, hwloc.hpp, network_file.hpp) or in code. Memory for ranks, and
/// where the network is by hops, for pairs of nodes; none for pairs of ranks.
///
/// Ranks are leaves of a tree: levels of the network, then node, package, NUMA domain, L3 and core.
/// They are numbered from 0 to size() − 1, which no function checks unless it says that it throws.
class Machine {
 public:
  /// The most places that a file or a command line may describe.
  static constexpr int most_described = 1 << 22;

  /// No ranks.
  Machine() = default;

  /// Rank r sits at places[r]. `network` has at least the nodes of the places; empty: one switch.
  /// Throws argument_error.
  explicit Machine(std::vector<Place> places, Network network = {});

  /// `nodes` nodes, each with so many packages, L3 caches in a package and cores in an L3, and a
  /// rank on each core, ordered by node and core. NUMA domains are packages.
  static Machine of_cores(int nodes, int packages, int l3, int cores, Network network = {});

  /// What made it, for messages: "Linux", "hwloc", "in code"…
  std::string source = "described in code";
  CacheSizes caches{};         ///< of the processor this rank runs on
  detail::Vector<Gpu> gpus{};  ///< of this rank's node, if the producer looks for them
  /// Of a description of a network alone: hash_of_host() of each node.
  std::vector<std::uint64_t> hosts{};

  int size() const noexcept { return static_cast<int>(places_.size()); }
  const Place& place(int rank) const noexcept { return places_[static_cast<std::size_t>(rank)]; }
  std::span<const Place> places() const noexcept { return places_; }
  const Network& network() const noexcept { return network_; }

  /// How many levels the tree has. Level 0 is the outermost of the network, depth() − 5 the nodes,
  /// depth() − 1 the cores.
  int depth() const noexcept { return network_.levels() + 5; }
  /// The branch of the tree that a rank is in, on a level: ranks whose branches are the same up to
  /// there are together.
  std::uint32_t branch(int rank, int level) const noexcept {
    const Place& p = place(rank);
    const int inside = level - network_.levels();
    switch (inside) {
      case 0:
        return static_cast<std::uint32_t>(p.node);
      case 1:
        return p.package;
      case 2:
        return p.numa;
      case 3:
        return p.l3;
      case 4:
        return p.core;
      default:
        return static_cast<std::uint32_t>(network_.branch(level, p.node));
    }
  }
  /// On how many levels two ranks are together, from the outermost on: depth() if on one core.
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

  /// The same places and network, whatever made it.
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

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/topology/machine.ipp>
#endif
