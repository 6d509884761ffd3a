// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/hierarchical/hierarchical.hpp>
#include <papcoll/algorithms/static/linear.hpp>
#include <papcoll/choice/policies/hierarchical_spec.hpp>
#include <papcoll/choice/policies/refused_call.hpp>
#include <papcoll/choice/policies/requirements.hpp>
#include <papcoll/choice/selection/choose.hpp>
#include <papcoll/choice/selection/selection_state.hpp>
#include <papcoll/runtime/setup/hierarchy.hpp>
#include <papcoll/runtime/team.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

inline void run_levels(TeamCore& team, const HierarchicalSpec& hierarchical, const Call& call,
                       const Chooser& chooser);

/// The team's hierarchy, if the algorithm goes by it; null: the team is one group.
inline Hierarchy* hierarchy_for(TeamCore& team, const HierarchicalSpec& hierarchical) {
  Hierarchy* const h = hierarchy_of(team);
  return h != nullptr && h->by_caches && !hierarchical.by_caches ? nullptr : h;
}

/// Returns true if a rank knows all counts that the part's schedule needs.
inline bool knows_its_counts(const AlgorithmSpec& part, const Call& call) {
  return !call.local_counts || call.knows_all_counts || part.schedule.own_parts_only();
}

/// Runs a call by a part of a hierarchical algorithm, or by what is chosen for it on the part's
/// transport. The chooser is the call's collective's.
inline void run_part(TeamCore& team, const AlgorithmSpec& part, const Call& call,
                     const Chooser& chooser) {
  if (part.hierarchical != nullptr) return run_levels(team, *part.hierarchical, call, chooser);
  const TransportTable& t = transport_of(team, part);
  const bool reads = (t.offers & capability::node_memory) != 0 && team.on_one_node() &&
                     call.reducer.size <= team.options().chunk_bytes;
  // Orders other than the ranks', and blocks that differ and have no places, are for schedules.
  const OrderSource none;
  const OrderSource& orders = part.schedule ? none : part.order;
  const bool differ = call.counts != nullptr;
  const bool must_pass_messages = !reads || (differ && call.displacements == nullptr) || orders;
  if (!must_pass_messages && part.arrival != nullptr && part.arrival->context == t.context &&
      part.arrival->serves(call.collective) && (!differ || part.arrival->takes_counts)) {
    return team.run(*part.arrival, t, call);
  }
  if (part.schedule && part.schedule.serves(call.collective) && knows_its_counts(part, call)) {
    return team.run(part.schedule, t, call, part.order);
  }
  AlgorithmSpec chosen;
  chosen.transport = &t;
  chosen.order = orders;
  Call picked = call;
  learn_from_call(team, call, chooser, false);
  choose(chosen, picked, inputs_of(team, call, must_pass_messages, false), chooser);
  if (chosen.arrival != nullptr) return team.run(*chosen.arrival, picked);
  team.run(chosen.schedule, t, picked, chosen.order);
}

/// A team with its hierarchy, in a call of the chooser's collective.
class HierarchyTeamOf final : public HierarchyTeam {
 public:
  HierarchyTeamOf(TeamCore& team, const HierarchicalSpec& hierarchical, const Chooser& chooser)
      : team_(team),
        hierarchy_(*team.hierarchy()),
        hierarchical_(hierarchical),
        chooser_(chooser) {}

  const Groups& groups() const override { return hierarchy_.groups; }
  int rank() const override { return team_.rank(); }
  int user_rank(int rank) const override { return team_.user_rank(rank); }

  [[gnu::noinline]] bool serves_intra(Collective c) const override {
    const AlgorithmSpec& part = hierarchical_.intra;
    return (part.arrival != nullptr && part.arrival->serves(c)) ||
           (part.schedule && part.schedule.serves(c));
  }
  [[gnu::noinline]] void intra(const Call& call) override {
    run(team_.intra(), hierarchical_.intra, call);
  }
  [[gnu::noinline]] void inter(const Call& call) override {
    TeamCore* const team = team_.inter()->size() > 1 ? team_.inter() : nullptr;
    run(team, hierarchical_.inter, call);
  }

  void hop(int from, int to, const Call& call) override {
    TeamCore& group = *team_.intra();
    std::vector<std::size_t> sizes(static_cast<std::size_t>(group.size()), 0);
    sizes[static_cast<std::size_t>(from)] = call.count;
    Call one = call;
    one.counts = sizes.data();
    one.root = to;
    group.run(AnySchedule::of<Linear>(), transport_of(group, hierarchical_.intra), one);
  }

  [[gnu::noinline]] std::byte* memory(int which, std::size_t bytes) override {
    return hierarchy_.memory[static_cast<std::size_t>(which)].get(bytes);
  }

 private:
  /// `team` is null where this rank is alone.
  void run(TeamCore* team, const AlgorithmSpec& part, const Call& call) {
    if (team != nullptr) return run_part(*team, part, call, chooser_.of_phase(call.collective));
    if (!call.in_place()) copy(call.out, call.in, call.bytes());
  }

  TeamCore& team_;
  Hierarchy& hierarchy_;
  const HierarchicalSpec& hierarchical_;
  const Chooser& chooser_;
};

/// The outermost of the algorithms of a hierarchy.
inline const AlgorithmSpec& outermost(const HierarchicalSpec& hierarchical) {
  const HierarchicalSpec* c = &hierarchical;
  while (c->inter.hierarchical != nullptr) c = c->inter.hierarchical;
  return c->inter;
}

/// Connects the transport of each part that passes messages; false: one of them is not yet.
inline bool connected(TeamCore& team, const HierarchicalSpec& hierarchical) {
  for (const AlgorithmSpec* part : {&hierarchical.intra, &hierarchical.inter}) {
    if (part->hierarchical != nullptr) {
      if (!connected(team, *part->hierarchical)) return false;
      continue;
    }
    const TransportTable& t = named_transport(team, *part);
    if ((t.offers & capability::node_memory) == 0 && !team.scheduled.connected(t)) return false;
  }
  return true;
}

inline void run_levels(TeamCore& team, const HierarchicalSpec& hierarchical, const Call& call,
                       const Chooser& chooser) {
  if (hierarchy_for(team, hierarchical) == nullptr) {
    const AlgorithmSpec& part = team.on_one_node() ? hierarchical.intra : hierarchical.inter;
    return run_part(team, part, call, chooser);
  }
  const Groups& groups = team.hierarchy()->groups;
  const bool in_order = is_prefix_reduction(call.collective) ||
                        (is_reduction(call.collective) && !call.reducer.commutative);
  if (in_order && !groups.contiguous()) {
    return run_part(team, outermost(hierarchical), call, chooser);
  }
  team.counts.add(call.collective, hierarchical_name);
  team.scheduled.run_divided(
      hierarchical.id, call, [&] { return team.is_inner() || connected(team, hierarchical); },
      [&] {
        make_teams_of(team);
        HierarchyTeamOf divided{team, hierarchical, chooser};
        chooser.run_phases(divided, call);
      });
}

/// Checks what must hold before a hierarchical algorithm runs, the same on all ranks: nothing is
/// sent until it does.
class HierarchicalCheck {
 public:
  HierarchicalCheck(TeamCore& team, const Call& call) : team_(team), call_(call) {}

  void check(const HierarchicalSpec& hierarchical) const {
    if (const Requirement* const why =
            why_not(hierarchical_needs(call_.collective), facts_of(call_, false), {})) {
      refuse_call(team_, label_, *why, {.algorithm = std::string(hierarchical_name)});
    }
    const Hierarchy* const hierarchy = hierarchy_for(team_, hierarchical);
    const std::size_t depth = hierarchy == nullptr ? 0 : hierarchy->levels.size();
    bool shares = team_.on_one_node();
    int ranks = team_.size();
    const HierarchicalSpec* c = &hierarchical;
    for (std::size_t level = 0; level < depth; ++level) {
      const Hierarchy::Level& l = hierarchy->levels[level];
      part(c->intra, l.intra, l.largest);
      shares = l.inter;
      ranks = l.groups;
      if (c->inter.hierarchical == nullptr) return part(c->inter, shares, ranks);
      c = c->inter.hierarchical;
    }
    part(shares ? c->intra : outermost(*c), shares, ranks);
  }

 private:
  /// `ranks`: of the largest team that runs the part.
  void part(const AlgorithmSpec& spec, bool shares, int ranks) const {
    const TransportTable* t = spec.transport;
    try {
      if (!spec.transport_name.empty()) t = &named_transport(team_, spec);
      if (t != nullptr && (t->offers & capability::node_memory) == 0) team_.connections.require(*t);
    } catch (const transport_unavailable& problem) {
      team_.invalid.notify_peers(false, problem.what());
      throw;
    }
    const bool reads = t == nullptr ? shares : (t->offers & capability::node_memory) != 0;
    AlgorithmNeeds needs;
    if (spec.arrival != nullptr) {
      needs = needs_of_algorithm(*spec.arrival);
      if (!is_reduction(call_.collective)) needs.most_ranks = ranks;
    } else {
      if (spec.schedule) needs = needs_in_call(spec.schedule, call_);
      needs.serves = true;  // what a part does not serve runs by what is chosen for it
      if (reads) needs.bits |= requirement::common_memory;
    }
    TeamOffers offers{.ranks = ranks, .chunk_bytes = team_.options().chunk_bytes};
    if (!shares) offers.bits &= ~requirement::common_memory;
    if (!reads) offers.bits &= ~requirement::node_memory;
    CallFacts facts = facts_of(call_, false);
    facts.irregular = facts.local_counts = false;  // what a part cannot do of these is chosen, too
    const Requirement* const why = why_not(needs, facts, offers);
    if (why == nullptr) return;
    RefusalDetails details = details_of(*why, needs, facts, offers);
    details.algorithm = spec.arrival != nullptr ? std::string(spec.arrival->name)
                        : spec.schedule         ? spec.schedule.name()
                                                : std::string(t->name);
    if (t != nullptr) details.transport = t->name;
    if (why->bit == requirement::common_memory) details.algorithm += " within Hierarchical";
    refuse_call(team_, label_, *why, std::move(details));
  }

  TeamCore& team_;
  const Call& call_;
  const CallLabel label_{call_.collective, false, call_.counts != nullptr};
};

[[gnu::noinline]] inline void run_hierarchical(TeamCore& team, const HierarchicalSpec& hierarchical,
                                               const Call& call, const Chooser& chooser) {
  HierarchicalCheck{team, call}.check(hierarchical);
  run_levels(team, hierarchical, call, chooser);
}

template <Collective C>
void run_hierarchical(TeamCore& team, const HierarchicalSpec& hierarchical, const Call& call) {
  run_hierarchical(team, hierarchical, call, ChooserOf<C>::value);
}

/// Runs a call whose collective only it knows. A template, so that a program that names no
/// algorithm by text does not instantiate the candidates of all.
template <class = void>
void run_any_hierarchical(TeamCore& team, const HierarchicalSpec& hierarchical, const Call& call) {
  run_hierarchical(team, hierarchical, call, chooser_of(call.collective));
}

#define PAPCOLL_ONCE_FOR(c) PAPCOLL_COMPILE_ONCE(RunHierarchical run_hierarchical<Collective::c>)
PAPCOLL_FOR_EACH_COLLECTIVE(PAPCOLL_ONCE_FOR)
#undef PAPCOLL_ONCE_FOR

}  // namespace papcoll::inline PAPCOLL_ABI::detail
