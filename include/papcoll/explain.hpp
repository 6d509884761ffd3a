// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/collective.hpp>
#include <papcoll/call/team_of.hpp>
#include <papcoll/choice/names/explanation.hpp>
#include <papcoll/runtime/call_records.hpp>

#include <cstddef>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {

/// The parts of explain() and algorithm_counts() that need no types.
PAPCOLL_DECL Explanation explain_call(TeamCore& team, Collective collective, std::size_t bytes,
                                      const CallTraits& traits);
PAPCOLL_DECL std::vector<AlgorithmCount> algorithm_counts_of(const TeamCore& team);

}  // namespace detail

/// Returns the algorithm that the next call on `comm` would run, and the reason.
///
/// `bytes`: of one rank's block in allgather, gather, scatter, alltoall and reduce_scatter, of the
/// vector otherwise. `traits`: operator, contract, element size, and whatever else the choice
/// depends on. Local: sends nothing. All ranks get the same answer between the same two calls,
/// except for the text on their memory.
///
/// Example:
///
///     const auto why = papcoll::explain(comm, papcoll::Collective::allreduce, 65536);
///     std::puts(why.text().c_str());
template <Team C>
Explanation explain(C&& comm, Collective collective, std::size_t bytes,
                    const CallTraits& traits = {}) {
  return detail::explain_call(detail::core_of(comm), collective, bytes, traits);
}

/// Returns how many of this rank's calls on a team each algorithm has run, in the order of first
/// use. Non-blocking calls count when they start; the phases of a hierarchical call are part of it.
template <Team C> std::vector<AlgorithmCount> algorithm_counts(C&& comm) {
  return detail::algorithm_counts_of(detail::core_of(comm));
}

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/base/call.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/names/explain_choice.hpp>
#include <papcoll/choice/selection/choose.hpp>
#include <papcoll/choice/selection/learner.hpp>
#include <papcoll/choice/selection/selection_cache.hpp>
#include <papcoll/choice/selection/selection_state.hpp>
#include <papcoll/runtime/setup/machine_orders.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/schedule/make_plan.hpp>

#include <string>

namespace papcoll::inline PAPCOLL_ABI::detail {

[[gnu::cold]] PAPCOLL_DECL std::string copies_of(const CopyChoice& choice) {
  const CopyRule& rule = choice.rule();
  std::string text = "; what others will read is copied by the method ";
  text += name_of(rule.method);
  if (rule.method != CopyMethod::plain) text += joined({" from ", rule.from, " bytes on"});
  if (choice.is_probed()) text += choice.is_found() ? ", by a probe" : ", since no probe was made";
  if (rule.beyond_caches == CopyRule::never) {
    return text + "; outputs are written through the caches, whose size is not known";
  }
  return text + joined({"; outputs bypass the caches once a rank's buffers have ",
                        rule.beyond_caches, " bytes"});
}

[[gnu::cold]] PAPCOLL_DECL std::string memory_of(const TeamEnvironment& team, const Node* node) {
  if (node == nullptr) {
    const std::string messages = joined({"messages: ", team.why_no_shared_memory});
    const bool any = team.partial_node != nullptr && team.partial_node->size > 1;
    return messages + (any ? joined({"; within a node ", memory_of(team, team.partial_node)}) : "");
  }
  if (node->peers.is_common())
    return "threads: all memory is everyone's" + copies_of(*node->copies);
  const std::string arena = node->peers.maps() ? "in the arena where they are, " : "";
  if (node->peers.prefers_pulls()) {
    return joined({"buffers are read ", arena, "elsewhere by copies of the kernel",
                   copies_of(*node->copies)});
  }
  return joined({"buffers are read ", arena, "elsewhere chunk by chunk through shared memory",
                 (node->peers.pulls() ? ", or, if too long for that, by copies of the kernel" : ""),
                 copies_of(*node->copies)});
}

[[gnu::cold]] PAPCOLL_DECL std::string costs_of(const PeerCosts& c) {
  return joined({(c == usual_peer_costs ? "; as long as nothing was measured" : "; as measured"),
                 " a signal takes ", c.signal_ns, " ns, a byte that is read or written ", c.read_ps,
                 " ps, one that the kernel copies ", c.pull_ps, " ps, and its copy ", c.pull_ns,
                 " ns"});
}

[[gnu::cold]] PAPCOLL_DECL Explanation explain_call(TeamCore& team, Collective collective,
                                                    std::size_t bytes, const CallTraits& traits) {
  const Call call = described_call(collective, bytes, traits);
  const AlgorithmSpec& given = traits.algorithm.spec();
  const bool any_transport = given.transport == nullptr && given.transport_name.empty();
  const bool must_pass_messages = traits.non_blocking || given.order;
  TeamFacts facts;
  facts.transport = &transport_of(team, given);
  facts.on_one_node = team.on_one_node();
  facts.why_no_shared_memory = team.environment().why_no_shared_memory;
  facts.memory = memory_of(team.environment(), team.environment().node);
  facts.inputs = inputs_of(team, call, must_pass_messages, any_transport);
  if (given.order) facts.inputs.learner = nullptr;
  const SelectionState& state = selection_of(team);
  Owned<CallLearner> learner;
  if (facts.inputs.learner != nullptr && state.kept != nullptr) {
    // What the next call would learn from the file, which changes nothing for that call.
    const CallKind::Bits kind = kept_kind(call, team.on_one_node(), traits.non_blocking);
    const TeamLikeness like = likeness_of(team);
    if (state.asked[SelectionState::slot_of(kind)] != kind) {
      learner = make_owned<CallLearner>(state.learner);
      state.kept->teach(*learner, like, kind, call, names_of(chooser_of(collective), kind));
      facts.inputs.learner = learner.get();
    }
    const PeerCosts* const costs = state.kept->costs_of(like);
    if (costs != nullptr && !state.has_begun && facts.inputs.costs == &team.node.peer_costs()) {
      facts.inputs.costs = costs;
    }
  }
  if (team.on_one_node()) facts.memory += costs_of(*facts.inputs.costs);
  facts.inputs.suara = nullptr;  // another thread's call may be at it, and at the others
  if (const auto& machine = team.environment().machine) facts.machine = &machine->get();
  MachineOrders orders{team.environment().machine};
  PlanCache plans;
  if (facts.inputs.orders != nullptr) {
    orders.begins(collective, call.root);  // as after a call with this root
    facts.inputs.orders = &orders;
    facts.inputs.plans = &plans;
  }
  LateNodeCache late_node;
  if (facts.inputs.late_node != nullptr) facts.inputs.late_node = &late_node;
  Explanation e = explain_choice(facts, call, traits);
  if (state.kept != nullptr) e.kept = state.kept->note;
  return e;
}

[[gnu::cold]] PAPCOLL_DECL std::vector<AlgorithmCount> algorithm_counts_of(const TeamCore& team) {
  const auto& all = team.counts.all();
  return {all.begin(), all.end()};
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
#endif
