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
#include <papcoll/topology/mapping/mapped_order.hpp>
#include <papcoll/topology/mapping/read_traffic.hpp>

#include <bit>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// The core of a power of two positions with their numbers' bits reversed, and after each of the
/// first ones the neighbour that is folded to it, as Fold has it.
[[gnu::cold]] inline std::vector<int> bit_reversed_positions(int size) {
  std::vector<int> all;
  all.reserve(static_cast<std::size_t>(size));
  const int core = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
  const int pairs = size - core;
  int v = 0;
  for (int i = 0; i < core; ++i) {
    all.push_back(v < pairs ? 2 * v : v + pairs);
    if (v < pairs) all.push_back(2 * v + 1);
    // The next number, counted from the highest bit down.
    int bit = core / 2;
    while (bit != 0 && (v & bit) != 0) {
      v ^= bit;
      bit /= 2;
    }
    v |= bit;
  }
  return all;
}

/// Node h of the heap and all below it, the child with less below it first.
[[gnu::cold]] inline void visit_heap(int node, int size, std::vector<int>& all) {
  all.push_back(node);
  const long long child = 2LL * node;
  if (child + 1 < size) visit_heap(static_cast<int>(child + 1), size, all);
  if (child < size) visit_heap(static_cast<int>(child), size, all);
}

}  // namespace detail

/// The positions in the order in which a mapping hint wants them along the machine. Position 0 is
/// the first. Of those by traffic, whose order depends on the machine, as they are.
[[gnu::cold]] inline std::vector<int> hinted_positions(MappingHint mapping_hint, int size) {
  if (mapping_hint == MappingHint::bit_reversed) return detail::bit_reversed_positions(size);
  std::vector<int> all;
  all.reserve(static_cast<std::size_t>(size));
  if (mapping_hint == MappingHint::depth_first) {
    all.push_back(0);
    if (size > 1) detail::visit_heap(1, size, all);
    return all;
  }
  all.resize(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

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
