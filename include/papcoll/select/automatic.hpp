#pragma once

#include <papcoll/algorithms/arrival/leader_fan.hpp>
#include <papcoll/algorithms/hierarchical/phases.hpp>
#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/arrival/order_source.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/collective_list.hpp>
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
#include <papcoll/transport/transport.hpp>

#include <cstddef>
#include <span>

namespace papcoll::inline PAPCOLL_ABI {

/// What is chosen for calls of one collective, as a value: what goes on around a choice is compiled
/// once, and a program compiles the candidates of the collectives that it calls.
struct Chooser {
  Collective collective;
  /// The algorithms that read their peers' memory, for all ranks on one node.
  std::span<const detail::NodeCandidate> on_node;
  /// Among those that pass messages.
  AnySchedule (*by_messages)(const Call&, const SelectionInputs&);
  /// Of a call that goes by nodes.
  const HierarchicalSpec& (*by_nodes)(const Call&, const SelectionInputs&);
  /// Of a call that goes by caches; null where none does.
  const HierarchicalSpec& (*by_caches)();
  /// Runs a hierarchical call on a divided team, and
  void (*run_phases)(GroupedTeam&, const Call&);
  /// the choosers of the collectives that its phases are.
  std::span<const Chooser* const> phases;

  /// The chooser of a phase.
  const Chooser& of_phase(Collective c) const noexcept {
    std::size_t i = 0;
    while (phases[i]->collective != c) ++i;
    return *phases[i];
  }
};

template <Collective C>
struct ChooserOf {
  static const Chooser value;
};

namespace detail {

template <Collective C>
AnySchedule choose_by_messages(const Call& call, const SelectionInputs& s) {
  const std::size_t bytes = call.bytes();
  const Thresholds& t = *s.thresholds;
  if constexpr (C == Collective::allreduce) {
    if (bytes <= t.allreduce.recursive_doubling) return AnySchedule::of<RecursiveDoubling>();
    if (AnySchedule best = choose_allreduce_between_nodes(call, s)) return best;
    return AnySchedule::of<Rabenseifner>();
  } else if constexpr (C == Collective::reduce) {
    if (bytes <= t.reduce.binomial) return AnySchedule::of<Binomial>();
    if (AnySchedule best = choose_between_nodes(call, s)) return best;
    return AnySchedule::of<ReduceScatterGather>();
  } else if constexpr (C == Collective::bcast) {
    if (bytes <= t.bcast.binomial) return AnySchedule::of<Binomial>();
    if (AnySchedule best = choose_between_nodes(call, s)) return best;
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
inline OrderSource choose_order(const AnySchedule& schedule, const Call& call,
                                const SelectionInputs& s) {
  const Collective c = call.collective;
  const bool keeps_rank_order =
      is_prefix_reduction(c) || (is_reduction(c) && call.rank_order) || c == Collective::barrier;
  if (s.orders == nullptr || keeps_rank_order) return {};
  if (is_rooted(c) && !s.orders->repeats_root(c, call.root)) return {};
  const AnySchedule played = schedule.resolved(s.size, call.bytes());
  const int root = is_rooted(c) ? call.root : 0;
  const MappedOrder& m = s.orders->of(played, c, root, AlongMachine::by(map_positions), *s.plans);
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
inline bool goes_by_nodes(const Call& call, const SelectionInputs& s) noexcept {
  if (!s.grouped || s.by_messages || call.is_uneven()) return false;
  switch (call.collective) {
    case Collective::reduce_scatter:
    case Collective::gather:
    case Collective::scatter:
      return false;
    case Collective::alltoall:
      return is_short_alltoall(call, s);
    default:
      return s.nodes_in_order &&
             (call.bytes() <= s.thresholds->network.hierarchical || is_imbalanced(call, s) ||
              waits_for_a_node(call, s) || is_on_slow_network(call, s));
  }
}

/// Is one node of an allreduce expected to come last again, and does StragglAR serve the call?
inline bool has_late_node(const Call& call, const SelectionInputs& s) noexcept {
  return s.late_node != nullptr && s.imbalance.late_node >= 0 &&
         call.bytes() > s.thresholds->network.hierarchical && call.reducer.commutative &&
         waits_for_a_node(call, s);
}

/// Is it an allreduce between so few nodes that each has a long part of the vector?
inline bool is_for_ring(const Call& call, const SelectionInputs& s) noexcept {
  return s.late_node != nullptr && is_on_slow_network(call, s) && call.reducer.commutative &&
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

constexpr bool may_go_by_caches(Collective c) noexcept {
  return c == Collective::allreduce || c == Collective::barrier || c == Collective::reduce;
}

/// Does a small call on one node go by the groups of ranks that share a cache?
inline bool goes_by_caches(const Call& call, const SelectionInputs& s) noexcept {
  const Thresholds::Node& t = s.thresholds->node;
  return may_go_by_caches(call.collective) && s.near_groups > 1 && !s.by_messages &&
         !s.oversubscribed && static_cast<std::size_t>(s.size) >= t.caches_ranks && t.caches != 0 &&
         call.bytes() <= t.caches;
}

template <bool is_allreduce>
const HierarchicalSpec& choose_by_nodes(const Call& call, const SelectionInputs& s) {
  if constexpr (is_allreduce) {
    if (has_late_node(call, s)) return s.late_node->of(s.imbalance.late_node);
    if (is_for_ring(call, s)) return hierarchical_of_ring();
  }
  return hierarchical_of_chosen();
}

template <class>
struct ChoosersOf;
/// The choosers of a list of collectives.
template <Collective... Cs>
struct ChoosersOf<CollectiveList<Cs...>> {
  static constexpr const Chooser* all[] = {&ChooserOf<Cs>::value...};
};

/// The chooser of a collective that only the call knows: compiles the candidates of all.
template <class All = AllCollectives>
const Chooser& chooser_of(Collective c) noexcept {
  return *ChoosersOf<All>::all[static_cast<std::size_t>(c)];
}

}  // namespace detail

template <Collective C>
const Chooser ChooserOf<C>::value{
    C,
    detail::candidates_on_node<C>,
    &detail::choose_by_messages<C>,
    &detail::choose_by_nodes<C == Collective::allreduce>,
    detail::may_go_by_caches(C) ? &detail::hierarchical_of_caches : nullptr,
    &detail::run_phases<C>,
    detail::ChoosersOf<typename detail::PhasesOf<C>::type>::all,
};

/// Completes a spec that names no algorithm, on a team without groups: in the memory of the node
/// (on_node.hpp), as its learner picks for the call of that number, or by messages. The call then
/// says what was picked.
inline void choose_flat(AlgorithmSpec& s, Call& call, const SelectionInputs& inputs,
                        const Chooser& chooser) {
  call.trial = {};
  call.reach = PeerReach::by_option;
  // The algorithms to choose among are compiled for NodeSite; they want all ranks there.
  if (!inputs.by_messages && s.transport->takes_node_site() &&
      call.reducer.size <= inputs.chunk_bytes) {
    const Shortlist list = detail::shortlist(chooser.on_node, call, inputs);
    if (list.count != 0) {
      call.trial.candidate = list.ids[0];
      if (inputs.learner != nullptr) {
        const CallKind kind{detail::goes_by_arrivals(call, inputs),
                            detail::is_in_arena(call, inputs)};
        call.trial = inputs.learner->pick(kind.key(call), list, inputs.epoch);
      }
      const detail::NodeCandidate& picked = chooser.on_node[call.trial.candidate];
      call.reach = picked.reach;
      s.arrival = picked.algorithm;
    }
  }
  if (s.arrival == nullptr) {
    s.schedule = chooser.by_messages(call, inputs);
    if (!s.order) s.order = detail::choose_order(s.schedule, call, inputs);
  }
}

/// Completes a spec that names no algorithm: by nodes, if there are several with several ranks;
/// else as choose_flat(). It depends on the call, the thresholds, and on how late ranks come, on
/// which they agree every 16 calls by what each has noted on the board (arrival/imbalance.hpp): all
/// choose alike. On one node chosen_call.hpp keeps what was chosen until the call or that look at
/// the arrivals is another.
inline void choose(AlgorithmSpec& s, Call& call, const SelectionInputs& inputs,
                   const Chooser& chooser) {
  call.trial = {};
  if (detail::goes_by_caches(call, inputs)) {
    s.hierarchical = &chooser.by_caches();
  } else if (detail::goes_by_nodes(call, inputs)) {
    s.hierarchical = &chooser.by_nodes(call, inputs);
  } else {
    choose_flat(s, call, inputs, chooser);
  }
}

#define PAPCOLL_ONCE_FOR(c) PAPCOLL_COMPILE_ONCE(struct ChooserOf<Collective::c>)
PAPCOLL_FOR_EACH_COLLECTIVE(PAPCOLL_ONCE_FOR)
#undef PAPCOLL_ONCE_FOR

}  // namespace papcoll::inline PAPCOLL_ABI
