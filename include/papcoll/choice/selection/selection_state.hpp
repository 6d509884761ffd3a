// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/choice/policies/algorithm_spec.hpp>
#include <papcoll/choice/selection/by_messages.hpp>
#include <papcoll/choice/selection/choose.hpp>
#include <papcoll/choice/selection/learned_file.hpp>
#include <papcoll/choice/selection/learner.hpp>
#include <papcoll/choice/selection/on_node.hpp>
#include <papcoll/choice/selection/selection_cache.hpp>
#include <papcoll/choice/selection/selection_file.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>
#include <papcoll/runtime/setup/hierarchy.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/topology/machine_on_demand.hpp>
#include <papcoll/transport/memory_transports.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The places in kept_algorithms of the names of what may run calls of a kind, by their numbers.
[[gnu::cold]] inline Vector<std::size_t> names_of(const Chooser& chooser, CallKind::Bits kind) {
  Vector<std::size_t> all;
  if ((kind & CallKind::by_messages_bit) != 0) {
    for (const MessageCandidate& c : chooser.by_messages) all.push_back(kept_algorithm(c.name));
  } else {
    for (const NodeCandidate& c : chooser.on_node) all.push_back(kept_algorithm(name_of(c)));
  }
  return all;
}

/// What a team's calls that name no algorithm keep from call to call.
struct SelectionState final : TeamPart {
  static constexpr PartKind kind = PartKind::selection;

  explicit SelectionState(TeamCore& its_team) : team(its_team) {}
  /// Rank 0 of the outermost team keeps what was learned, if anything.
  inline void keep() noexcept override;

  TeamCore& team;
  Thresholds thresholds;
  Vector<SelectionRule> rules;
  Shared<const KeptChoices> kept;  ///< null: no file is named
  std::optional<PeerCosts> costs;  ///< instead of what the ranks find
  CallLearner learner;
  /// The choosers of the collectives for which the learner is asked.
  std::array<const Chooser*, collective_count> choosers{};
  TeamLikeness like;  ///< known once it is asked
  /// A small hash table of the kinds of calls that were looked up in what is kept; each slot has
  /// the latest of those it is for.
  static constexpr std::size_t slots = 128;
  std::array<CallKind::Bits, slots> asked{};
  static constexpr std::size_t slot_of(CallKind::Bits of) noexcept {
    return (of * 0x9e3779b9U >> 16U) % slots;
  }
  bool has_begun = false;    ///< costs that are kept were passed on
  std::uint32_t taught = 0;  ///< of the learner's changes, those by what is kept
  LateNodeCache late_node;
  SuaraCache suara;
  SelectionCache choices;
};

/// Reads the user's tuning file, and what is kept. Throws argument_error, with line and field.
template <class = void>
[[gnu::cold]] void read_files(SelectionState& state, const SelectionTexts& files) {
  auto kept = make_shared<KeptChoices>();
  SelectionFile wanted = kept->take(files);
  state.thresholds = wanted.thresholds;
  state.rules = std::move(wanted.rules);
  state.kept = std::move(kept);
}
PAPCOLL_COMPILE_ONCE(void read_files<>(SelectionState&, const SelectionTexts&))

/// Throws argument_error, on all ranks, if the tuning file is invalid.
[[gnu::cold, gnu::noinline]] inline SelectionState& make_selection(TeamCore& team) {
  Owned<SelectionState> state = make_owned<SelectionState>(team);
  if (team.parent() != nullptr) {
    const SelectionState* const outer = team.parent()->parts.find<SelectionState>();
    if (outer != nullptr) {
      state->thresholds = outer->thresholds;
      state->kept = outer->kept;
    }
  } else if (!team.files.empty()) {
    SelectionTexts files{team.files};
    files.source += " of rank 0";
    read_files<>(*state, files);
  }
  return team.parts.put(std::move(state));
}

inline SelectionState& selection_of(TeamCore& team) {
  SelectionState* const state = team.parts.find<SelectionState>();
  return state != nullptr ? *state : make_selection(team);
}

/// On how many processors its ranks, and those of the teams that it is a part of, may run; 0:
/// unknown.
inline int processors_of(const TeamCore& team) noexcept {
  return static_cast<int>(team.outermost().node.processors());
}

/// Returns the properties of the teams that can use what this one has learned.
[[gnu::cold]] inline TeamLikeness likeness_of(TeamCore& team) {
  const auto ranks = static_cast<std::size_t>(team.size());
  std::size_t on_node = team.on_one_node() ? ranks : 1;
  if (team.has_groups()) {
    on_node = static_cast<std::size_t>(hierarchy_of(team)->levels.front().largest);
  }
  return {ranks, on_node, team.outermost().processors_at_first};
}

/// The kind of calls of this size, as far as it does not change from call to call.
[[gnu::cold]] inline CallKind::Bits kept_kind(const Call& call, bool on_one_node,
                                              bool non_blocking) noexcept {
  CallKind base;
  base.by_messages = non_blocking || !on_one_node;
  base.non_blocking = non_blocking;
  return base.key(call);
}

/// Begins with what was learned before of calls of this size, in the first one that asks the
/// learner.
[[gnu::cold, gnu::noinline]] inline void begin_with_kept(SelectionState& state, const Call& call,
                                                         bool non_blocking) {
  const CallKind::Bits kind = kept_kind(call, state.team.on_one_node(), non_blocking);
  CallKind::Bits& asked = state.asked[SelectionState::slot_of(kind)];
  if (std::exchange(asked, kind) == kind) return;
  state.like = likeness_of(state.team);
  const std::uint32_t before = state.learner.changes();
  const PeerCosts* const costs = state.kept->costs_of(state.like);
  if (costs != nullptr && state.team.on_one_node() && !std::exchange(state.has_begun, true)) {
    state.team.node.begin_with(*costs);
  }
  const Chooser& chooser = *state.choosers[static_cast<std::size_t>(call.collective)];
  state.kept->teach(state.learner, state.like, kind, call, names_of(chooser, kind));
  state.taught += state.learner.changes() - before;
}

/// Called before a call whose contract is stated, for which the learner is asked; the same call on
/// all ranks.
inline void learn_from_call(TeamCore& team, const Call& call, const Chooser& chooser,
                            bool non_blocking) {
  if (team.options().selection != Selection::learned) return;
  SelectionState& state = selection_of(team);
  team.node.costs = &state.learner;
  state.choosers[static_cast<std::size_t>(call.collective)] = &chooser;
  if (state.kept != nullptr) begin_with_kept(state, call, non_blocking);
}

[[gnu::cold]] inline void SelectionState::keep() noexcept {
  if (kept == nullptr || kept->learn.empty() || team.user_rank(team.rank()) != 0) return;
  if (learner.changes() == taught) return;
  try {
    SelectionFile mine;
    mine.made_by = kept->here;
    if (team.on_one_node() && team.node.peer_costs() != usual_peer_costs) {
      mine.costs.push_back({like, team.node.peer_costs()});
    }
    learner.each_settled([&](const CallLearner::Settled& s) {
      const Collective c = CallKind::collective_of(s.kind);
      const Chooser* const chooser = choosers[static_cast<std::size_t>(c)];
      if (chooser == nullptr) return;
      const Vector<std::size_t> names = names_of(*chooser, s.kind);
      if (s.best >= names.size()) return;
      LearnedCall call{like, s.kind, names[s.best], s.ns, 0};
      for (std::size_t i = 0; i < names.size(); ++i) {
        if ((s.very_slow >> i & 1U) != 0) call.very_slow |= std::uint64_t{1} << names[i];
      }
      mine.calls.push_back(call);
    });
    if (!mine.calls.empty()) write_learned<>(kept->learn, mine);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it is learned again
  }
}

/// Returns true if ranks without shared memory count the team's calls and notify each other of
/// their costs. False in the phases of other calls.
inline bool counts_calls(const TeamCore& team) noexcept {
  return !team.on_one_node() && !team.is_inner() && team.size() > 1;
}

/// Returns what decides how the team's next call runs if no algorithm is named.
/// `must_pass_messages`: it can only pass them. `any_transport`: none is named either.
inline SelectionInputs inputs_of(TeamCore& team, const Call& call, bool must_pass_messages,
                                 bool any_transport) {
  SelectionState& state = selection_of(team);
  SelectionInputs inputs;
  const bool is_repeatable = team.options().selection == Selection::repeatable;
  inputs.size = team.size();
  inputs.oversubscribed = call.by_conditions() && !is_repeatable ? team.waiter().oversubscribed
                                                                 : team.was_oversubscribed();
  const Hierarchy* const hierarchy = hierarchy_of(team);
  inputs.grouped = any_transport && team.has_groups();
  if (any_transport && hierarchy != nullptr && hierarchy->by_caches) {
    inputs.near_chunk_bytes = hierarchy->plans->chunk_bytes();
  }
  inputs.must_pass_messages = must_pass_messages;
  inputs.between_nodes = !team.on_one_node() && !team.has_groups();
  if (inputs.grouped) {
    inputs.largest_node = hierarchy->levels.front().largest;
    inputs.nodes = hierarchy->groups.count();
    inputs.nodes_in_order = !is_prefix_reduction(call.collective) || hierarchy->groups.contiguous();
  }
  if (inputs.grouped && hierarchy->levels.size() == 1) inputs.late_node = &state.late_node;
  inputs.suara = &state.suara;
  const MachineOnDemand* const machine = team.environment().machine.get();
  if (!team.on_one_node() && machine != nullptr && machine->get().network().nodes() > 1) {
    inputs.orders = &team.plan_runs.machine_orders();
    inputs.plans = &team.plan_runs.plans();
  }
  if (team.on_one_node()) {
    const Node& node = *team.environment().node;
    const PeerMemory& peers = node.peers;
    if (node.groups != nullptr) inputs.cache_groups = node.groups->count();
    if (!is_repeatable) inputs.processors = processors_of(team);
    inputs.pulls = peers.pulls();
    inputs.prefers_pulls = peers.prefers_pulls();
    inputs.epoch = must_pass_messages ? team.calls.next() : team.next_epoch();
    inputs.ranks_per_node = team.size();
  } else {
    inputs.epoch = team.calls.next();
    if (inputs.grouped) inputs.ranks_per_node = inputs.largest_node;
  }
  // Across nodes measurements count only if ranks exchange them: see counts_calls().
  const bool learns = team.on_one_node() ? !must_pass_messages || any_transport
                                         : counts_calls(team) && any_transport;
  if (learns && team.options().selection == Selection::learned) inputs.learner = &state.learner;
  if (!state.rules.empty()) inputs.rules = &state.rules;
  inputs.chunk_bytes = team.options().chunk_bytes;
  if (!is_repeatable) inputs.imbalance = team.imbalance_of(call);
  inputs.thresholds = &state.thresholds;
  if (state.costs) {
    inputs.costs = &*state.costs;
  } else if (team.on_one_node() && !is_repeatable && call.by_conditions()) {
    inputs.costs = &team.node.peer_costs();
  }
  return inputs;
}

/// The transport that a part names, or the default one.
inline const TransportTable& named_transport(TeamCore& team, const AlgorithmSpec& part) {
  return part.transport != nullptr ? *part.transport
                                   : find_transport(team.environment(), part.transport_name);
}

/// The transport a part runs on in this team.
inline const TransportTable& transport_of(TeamCore& team, const AlgorithmSpec& part) {
  const TransportTable& t = named_transport(team, part);
  return t.unavailable(team.environment()).empty() ? t : default_transport(team.environment());
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
