#pragma once

#include <papcoll/topology/machine.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace bench {

/// How ranks are dealt out over a machine: core by core, in turn to all nodes, node by node but
/// there in turn to the packages, or at random over the cores that by_core takes.
enum class RankOrder : unsigned char { by_core, by_node, by_socket, random };

inline constexpr std::array<std::string_view, 4> rank_order_names{"by-core", "by-node", "by-socket",
                                                                  "random"};

/// A machine whose nodes are all alike, on a fat tree of leaf switches and one above them, or by
/// hops.
struct MachineShape {
  int nodes = 0;           ///< 0: no machine is described
  int packages = 1;        ///< of a node
  int l3 = 1;              ///< caches of a package
  int cores = 1;           ///< of an L3 cache
  int leaf = 0;            ///< nodes on a leaf switch; 0: all are on one
  int uplinks = 1;         ///< of a leaf switch, each as wide as a node's
  bool by_routes = false;  ///< no tree: hops are the links between the hosts of simulated ranks

  int cores_a_node() const { return packages * l3 * cores; }
};

/// "nodes=8,packages=2,cores=16,leaf=4" or "nodes=32,cores=8,routes". Throws std::invalid_argument.
MachineShape parse_machine(std::string_view text);

/// Where `ranks` ranks are, as benchmarks/reproduce/platforms.py places them: random orders follow
/// from the seed in the same way there. Of a shape by routes, all nodes are on one switch. Throws
/// std::invalid_argument.
papcoll::Machine machine_of(const MachineShape& shape, RankOrder order, int ranks,
                            std::uint64_t seed);

}  // namespace bench
