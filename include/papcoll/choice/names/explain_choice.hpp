// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/order_source.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/choice/names/explanation.hpp>
#include <papcoll/choice/names/name_parser.hpp>
#include <papcoll/choice/policies/hierarchical_spec.hpp>
#include <papcoll/choice/policies/requirements.hpp>
#include <papcoll/choice/selection/by_messages.hpp>
#include <papcoll/choice/selection/choose.hpp>
#include <papcoll/choice/selection/learner.hpp>
#include <papcoll/choice/selection/on_node.hpp>
#include <papcoll/choice/selection/selection_file.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/mapping/map_positions.hpp>
#include <papcoll/topology/mapping/mapped_order.hpp>
#include <papcoll/transport/transport.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// What a choice depends on, of a team that need not exist.
struct TeamFacts {
  const TransportTable* transport = nullptr;  ///< the call's
  bool on_one_node = false;                   ///< the ranks share memory, or
  std::string why_no_shared_memory;           ///< why they do not
  std::string memory;                         ///< how ranks get at each other's data
  const Machine* machine = nullptr;           ///< null: unknown
  SelectionInputs inputs;
};

namespace detail {

inline std::uint64_t nanoseconds(double seconds) noexcept {
  return static_cast<std::uint64_t>(seconds * 1e9);
}

/// "allreduce.multi_leader (8192)"
[[gnu::cold]] inline std::string with_value(const ThresholdField& f, const Thresholds& t) {
  return joined({f.full_name(), " (", f.of(t), ")"});
}

/// Returns what the closed forms take of the thresholds.
[[gnu::cold]] inline std::string the_network(const Thresholds& t) {
  return joined({with_value(threshold("alpha_ns"), t), ", ", with_value(threshold("gap_ns"), t),
                 ", ", with_value(threshold("beta_as"), t), " and ",
                 with_value(threshold("gamma_as"), t)});
}

/// The first requirement of an algorithm that a call of such a team does not meet; null: none.
struct Unmet {
  const Requirement* why = nullptr;
  RefusalDetails details{};
};
[[gnu::cold]] inline Unmet unmet_by(const AlgorithmNeeds& needs, const TeamFacts& team,
                                    const CallFacts& call, int ranks, bool shares) {
  TeamOffers offers{.ranks = ranks, .chunk_bytes = team.inputs.chunk_bytes};
  if (!shares) offers.bits &= ~requirement::common_memory;
  const Requirement* const why = why_not(needs, call, offers);
  return {why, why == nullptr ? RefusalDetails{} : details_of(*why, needs, call, offers)};
}

/// Why a row of the catalogue cannot run a call, or nothing if it can.
[[gnu::cold]] inline std::string reason_against(const CatalogueRow& row, const TeamFacts& team,
                                                const Call& call, bool non_blocking) {
  AlgorithmNeeds needs;
  needs.bits = row.is_hierarchical ? hierarchical_needs(call.collective).bits : row.needs;
  needs.strongest = row.strongest;
  if (row.algorithm != nullptr) needs.most_ranks = row.algorithm->most_ranks;
  const auto [why, details] =
      unmet_by(needs, team, facts_of(call, non_blocking), team.inputs.size, team.on_one_node);
  if (why == nullptr) return {};
  std::string text = with_details(why->why, details);
  if (why->bit == requirement::common_memory && !team.why_no_shared_memory.empty()) {
    text += joined({": ", team.why_no_shared_memory});
  }
  return text;
}

/// Returns what an algorithm that is named requires in a call, and its name.
[[gnu::cold]] inline std::pair<AlgorithmNeeds, std::string> needs_of_named(
    const AlgorithmSpec& named, const Call& call) {
  if (named.hierarchical != nullptr) {
    return {hierarchical_needs(call.collective), std::string(hierarchical_name)};
  }
  if (named.tickets != nullptr) {
    return {needs_in_call(*named.tickets, call), std::string(named.tickets->name)};
  }
  if (named.arrival != nullptr) {
    return {needs_in_call(*named.arrival, call), std::string(named.arrival->name)};
  }
  if (named.schedule) return {needs_in_call(named.schedule, call), named.schedule.name()};
  return {};
}

/// The first unmet requirement of a hierarchy's parts, of which those outside share no memory.
[[gnu::cold]] inline Unmet unmet_by_parts(const HierarchicalSpec& hierarchical,
                                          const TeamFacts& team, CallFacts call,
                                          const Call& whole) {
  call.irregular = call.local_counts = false;  // what a part does not serve is chosen for it
  const SelectionInputs& inputs = team.inputs;
  for (const AlgorithmSpec* part : {&hierarchical.intra, &hierarchical.inter}) {
    const bool inner = part == &hierarchical.intra;
    if (!inner && part->hierarchical != nullptr) {
      return unmet_by_parts(*part->hierarchical, team, call, whole);
    }
    auto [needs, name] = needs_of_named(*part, whole);
    needs.serves = true;
    Unmet unmet = unmet_by(needs, team, call, inner ? inputs.largest_node : inputs.nodes,
                           inner || team.on_one_node);
    unmet.details.algorithm = name + " within Hierarchical";
    if (unmet.why != nullptr) return unmet;
  }
  return {};
}

/// What a named algorithm requires, and why it cannot run the call, if it cannot.
[[gnu::cold]] inline void explain_named(Explanation& e, const AlgorithmSpec& named,
                                        const TeamFacts& team, const Call& call,
                                        bool non_blocking) {
  auto [needs, name] = needs_of_named(named, call);
  unsigned asked = needs.bits;
  if (named.schedule && named.schedule.commutative_only())
    asked |= requirement::commutative_operator;
  if (!is_reduction(call.collective)) asked &= ~requirement::commutative_operator;
  for (const Requirement& r : requirements) {
    if (r.asks != nullptr && (asked & r.bit) != 0) e.required.emplace_back(r.asks);
  }
  const CallFacts facts = facts_of(call, non_blocking);
  Unmet unmet = unmet_by(needs, team, facts, team.inputs.size, team.on_one_node);
  unmet.details.algorithm = name;
  if (unmet.why == nullptr && named.hierarchical != nullptr) {
    unmet = unmet_by_parts(*named.hierarchical, team, facts, call);
  }
  if (unmet.why == nullptr) return;
  add_served_algorithms(unmet.details, *unmet.why, call.collective, [&](Collective c) {
    return named.arrival != nullptr ? named.arrival->serves(c) : named.schedule.serves(c);
  });
  e.refusal = refusal(*unmet.why, unmet.details);
}

/// The call that is asked about.
[[gnu::cold]] inline Call described_call(Collective collective, std::size_t bytes,
                                         const CallTraits& traits) {
  Call call;
  call.collective = collective;
  call.reducer.size = traits.element_size == 0 ? 1 : traits.element_size;
  call.reducer.commutative = traits.commutative;
  call.count = bytes / call.reducer.size;
  const bool has_blocks = has_data(collective) && !is_elementwise(collective);
  if (traits.irregular && has_blocks && !is_reduction(collective)) {
    static constexpr std::size_t some = 0;  // that there are counts is all that is asked
    call.counts = &some;
    call.local_counts = collective != Collective::allgather;
  }
  AlgorithmSpec contract = traits.algorithm.spec();
  if (traits.contract != default_contract) contract.contract = traits.contract;
  apply_contract(call, contract);
  return call;
}

[[gnu::cold]] inline std::string shown_share(double share) {
  return shown_hundredths(static_cast<std::uint64_t>(std::llround(share * 100)));
}

/// In what order a static schedule plays a call on a machine, and why.
[[gnu::cold]] inline std::string explain_order(const Machine* machine, const AnySchedule& schedule,
                                               const OrderSource& order, const Call& call) {
  if (order.predictor()) return "by predicted arrivals";
  if (machine == nullptr) return order.map() == nullptr ? "" : "rank order: the machine is unknown";
  const bool any_order = !is_prefix_reduction(call.collective) &&
                         !(is_reduction(call.collective) && !call.reducer.commutative);
  if (!any_order) return "rank order: results depend on the order of the ranks";
  const int root = is_rooted(call.collective) ? call.root : 0;
  const AnySchedule played = schedule.resolved(machine->size(), call.bytes());
  MapPositions& map = order.map() != nullptr ? *order.map() : map_positions;
  const MappedOrder m = map(played, call.collective, *machine, root);
  const std::string figures = joined({"bytes x hops ", shown_share(m.in_rank_order.byte_hops),
                                      " -> ", shown_share(m.arranged.byte_hops), ", heaviest link ",
                                      shown_share(m.in_rank_order.heaviest_link), " -> ",
                                      shown_share(m.arranged.heaviest_link), " vectors"});
  const std::string on = joined({" (machine: ", machine->source, ")"});
  switch (m.verdict) {
    case MappedOrder::Verdict::mapped:
      if (order.map() == nullptr) {
        return joined({"rank order; along the machine: ", figures, on});
      }
      return joined({"along the machine: ", figures, on, "; ", order_text(m.order)});
    case MappedOrder::Verdict::worse:
      return joined({"rank order: along the machine it would be worse, ", figures, on});
    case MappedOrder::Verdict::all_talk_to_all:
      return joined({"rank order: all ranks talk to all", on});
    case MappedOrder::Verdict::links_unknown:
      return joined({"rank order: by hops it is not known which messages share a link", on});
    case MappedOrder::Verdict::gains_nothing: break;
  }
  return joined({"rank order: along the machine it would be no better", on});
}

/// Why a candidate runs, and what the others cost by a model and in calls of this kind: of each
/// `describe(i)` gives the name and the nanoseconds that are expected.
template <class Describe>
[[gnu::cold]] void explain_candidates(Explanation& e, const Shortlist& list, const CallTrial& trial,
                                      const SelectionInputs& inputs, const char* model,
                                      Describe&& describe) {
  std::array<CallLearner::Tried, 16> tried{};
  unsigned met = 0;  // bit i: candidate i was tried
  if (inputs.learner != nullptr) {
    inputs.learner->each_tried(trial.kind, [&](const CallLearner::Tried& t) {
      tried[t.candidate] = t;
      met |= 1U << t.candidate;
    });
  }
  // What was the quickest may be unable to run this call.
  const bool is_best = tried[trial.candidate].is_best;
  const bool was_given = is_best && inputs.learner->was_given(trial.kind);
  const bool is_settled = is_best && inputs.learner->is_settled(trial.kind);
  e.reason += list.count == 1 ? "no other candidate is promising"
              : was_given     ? "from the file: it was the quickest before"
              : is_settled    ? "it was the quickest when candidates were tried"
              : trial.candidate == list.ids[0]
                  ? joined({"the model of the ", model, " expects least of it"})
                  : "it is tried, or was the quickest so far";
  const auto add_candidate = [&](std::uint8_t id) {
    const auto [name, ns] = describe(id);
    const CallLearner::Tried& t = tried[id];
    e.candidates +=
        joined({(e.candidates.empty() ? "" : "; "), name, ": expected ", shown_time(ns)});
    if (t.ns == 0) return;
    e.candidates += joined({", measured ", shown_time(t.ns), (t.is_dropped ? ", dropped" : "")});
  };
  for (std::size_t i = 0; i < list.count; ++i) add_candidate(list.ids[i]);
  for (unsigned left = met & ~unsigned{list.listed()}; left != 0; left &= left - 1) {
    const auto id = static_cast<std::uint8_t>(std::countr_zero(left));
    if ((list.allowed >> id & 1U) != 0) add_candidate(id);
  }
}

[[gnu::cold]] inline void explain_on_node(Explanation& e, const Call& call, const CallTrial& trial,
                                          const SelectionInputs& inputs, const Chooser& chooser) {
  explain_candidates(
      e, shortlist(chooser.on_node, call, inputs), trial, inputs, "node", [&](std::size_t i) {
        const NodeCandidate& c = chooser.on_node[i];
        return std::pair{name_of(c), static_cast<std::uint64_t>(prior_of(c, call, inputs))};
      });
}

[[gnu::cold]] inline std::string name_by_nodes(const HierarchicalSpec& spec) {
  const AnySchedule& among_nodes = spec.inter.schedule;
  return among_nodes ? joined({"Hierarchical:auto,", among_nodes.base_name()}) : "Hierarchical";
}

[[gnu::cold]] inline void explain_by_messages(Explanation& e, const Call& call,
                                              const CallTrial& trial, const SelectionInputs& inputs,
                                              const Chooser& chooser) {
  const MessageLoad load{call, inputs};
  explain_candidates(
      e, shortlist(chooser.by_messages, load), trial, inputs, "network", [&](std::size_t i) {
        const MessageCandidate& c = chooser.by_messages[i];
        return std::pair{
            c.by_nodes != nullptr ? name_by_nodes(c.by_nodes(inputs)) : c.schedule(load).name(),
            nanoseconds(prior_of(c, load))};
      });
  e.candidates += joined({"; by ", the_network(*inputs.thresholds)});
}

/// What is chosen for a call that names no algorithm, but may be the order of the ranks, and why.
[[gnu::cold]] inline void explain_automatic(Explanation& e, const TeamFacts& team, const Call& call,
                                            const OrderSource& order = {}) {
  const SelectionInputs& inputs = team.inputs;
  const std::string over = joined({"+", team.transport->name});
  AlgorithmSpec chosen;
  chosen.transport = team.transport;
  chosen.order = order;
  const Chooser& chooser = chooser_of(call.collective);
  Call picked = call;
  std::string passed;
  const SelectionRule* const rule =
      inputs.rules != nullptr ? choose_by_rules(chosen, picked, inputs, chooser, &passed) : nullptr;
  if (rule == nullptr) choose(chosen, picked, inputs, chooser);
  if (chosen.hierarchical != nullptr && chosen.hierarchical->by_caches) {
    e.algorithm = "Hierarchical:DynamicLeader,auto";
    const auto& all = chooser.on_node;
    const NodeCandidate& other = all[shortlist(all, call, inputs).ids[0]];
    const auto time = [](double ns) { return shown_time(static_cast<std::uint64_t>(ns)); };
    e.reason = joined({"one node of ", inputs.cache_groups, " groups that share a cache: expected ",
                       time(prior_by_caches(all, call, inputs)), " by them, ",
                       time(prior_of(other, call, inputs)), " by ", name_of(other)});
  } else if (chosen.hierarchical != nullptr) {
    e.algorithm = name_by_nodes(*chosen.hierarchical);
    e.reason = "several nodes of several ranks, ";
    if (has_late_node(call, inputs)) {
      e.reason += joined({"node ", inputs.imbalance.late_node, " is always late by more than ",
                          with_value(threshold("late_percent"), *inputs.thresholds),
                          " % of the call's own time; "});
    }
    if (rule == nullptr) explain_by_messages(e, call, picked.trial, inputs, chooser);
  } else if (chosen.arrival != nullptr) {
    e.algorithm = joined({chosen.arrival->name, over});
    if (rule == nullptr) explain_on_node(e, call, picked.trial, inputs, chooser);
  } else {
    e.algorithm = chosen.schedule.name() + over;
    if (chosen.order) e.algorithm = joined({chosen.order.name(), "+", e.algorithm});
    if (inputs.orders != nullptr || chosen.order) {
      e.order = explain_order(team.machine, chosen.schedule, chosen.order, call);
    }
    e.reason = "ranks pass messages: ";
    if (rule == nullptr) explain_by_messages(e, call, picked.trial, inputs, chooser);
  }
  if (inputs.size == 1) e.reason = "a rank alone exchanges nothing";
  if (rule != nullptr) {
    e.reason = joined({"rule ", rule - inputs.rules->data() + 1, " of the tuning file says so"});
  }
  if (!passed.empty()) e.reason += joined({"; ", passed, " cannot run it"});
}

/// The algorithms that cannot run a call, by reasons.
[[gnu::cold]] inline std::vector<std::string> all_refusals(const TeamFacts& team, const Call& call,
                                                           bool non_blocking) {
  std::vector<std::string> rows;
  std::vector<std::string> reasons;  // theirs
  for (const CatalogueRow& row : catalogue()) {
    if (!row.serves(call.collective)) continue;
    std::string why = reason_against(row, team, call, non_blocking);
    if (why.empty()) continue;
    const auto same = std::find(reasons.begin(), reasons.end(), why);
    if (same == reasons.end()) {
      rows.emplace_back(row.name);
      reasons.push_back(std::move(why));
    } else {
      rows[static_cast<std::size_t>(same - reasons.begin())].append(", ").append(row.name);
    }
  }
  for (std::size_t i = 0; i < reasons.size(); ++i) rows[i] += joined({": ", reasons[i]});
  return rows;
}

/// Returns what such a team would run if its next call were this one, described_call(…, traits),
/// and why.
[[gnu::cold]] inline Explanation explain_choice(const TeamFacts& team, const Call& call,
                                                const CallTraits& traits) {
  Explanation e;
  const AlgorithmSpec& given = traits.algorithm.spec();
  if (given.is_automatic()) {
    explain_automatic(e, team, call, given.order);
  } else {
    e.algorithm = traits.algorithm.name();
    const bool names_transport = given.transport != nullptr || !given.transport_name.empty();
    if (!names_transport && given.contract == default_contract && given.hierarchical == nullptr) {
      e.algorithm.append("+").append(team.transport->name);
    }
    e.reason = "the call names it";
    explain_named(e, given, team, call, traits.non_blocking);
    if (given.schedule && given.order) {
      e.order = explain_order(team.machine, given.schedule, given.order, call);
    }
  }
  const NumericalContract contract =
      traits.contract != default_contract ? traits.contract : given.contract;
  if (contract != default_contract && e.algorithm.find(name_of(contract)) == std::string::npos) {
    e.algorithm.append("+").append(name_of(contract));
  }
  e.imbalance = team.inputs.imbalance;
  e.imbalanced_from = team.inputs.imbalanced_from(call.bytes());
  e.memory = team.memory;
  e.refused = all_refusals(team, call, traits.non_blocking);
  return e;
}

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
