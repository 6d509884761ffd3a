// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>

namespace papcoll::inline PAPCOLL_ABI {

class AnySchedule;
class Machine;
class MachineOnDemand;
struct MappedOrder;  ///< in mapped_order.hpp

/// Lays the positions of a schedule along a machine, for a root, which is 0 where there is none: as
/// map_positions() does, or in another way.
using MapPositions = MappedOrder(const AnySchedule& schedule, Collective c, const Machine& machine,
                                 int root);

/// Lays the positions of a schedule along a machine, beginning at the place of the root (rank 0
/// where there is none): an order of its own for each root, since one that is rotated crosses
/// between nodes again and again. What does not gain on rank order, or is worse between nodes in
/// bytes × hops or on the heaviest link, is not used. All ranks get the same order, given the same
/// machine.
PAPCOLL_DECL MappedOrder map_positions(const AnySchedule& schedule, Collective c,
                                       const Machine& machine, int root);

namespace detail {
/// map() along the machine of a team, which is made for the first call that follows it.
PAPCOLL_DECL MappedOrder map_on_demand(MapPositions& map, const AnySchedule& schedule, Collective c,
                                       const MachineOnDemand& machine, int root);
}  // namespace detail

/// How a team's calls follow its machine; not at all, if made without.
struct AlongMachine {
  MapPositions* map = nullptr;
  /// Calls `map`, if that is there: known with it, so that a program without one does not compile
  /// what makes machines.
  decltype(&detail::map_on_demand) lay = nullptr;

  static AlongMachine by(MapPositions& map) noexcept { return {&map, &detail::map_on_demand}; }
  friend bool operator==(const AlongMachine& a, const AlongMachine& b) = default;
};

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/schedule/schedule_traits.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/machine_on_demand.hpp>
#include <papcoll/topology/mapping/greedy_mapping.hpp>
#include <papcoll/topology/mapping/hinted_order.hpp>
#include <papcoll/topology/mapping/mapped_order.hpp>
#include <papcoll/topology/mapping/read_traffic.hpp>

#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// The ranks of the positions, where positions are laid along places in this order.
[[gnu::cold]] inline std::vector<int> assign_ranks(const std::vector<int>& positions,
                                                   const std::vector<int>& places) {
  std::vector<int> rank_of(positions.size());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    rank_of[static_cast<std::size_t>(positions[i])] = places[i];
  }
  return rank_of;
}

PAPCOLL_DECL MappedOrder map_on_demand(MapPositions& map, const AnySchedule& schedule, Collective c,
                                       const MachineOnDemand& machine, int root) {
  return map(schedule, c, machine.get(), root);
}

}  // namespace detail

[[gnu::cold]] PAPCOLL_DECL MappedOrder map_positions(const AnySchedule& schedule, Collective c,
                                                     const Machine& machine, int root) {
  const int size = machine.size();
  MappedOrder m;
  m.order = Order::rotation(size, root);
  const auto traffic = traffic_of(schedule, c, size);
  if (!traffic) {
    m.verdict = MappedOrder::Verdict::all_talk_to_all;
    return m;
  }
  std::vector<int> ranks(static_cast<std::size_t>(size));
  for (int p = 0; p < size; ++p) ranks[static_cast<std::size_t>(p)] = m.order.rank(p);
  m.in_rank_order = cost_of(*traffic, machine, ranks);

  const std::vector<int> places = machine.order(root);
  const MappingHint mapping_hint = schedule.mapping_hint(c, size);
  if (mapping_hint == MappingHint::by_traffic_in_trees && !machine.network().is_tree()) {
    m.arranged = m.in_rank_order;
    m.verdict = MappedOrder::Verdict::links_unknown;
    return m;
  }
  ranks = detail::assign_ranks(hinted_positions(mapping_hint, size), places);
  m.arranged = cost_of(*traffic, machine, ranks);
  if (mapping_hint == MappingHint::by_traffic || mapping_hint == MappingHint::by_traffic_in_trees) {
    std::vector<int> grown =
        detail::assign_ranks(GreedyMapper{*traffic, machine}.grow(places), places);
    const MappingCost cost = cost_of(*traffic, machine, grown);
    if (!(m.arranged.no_worse_than(cost) && m.arranged.gains_on(m.in_rank_order))) {
      m.arranged = cost;
      ranks = std::move(grown);
    }
  }
  if (!m.arranged.no_worse_than(m.in_rank_order)) {
    m.verdict = MappedOrder::Verdict::worse;
  } else if (m.arranged.gains_on(m.in_rank_order)) {
    m.verdict = MappedOrder::Verdict::mapped;
    m.order = Order::permutation(std::move(ranks));
  }
  return m;
}

}  // namespace papcoll::inline PAPCOLL_ABI

#endif
