#pragma once

#include <papcoll/algorithms/arrival/leader_fan.hpp>
#include <papcoll/algorithms/hierarchical/hierarchical.hpp>
#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/arrival/order_source.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/capability.hpp>
#include <papcoll/policies/algorithm.hpp>
#include <papcoll/policies/hierarchical_spec.hpp>
#include <papcoll/runtime/machine_orders.hpp>
#include <papcoll/select/alltoall_choice.hpp>
#include <papcoll/select/between_nodes.hpp>
#include <papcoll/select/inputs.hpp>
#include <papcoll/select/late_node_cache.hpp>
#include <papcoll/select/on_node.hpp>
#include <papcoll/select/scan_choice.hpp>
#include <papcoll/select/thresholds.hpp>

#include <cstddef>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// Completes a spec that names no algorithm: by nodes, if there are several with several ranks;
/// else in the memory of the node (on_node.hpp); else by messages. It depends on the call, the
/// thresholds, and on how late ranks come, on which they agree every 16 calls by what each has
/// noted on the board (arrival/imbalance.hpp): all choose alike. On one node run_chosen.hpp keeps
/// what was chosen until the call or that look at the arrivals is another.
using Choose = void(AlgorithmSpec&, const Call&, const SelectionInputs&);

namespace detail {

/// The choice among the algorithms that pass messages. A template, so that a program compiles only
/// the schedules of the collectives it calls.
template <Collective C>
AnySchedule choose_by_messages(const Call& call, const SelectionInputs& s) {
  const std::size_t bytes = call.bytes();
  const Thresholds& t = *s.thresholds;
  if constexpr (C == Collective::allreduce) {
    if (bytes <= t.allreduce.recursive_doubling) return AnySchedule::of<RecursiveDoubling>();
    if (AnySchedule best = choose_between_nodes<C>(call, s)) return best;
    return AnySchedule::of<Rabenseifner>();
  } else if constexpr (C == Collective::reduce) {
    if (bytes <= t.reduce.binomial) return AnySchedule::of<Binomial>();
    if (AnySchedule best = choose_between_nodes<C>(call, s)) return best;
    return AnySchedule::of<ReduceScatterGather>();
  } else if constexpr (C == Collective::bcast) {
    if (bytes <= t.bcast.binomial) return AnySchedule::of<Binomial>();
    if (AnySchedule best = choose_between_nodes<C>(call, s)) return best;
    return AnySchedule::of<ScatterAllgather>();
  } else if constexpr (C == Collective::allgather) {
    if (call.counts != nullptr) return AnySchedule::of<Ring>();
    if (bytes * static_cast<std::size_t>(s.size) <= t.allgather.bruck)
      return AnySchedule::of<Bruck>();
    return AnySchedule::of<Ring>();
  } else if constexpr (C == Collective::reduce_scatter) {
    return call.reducer.commutative ? AnySchedule::of<Pairwise>() : AnySchedule::of<Linear>();
  } else if constexpr (C == Collective::alltoall) {
    // Lengths are known to their own ranks only, so that nothing can go by them.
    if (call.is_uneven()) return AnySchedule::of<SpreadOut>();
    return choose_alltoall(bytes, s);
  } else if constexpr (C == Collective::scan || C == Collective::exscan) {
    return choose_scan(call, s);
  } else if constexpr (C == Collective::barrier) {
    return AnySchedule::of<Dissemination>();
  } else {
    static_assert(C == Collective::gather || C == Collective::scatter,
                  "papcoll: nothing is chosen for this collective here: add its branch");
    return call.is_uneven() ? AnySchedule::of<Linear>() : AnySchedule::of<Binomial>();
  }
}

/// The order of a schedule that was chosen: along the machine, where that takes clearly less of the
/// heaviest link between nodes.
template <Collective C>
OrderSource choose_order(const AnySchedule& schedule, const Call& call, const SelectionInputs& s) {
  const bool keeps_rank_order =
      is_prefix_reduction(C) || (is_reduction(C) && call.rank_order) || C == Collective::barrier;
  if (s.orders == nullptr || keeps_rank_order) return {};
  if (is_rooted(C) && !s.orders->repeats_root(C, call.root)) return {};
  const AnySchedule played = schedule.resolved(s.size, call.bytes());
  const int root = is_rooted(C) ? call.root : 0;
  const MappedOrder& m = s.orders->of(played, C, root, map_positions, *s.plans);
  const auto percent = static_cast<double>(s.thresholds->network.order_percent);
  const bool gains = m.verdict == MappedOrder::Verdict::mapped &&
                     m.in_rank_order.heaviest_link * 100 >= m.arranged.heaviest_link * percent;
  return gains ? OrderSource::machine() : OrderSource{};
}

/// Are the blocks of an alltoall so short, and the ranks of a node so many, that one message for
/// all of them pays for the copies?
inline bool is_short_alltoall(const Call& call, const SelectionInputs& s) noexcept {
  const Thresholds::Network& t = s.thresholds->network;
  return call.bytes() <= t.alltoall / static_cast<std::size_t>(s.size) &&
         static_cast<std::size_t>(s.largest_node) >= t.alltoall_ranks;
}

/// Does a call on several nodes go through their representatives?
template <Collective C>
bool goes_by_nodes(const Call& call, const SelectionInputs& s) noexcept {
  if constexpr (C == Collective::reduce_scatter || C == Collective::gather ||
                C == Collective::scatter) {
    return false;
  } else if constexpr (C == Collective::alltoall) {
    return s.grouped && !s.by_messages && !call.is_uneven() && is_short_alltoall(call, s);
  } else {
    return s.grouped && s.nodes_in_order && !s.by_messages && !call.is_uneven() &&
           (call.bytes() <= s.thresholds->network.hierarchical || is_imbalanced(call, s) ||
            waits_for_a_node(call, s) || is_on_slow_network(call, s));
  }
}

/// Is one node expected to come last again, and does StragglAR serve the call?
template <Collective C>
bool has_late_node(const Call& call, const SelectionInputs& s) noexcept {
  return C == Collective::allreduce && s.late_node != nullptr && s.imbalance.late_node >= 0 &&
         call.bytes() > s.thresholds->network.hierarchical && call.reducer.commutative &&
         waits_for_a_node(call, s);
}

/// Is it an allreduce between so few nodes that each has a long part of the vector?
template <Collective C>
bool is_for_ring(const Call& call, const SelectionInputs& s) noexcept {
  return C == Collective::allreduce && s.late_node != nullptr && is_on_slow_network(call, s) &&
         call.reducer.commutative &&
         call.bytes() > s.thresholds->network.ring * static_cast<std::size_t>(s.nodes);
}

/// Hierarchical by the groups of the caches of one node, with leaders by arrival within them.
inline const HierarchicalSpec& hierarchical_of_caches() {
  static const HierarchicalSpec hierarchical = [] {
    HierarchicalSpec c;
    c.intra.arrival = &arrival_algorithm<DynamicLeader, LeaderFan>;
    c.by_caches = true;
    c.id = hierarchical_id(c) + 1;
    return c;
  }();
  return hierarchical;
}

/// Does a small call on one node go by the groups of ranks that share a cache?
template <Collective C>
bool goes_by_caches(const Call& call, const SelectionInputs& s) noexcept {
  if constexpr (C != Collective::allreduce && C != Collective::barrier && C != Collective::reduce) {
    return false;
  } else {
    const Thresholds::Node& t = s.thresholds->node;
    return s.near_groups > 1 && !s.by_messages && !s.oversubscribed &&
           static_cast<std::size_t>(s.size) >= t.caches_ranks && t.caches != 0 &&
           call.bytes() <= t.caches;
  }
}

/// How a call goes by nodes.
template <Collective C>
const HierarchicalSpec& choose_by_nodes(const Call& call, const SelectionInputs& s) {
  if (has_late_node<C>(call, s)) return s.late_node->of(s.imbalance.late_node);
  return is_for_ring<C>(call, s) ? hierarchical_of_ring() : hierarchical_of_chosen();
}

}  // namespace detail

/// Completes a spec that names no algorithm, on a team without groups.
template <Collective C>
void choose_flat(AlgorithmSpec& s, const Call& call, const SelectionInputs& inputs) {
  // The algorithms to choose among are compiled for NodeSite; they want all ranks there.
  if (!inputs.by_messages && s.transport->takes_node_site() &&
      call.reducer.size <= inputs.chunk_bytes) {
    s.arrival = detail::choose_on_node<C>(call, inputs).algorithm;
    // Where each rank has a place in each chunk, a chunk must be long enough.
    if (s.arrival == &arrival_algorithm<StaticOrder, BlockCopies> &&
        inputs.chunk_bytes < chunk_bytes_for_blocks(inputs.size)) {
      s.arrival = nullptr;
    }
  }
  if (s.arrival == nullptr) {
    s.schedule = detail::choose_by_messages<C>(call, inputs);
    if (!s.order) s.order = detail::choose_order<C>(s.schedule, call, inputs);
  }
}

/// Completes a spec that names no algorithm.
template <Collective C>
void choose(AlgorithmSpec& s, const Call& call, const SelectionInputs& inputs) {
  if (detail::goes_by_caches<C>(call, inputs)) {
    s.hierarchical = &detail::hierarchical_of_caches();
    s.run_hierarchical = &detail::run_hierarchical<C>;
    return;
  }
  if (!inputs.by_messages && detail::goes_by_nodes<C>(call, inputs)) {
    s.hierarchical = &detail::choose_by_nodes<C>(call, inputs);
    s.run_hierarchical = &detail::run_hierarchical<C>;
    return;
  }
  choose_flat<C>(s, call, inputs);
}

#define PAPCOLL_ONCE_FOR(c)                          \
  PAPCOLL_COMPILE_ONCE(Choose choose<Collective::c>) \
  PAPCOLL_COMPILE_ONCE(Choose choose_flat<Collective::c>)
PAPCOLL_FOR_EACH_COLLECTIVE(PAPCOLL_ONCE_FOR)
#undef PAPCOLL_ONCE_FOR

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
