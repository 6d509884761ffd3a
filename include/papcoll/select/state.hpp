#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/policies/algorithm.hpp>
#include <papcoll/runtime/hierarchy.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/select/cache.hpp>
#include <papcoll/select/inputs.hpp>
#include <papcoll/select/late_node_cache.hpp>
#include <papcoll/select/learner.hpp>
#include <papcoll/select/suara_cache.hpp>
#include <papcoll/select/thresholds.hpp>
#include <papcoll/select/tuning.hpp>
#include <papcoll/topology/machine_on_demand.hpp>
#include <papcoll/transport/find_transport.hpp>

#include <optional>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// What a team's calls that name no algorithm keep from call to call.
struct SelectionState final : TeamPart {
  static constexpr PartKind kind = PartKind::selection;

  Thresholds thresholds;
  std::optional<PeerCosts> costs;  ///< instead of what the ranks find
  CallLearner learner;
  LateNodeCache late_node;
  SuaraCache suara;
  SelectionCache choices;
};

/// Throws argument_error, on all ranks, if the tuning file says what it must not.
[[gnu::cold, gnu::noinline]] inline SelectionState& make_selection(TeamCore& team) {
  Thresholds thresholds;
  if (team.parent() != nullptr) {
    const SelectionState* const outer = team.parent()->parts().find<SelectionState>();
    if (outer != nullptr) thresholds = outer->thresholds;
  } else {
    const TuningText& text = team.tuning();
    if (!text.json.empty()) thresholds = parse_tuning<>(text.json, text.source);
  }
  SelectionState& state = team.parts().get<SelectionState>();
  state.thresholds = thresholds;
  return state;
}

inline SelectionState& selection_of(TeamCore& team) {
  SelectionState* const state = team.parts().find<SelectionState>();
  return state != nullptr ? *state : make_selection(team);
}

inline const Thresholds& thresholds_of(TeamCore& team) { return selection_of(team).thresholds; }

/// Before a blocking call for which the learner is asked.
inline void learn_from_call(TeamCore& team) {
  if (team.options().selection == Selection::learned) {
    team.set_cost_listener(&selection_of(team).learner);
  }
}

/// Instead of those of the tuning file; the same on all ranks, between the same two calls.
inline void set_thresholds(TeamCore& team, const Thresholds& thresholds) {
  SelectionState& state = selection_of(team);
  state.thresholds = thresholds;
  state.suara.forget();
  state.choices.forget();
  state.learner.forget();
}

/// Instead of what they cost as far as is known; the same on all ranks, between the same two calls.
inline void set_costs(TeamCore& team, const PeerCosts& costs) {
  SelectionState& state = selection_of(team);
  state.costs = costs;
  state.choices.forget();
  state.learner.forget();
}

/// On how many processors its ranks, and those of the teams that it is a part of, may run; 0:
/// unknown.
inline int processors_of(const TeamCore& team) noexcept {
  const TeamCore* outermost = &team;
  while (outermost->parent() != nullptr) outermost = outermost->parent();
  return static_cast<int>(outermost->processors());
}

/// Do ranks that share no memory count the team's calls, and tell each other what they cost? Not in
/// the phases of other calls.
inline bool counts_calls(const TeamCore& team) noexcept {
  return !team.on_one_node() && !team.is_inner() && team.size() > 1;
}

/// What decides how the team's next call runs if no algorithm is named. `by_messages`: it can only
/// pass them. `any_transport`: none is named either.
inline SelectionInputs inputs_of(TeamCore& team, const Call& call, bool by_messages,
                                 bool any_transport) {
  SelectionState& state = selection_of(team);
  SelectionInputs s;
  const bool is_repeatable = team.options().selection == Selection::repeatable;
  s.size = team.size();
  s.oversubscribed =
      call.reproducible || is_repeatable ? team.was_oversubscribed() : team.waiter().oversubscribed;
  const Hierarchy* const hierarchy = hierarchy_of(team);
  s.grouped = any_transport && team.has_groups();
  if (any_transport && hierarchy != nullptr && hierarchy->by_caches) {
    s.near_groups = hierarchy->groups.count();
  }
  s.by_messages = by_messages;
  s.between_nodes = !team.on_one_node() && !team.has_groups();
  if (s.grouped) {
    s.largest_node = hierarchy->levels.front().largest;
    s.nodes = hierarchy->groups.count();
    s.nodes_in_order = !is_prefix_reduction(call.collective) || hierarchy->groups.contiguous();
  }
  if (s.grouped && hierarchy->levels.size() == 1) s.late_node = &state.late_node;
  s.suara = &state.suara;
  const MachineOnDemand* const machine = team.surroundings().machine.get();
  if (!team.on_one_node() && machine != nullptr && machine->get().network().nodes() > 1) {
    s.orders = &team.machine_orders();
    s.plans = &team.plans();
  }
  if (team.on_one_node()) {
    const Node& node = *team.surroundings().node;
    const PeerMemory& peers = node.peers;
    s.two_levels = node.groups != nullptr && node.groups->count() > 1;
    if (!is_repeatable) s.processors = processors_of(team);
    s.pulls = peers.pulls();
    s.prefers_pulls = peers.prefers_pulls();
    s.epoch = team.next_epoch();
  } else {
    s.epoch = team.calls();
  }
  // Across nodes what is measured counts where ranks tell each other: see counts_calls().
  const bool learns = team.on_one_node() ? !by_messages : counts_calls(team) && any_transport;
  if (learns && team.options().selection == Selection::learned) s.learner = &state.learner;
  s.chunk_bytes = team.options().chunk_bytes;
  if (!is_repeatable) s.imbalance = team.imbalance_of(call);
  s.thresholds = &state.thresholds;
  if (state.costs) {
    s.costs = &*state.costs;
  } else if (team.on_one_node() && !is_repeatable && !call.reproducible) {
    s.costs = &team.peer_costs();
  }
  return s;
}

/// The transport a part runs on in this team.
inline const TransportTable& transport_of(TeamCore& team, const AlgorithmSpec& part) {
  const TransportTable& t = part.transport != nullptr
                                ? *part.transport
                                : find_transport(team.surroundings(), part.transport_name);
  return t.unavailable(team.surroundings()).empty() ? t : default_transport(team.surroundings());
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
