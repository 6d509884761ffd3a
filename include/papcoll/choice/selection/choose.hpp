// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/arrival/leader_fan.hpp>
#include <papcoll/algorithms/hierarchical/hierarchical.hpp>
#include <papcoll/algorithms/hierarchical/phases.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/arrival/order_source.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/policies/algorithm_spec.hpp>
#include <papcoll/choice/policies/hierarchical_spec.hpp>
#include <papcoll/choice/policies/requirements.hpp>
#include <papcoll/choice/selection/by_messages.hpp>
#include <papcoll/choice/selection/learner.hpp>
#include <papcoll/choice/selection/node_load.hpp>
#include <papcoll/choice/selection/on_node.hpp>
#include <papcoll/choice/selection/selection_file.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>
#include <papcoll/node/peer_probe.hpp>
#include <papcoll/runtime/setup/machine_orders.hpp>
#include <papcoll/transport/transport.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI::detail {

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

/// Returns the cost of a call by the model if a leader of each group combines what its group
/// brings, leaders combine among them as is best, and each tells its group, in nanoseconds. Signals
/// and lines from within a cache are taken to cost a quarter (`papcoll-bench --measure
/// node-costs`). Phases wait for each other, so a call of several chunks costs as much for each.
inline double prior_by_caches(std::span<const NodeCandidate> all, const Call& call,
                              const SelectionInputs& inputs) noexcept {
  Call chunk = call;
  if (call.bytes() > inputs.near_chunk_bytes)
    chunk.count = inputs.near_chunk_bytes / call.reducer.size;
  const auto bytes = static_cast<double>(chunk.bytes());
  const double chunks = bytes == 0 ? 1 : static_cast<double>(call.bytes()) / bytes;
  PeerCosts near = *inputs.costs;
  near.signal_ns /= 4;
  near.line_ns /= 4;
  const double members = static_cast<double>(inputs.size) / inputs.cache_groups;
  const NodeLoad group{near,
                       bytes,
                       members,
                       static_cast<double>(inputs.chunk_bytes),
                       is_in_arena(call, inputs),
                       goes_by_arrivals(call, inputs)};
  SelectionInputs among = inputs;
  among.size = inputs.cache_groups;
  among.cache_groups = 0;
  among.imbalance.in_arena = false;
  const Shortlist leaders = shortlist(all, chunk, among);
  const double written_again = group.write(bytes);  // what the leaders have combined
  return chunks * (near.call_ns + written_again + group.nanoseconds(by_leader(group), members) +
                   prior_of(all[leaders.ids[0]], chunk, among));
}

/// Returns true if a call on one node is to go by the groups of ranks that share a cache, instead
/// of by one of these candidates.
inline bool goes_by_caches(std::span<const NodeCandidate> all, const Shortlist& list,
                           const Call& call, const SelectionInputs& inputs) noexcept {
  return inputs.cache_groups > 1 && !inputs.oversubscribed && call.by_arrivals() &&
         call.reducer.size <= inputs.near_chunk_bytes &&
         prior_by_caches(all, call, inputs) < prior_of(all[list.ids[0]], call, inputs);
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail

namespace papcoll::inline PAPCOLL_ABI {

/// What is chosen for calls of one collective, as a value: what goes on around a choice is compiled
/// once, and a program compiles the candidates of the collectives that it calls.
struct Chooser {
  Collective collective;
  /// The algorithms that read their peers' memory, for all ranks on one node.
  std::span<const detail::NodeCandidate> on_node;
  /// The candidates that pass messages.
  std::span<const detail::MessageCandidate> by_messages;
  /// The algorithm of a call that goes by caches; null if none does.
  const HierarchicalSpec& (*by_caches)();
  /// Runs a hierarchical call on a divided team.
  void (*run_phases)(HierarchyTeam&, const Call&);
  /// The choosers of the collectives that are phases of a hierarchical call.
  std::span<const Chooser* const> phases;

  /// The chooser of a phase.
  const Chooser& of_phase(Collective c) const noexcept {
    std::size_t i = 0;
    while (phases[i]->collective != c) ++i;
    return *phases[i];
  }
};

template <Collective C> struct ChooserOf { static const Chooser value; };

namespace detail {

/// The order of a schedule that was chosen: along the machine, where that takes clearly less of the
/// heaviest link between nodes.
inline OrderSource choose_order(const AnySchedule& schedule, const Call& call,
                                const SelectionInputs& inputs) {
  const Collective c = call.collective;
  const bool keeps_rank_order =
      is_prefix_reduction(c) || (is_reduction(c) && call.rank_order) || c == Collective::barrier;
  if (inputs.orders == nullptr || keeps_rank_order) return {};
  if (is_rooted(c) && !inputs.orders->repeats_root(c, call.root)) return {};
  const AnySchedule played = schedule.resolved(inputs.size, call.bytes());
  const int root = is_rooted(c) ? call.root : 0;
  const MappedOrder& m =
      inputs.orders->of(played, c, root, AlongMachine::by(map_positions), *inputs.plans);
  const auto percent = static_cast<double>(inputs.thresholds->network.order_percent);
  const bool gains = m.verdict == MappedOrder::Verdict::mapped &&
                     m.in_rank_order.heaviest_link * 100 >= m.arranged.heaviest_link * percent;
  return gains ? OrderSource::machine() : OrderSource{};
}

template <class> struct ChoosersOf;
/// The choosers of a list of collectives.
template <Collective... Cs> struct ChoosersOf<CollectiveList<Cs...>> {
  static constexpr const Chooser* all[] = {&ChooserOf<Cs>::value...};
};

/// The chooser of a collective that only the call knows: compiles the candidates of all.
template <class All = AllCollectives> const Chooser& chooser_of(Collective c) noexcept {
  return *ChoosersOf<All>::all[static_cast<std::size_t>(c)];
}

/// The candidates of a collective; refused by the compiler if they are too many.
template <class Candidate, std::size_t n>
constexpr std::span<const Candidate> numbered(const std::array<Candidate, n>& candidates) noexcept {
  static_assert(n <= CallTrial::most_candidates, "papcoll: more candidates than have a number");
  return candidates;
}

}  // namespace detail

template <Collective C>
const Chooser ChooserOf<C>::value{
    C,
    detail::numbered(detail::candidates_on_node<C>),
    detail::numbered(detail::candidates_by_messages<C>),
    detail::may_go_by_caches(C) ? &detail::hierarchical_of_caches : nullptr,
    &detail::run_phases<C>,
    detail::ChoosersOf<typename detail::PhasesOf<C>::type>::all,
};

namespace detail {

/// Completes a spec by what reads peers' memory: by caches, or as the learner picks for the call of
/// that number. False: nothing there serves the call, and it passes messages.
inline bool choose_on_node(AlgorithmSpec& spec, Call& call, const SelectionInputs& inputs,
                           const Chooser& chooser) {
  // The algorithms to choose among are compiled for NodeContext; they want all ranks there.
  if (inputs.must_pass_messages || !spec.transport->takes_node_context() ||
      call.reducer.size > inputs.chunk_bytes) {
    return false;
  }
  const Shortlist list = shortlist(chooser.on_node, call, inputs);
  if (list.count == 0) return false;
  if (chooser.by_caches != nullptr && goes_by_caches(chooser.on_node, list, call, inputs)) {
    spec.hierarchical = &chooser.by_caches();
    return true;
  }
  call.trial.candidate = list.ids[0];
  if (inputs.learner != nullptr) {
    CallKind kind;
    kind.imbalanced = goes_by_arrivals(call, inputs);
    kind.in_arena = is_in_arena(call, inputs);
    if (call.local_counts) kind.block_bytes = inputs.learner->block_bytes(call.collective);
    call.trial = inputs.learner->pick(kind.key(call), list, inputs.epoch);
  }
  const NodeCandidate& picked = chooser.on_node[call.trial.candidate];
  call.reach = picked.reach;
  spec.arrival = picked.algorithm;
  return true;
}

/// Chooses for a call that passes messages: flat, or by nodes.
inline void choose_by_messages(AlgorithmSpec& spec, Call& call, const SelectionInputs& inputs,
                               const Chooser& chooser) {
  const MessageLoad load{call, inputs};
  const Shortlist list = shortlist(chooser.by_messages, load);
  call.trial.candidate = list.ids[0];
  if (inputs.learner != nullptr) {
    CallKind kind;
    kind.imbalanced = load.late;
    kind.by_messages = true;
    kind.non_blocking = inputs.must_pass_messages;  // or in predicted order
    call.trial = inputs.learner->pick(kind.key(call), list, inputs.epoch);
  }
  const MessageCandidate& picked = chooser.by_messages[call.trial.candidate];
  if (picked.by_nodes != nullptr) {
    spec.hierarchical = &picked.by_nodes(inputs);
    return;
  }
  spec.schedule = picked.schedule(load);
  if (!spec.order) spec.order = choose_order(spec.schedule, call, inputs);
}

}  // namespace detail

/// Completes a spec that names no algorithm: by caches, in the memory of the node (on_node.hpp), or
/// by messages (by_messages.hpp). The call then has what was picked. The choice depends on the
/// call, the thresholds, how late ranks arrive and what calls cost; on the latter two they agree
/// every 16 or 64 calls by what each has recorded in the control block
/// (arrival/arrival_monitor.hpp) or sent to the others (arrival/remote_arrival_monitor.hpp), so all
/// choose alike. On one node automatic.hpp keeps the choice (SelectionCache) until the call or the
/// agreed arrivals change.
inline void choose(AlgorithmSpec& spec, Call& call, const SelectionInputs& inputs,
                   const Chooser& chooser) {
  call.trial = {};
  call.reach = PeerReach::by_option;
  if (detail::choose_on_node(spec, call, inputs, chooser)) return;
  detail::choose_by_messages(spec, call, inputs, chooser);
}

#define PAPCOLL_ONCE_FOR(c) PAPCOLL_COMPILE_ONCE(struct ChooserOf<Collective::c>)
PAPCOLL_FOR_EACH_COLLECTIVE(PAPCOLL_ONCE_FOR)
#undef PAPCOLL_ONCE_FOR

}  // namespace papcoll::inline PAPCOLL_ABI

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Completes a spec by an algorithm's name in rules. False: it cannot run the call.
[[gnu::cold, gnu::noinline]] inline bool choose_named(AlgorithmSpec& spec, Call& call,
                                                      const SelectionInputs& inputs,
                                                      const Chooser& chooser,
                                                      std::string_view name) {
  const bool reads = !inputs.must_pass_messages && spec.transport->takes_node_context() &&
                     call.reducer.size <= inputs.chunk_bytes;
  for (const NodeCandidate& c : chooser.on_node) {
    if (!reads || name_of(c) != name || !may_run(c, call, inputs)) continue;
    call.reach = c.reach;
    spec.arrival = c.algorithm;
    return true;
  }
  const MessageLoad load{call, inputs};
  const CallFacts facts = facts_of(call, inputs.must_pass_messages);
  for (const MessageCandidate& c : chooser.by_messages) {
    if (c.by_nodes != nullptr) {
      // The others suit some calls only, and are found by trying.
      if (name != hierarchical_name || c.name != name || !may_go_by_nodes(call, inputs)) continue;
      if (why_not(hierarchical_needs(call.collective), facts, {}) != nullptr) continue;
      spec.hierarchical = &c.by_nodes(inputs);
      return true;
    }
    const AnySchedule schedule = c.schedule(load);
    if (!schedule || schedule.base_name() != name) continue;
    if (why_not(needs_in_call(schedule, call), facts, {}) != nullptr) continue;
    spec.schedule = schedule;
    return true;
  }
  return false;
}

/// Completes a spec by the first rule that fits the call and can run it; null: there is none.
/// Appends to `passed`, unless it is null, the rules that fit and cannot run it.
[[gnu::cold, gnu::noinline]] inline const SelectionRule* choose_by_rules(
    AlgorithmSpec& spec, Call& call, const SelectionInputs& inputs, const Chooser& chooser,
    std::string* passed = nullptr) {
  call.trial = {};
  call.reach = PeerReach::by_option;
  std::size_t number = 0;
  for (const SelectionRule& rule : *inputs.rules) {
    ++number;
    if (!rule.fits(call, inputs.size, inputs.ranks_per_node)) continue;
    if (choose_named(spec, call, inputs, chooser, kept_algorithms[rule.algorithm])) return &rule;
    if (passed == nullptr) continue;
    *passed += joined({(passed->empty() ? "" : ", "), "rule ", number, " (",
                       kept_algorithms[rule.algorithm], ")"});
  }
  return nullptr;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
