#pragma once

#include <papcoll/algorithms/hierarchical/hierarchical.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/policies/algorithm.hpp>
#include <papcoll/choice/policies/requirements.hpp>
#include <papcoll/choice/selection/automatic.hpp>
#include <papcoll/choice/selection/by_messages.hpp>
#include <papcoll/choice/selection/candidate_name.hpp>
#include <papcoll/choice/selection/on_node.hpp>
#include <papcoll/choice/selection/selection_file.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Completes a spec by an algorithm's name in rules. False: it cannot run the call.
[[gnu::cold, gnu::noinline]] inline bool choose_named(AlgorithmSpec& s, Call& call,
                                                      const SelectionInputs& inputs,
                                                      const Chooser& chooser,
                                                      std::string_view name) {
  const bool reads = !inputs.by_messages && s.transport->takes_node_site() &&
                     call.reducer.size <= inputs.chunk_bytes;
  for (const NodeCandidate& c : chooser.on_node) {
    if (!reads || name_of(c) != name || !may_run(c, call, inputs)) continue;
    call.reach = c.reach;
    s.arrival = c.algorithm;
    return true;
  }
  const MessageLoad load{call, inputs};
  const CallFacts facts = facts_of(call, inputs.by_messages);
  for (const MessageCandidate& c : chooser.by_messages) {
    if (c.by_nodes != nullptr) {
      // The others suit some calls only, and are found by trying.
      if (name != hierarchical_name || c.name != name || !may_go_by_nodes(call, inputs)) continue;
      if (why_not(hierarchical_needs(call.collective), facts, {}) != nullptr) continue;
      s.hierarchical = &c.by_nodes(inputs);
      return true;
    }
    const AnySchedule schedule = c.schedule(load);
    if (!schedule || schedule.base_name() != name) continue;
    if (why_not(needs_in_call(schedule, call), facts, {}) != nullptr) continue;
    s.schedule = schedule;
    return true;
  }
  return false;
}

/// Completes a spec by the first rule that fits the call and can run it; null: there is none.
/// `passed`, unless it is null, is told which ones fit and cannot.
[[gnu::cold, gnu::noinline]] inline const SelectionRule* choose_by_rules(
    AlgorithmSpec& s, Call& call, const SelectionInputs& inputs, const Chooser& chooser,
    std::string* passed = nullptr) {
  call.trial = {};
  call.reach = PeerReach::by_option;
  std::size_t number = 0;
  for (const SelectionRule& rule : *inputs.rules) {
    ++number;
    if (!rule.fits(call, inputs.size, inputs.ranks_per_node)) continue;
    if (choose_named(s, call, inputs, chooser, kept_algorithms[rule.algorithm])) return &rule;
    if (passed == nullptr) continue;
    *passed += joined({(passed->empty() ? "" : ", "), "rule ", number, " (",
                       kept_algorithms[rule.algorithm], ")"});
  }
  return nullptr;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
