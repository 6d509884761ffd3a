#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/schedule/traffic.hpp>
#include <papcoll/topology/machine.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace papcoll::inline PAPCOLL_ABI {

/// What a call costs the machine in one order of its positions, in shares of its vector.
struct MappingCost {
  double byte_hops = 0;      ///< bytes × hops of the network, of all messages
  double heaviest_link = 0;  ///< bytes over the width of the link of which that is most
  double inside = 0;         ///< bytes × distance inside of nodes: 3 between packages, 2 between
                             ///< NUMA domains, 1 between L3 caches

  /// Is it no worse between nodes, by more than rounding?
  bool no_worse_than(const MappingCost& o) const noexcept {
    return byte_hops <= o.byte_hops * more && heaviest_link <= o.heaviest_link * more;
  }
  /// Is it better in one of these or, where both are the same, inside of nodes?
  bool gains_on(const MappingCost& o) const noexcept {
    return byte_hops * more < o.byte_hops || heaviest_link * more < o.heaviest_link ||
           (byte_hops <= o.byte_hops * more && heaviest_link <= o.heaviest_link * more &&
            inside * more < o.inside);
  }

 private:
  static constexpr double more = 1 + 1e-6;
};

/// The cost where position p is played by rank rank_of[p].
[[gnu::cold]] inline MappingCost cost_of(const Traffic& traffic, const Machine& machine,
                                         std::span<const int> rank_of) {
  MappingCost cost;
  LinkLoads loads{machine.network()};
  const int above = machine.network().levels();
  for (const Traffic::Arc& arc : traffic.arcs()) {
    const int a = rank_of[static_cast<std::size_t>(arc.from)];
    const int b = rank_of[static_cast<std::size_t>(arc.to)];
    const Place& from = machine.place(a);
    const Place& to = machine.place(b);
    const double share = static_cast<double>(arc.share);
    if (from.node != to.node) {
      cost.byte_hops += share * machine.network().hops(from.node, to.node);
      loads.add(from.node, to.node, share);
      continue;
    }
    const int together = machine.together(a, b) - above;  // 1: the node, 2: the package …
    cost.inside += share * std::max(0, 4 - together);
  }
  cost.heaviest_link = loads.heaviest();
  return cost;
}

}  // namespace papcoll::inline PAPCOLL_ABI
