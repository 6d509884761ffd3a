// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/schedule_traits.hpp>
#include <papcoll/topology/machine.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {

/// What a call costs the machine in one order of its positions, in shares of its vector.
struct MappingCost {
  double byte_hops = 0;      ///< bytes × hops of the network, of all messages
  double heaviest_link = 0;  ///< bytes over the width of the link of which that is most
  double inside = 0;         ///< bytes × distance inside of nodes: 3 between packages, 2 between
                             ///< NUMA domains, 1 between L3 caches

  /// Returns true if it costs no more than o between nodes, apart from rounding.
  bool no_worse_than(const MappingCost& o) const noexcept {
    return byte_hops <= o.byte_hops * more && heaviest_link <= o.heaviest_link * more;
  }
  /// Returns true if it costs less than o between nodes in one respect, or equally much there and
  /// less within nodes.
  bool gains_on(const MappingCost& o) const noexcept {
    return byte_hops * more < o.byte_hops || heaviest_link * more < o.heaviest_link ||
           (no_worse_than(o) && inside * more < o.inside);
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

/// Which rank plays which position of a schedule on a machine, and what that gains.
struct MappedOrder {
  /// Why positions stay in rank order, or not.
  enum class Verdict : unsigned char {
    mapped,
    all_talk_to_all,  ///< or nearly so: see traffic_of()
    gains_nothing,
    links_unknown,  ///< MappingHint::by_traffic_in_trees, and the network is by hops
    worse,          ///< in bytes × hops or on the heaviest link
  };

  Order order = Order::identity(1);  ///< a root is position 0
  Verdict verdict = Verdict::gains_nothing;
  MappingCost in_rank_order{};
  MappingCost arranged{};  ///< of the best mapping hint, used or not
};

}  // namespace papcoll::inline PAPCOLL_ABI

namespace papcoll::inline PAPCOLL_ABI::detail {

/// "position 0, 1, … is rank 5, 4, …", of the first 16 positions, for people.
[[gnu::cold]] inline std::string order_text(const Order& order) {
  std::string text = "position 0, 1, … is rank";
  constexpr int most = 16;
  for (int p = 0; p < std::min(order.size(), most); ++p) {
    text += (p == 0 ? " " : ", ") + std::to_string(order.rank(p));
  }
  return text + (order.size() > most ? ", …" : "");
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
