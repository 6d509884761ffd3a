#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/schedule/mapping_hint.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/machine_on_demand.hpp>
#include <papcoll/topology/mapping/cost.hpp>
#include <papcoll/topology/mapping/greedy_mapping.hpp>
#include <papcoll/topology/mapping/hinted_order.hpp>
#include <papcoll/topology/mapping/map_positions.hpp>
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
