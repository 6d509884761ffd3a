#pragma once

#include <papcoll/arrival/order_source.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective_list.hpp>
#include <papcoll/base/joined.hpp>
#include <papcoll/mapping/map_positions.hpp>
#include <papcoll/mapping/mapped_order.hpp>
#include <papcoll/mapping/order_text.hpp>
#include <papcoll/names/explanation.hpp>
#include <papcoll/names/grammar.hpp>
#include <papcoll/names/rows.hpp>
#include <papcoll/policies/needs.hpp>
#include <papcoll/policies/refusal.hpp>
#include <papcoll/policies/requirements.hpp>
#include <papcoll/select/automatic.hpp>
#include <papcoll/select/on_node.hpp>
#include <papcoll/select/thresholds.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/transport/transport.hpp>

#include <algorithm>
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

/// Microseconds with two digits.
[[gnu::cold]] inline std::string shown_time(std::uint64_t ns) {
  const std::uint64_t hundredths = (ns + 5) / 10;
  const std::string digits = std::to_string(hundredths % 100);
  return detail::joined({hundredths / 100, ".", (digits.size() < 2 ? "0" : ""), digits, " µs"});
}

inline std::uint64_t nanoseconds(double seconds) noexcept {
  return static_cast<std::uint64_t>(seconds * 1e9);
}

/// "allreduce.multi_leader (8192)"
[[gnu::cold]] inline std::string with_value(const ThresholdField& f, const Thresholds& t) {
  return detail::joined({f.full_name(), " (", f.of(t), ")"});
}

/// What the closed forms take of the thresholds.
[[gnu::cold]] inline std::string the_network(const Thresholds& t) {
  return detail::joined({with_value(*threshold("network", "alpha_ns"), t), ", ",
                         with_value(*threshold("network", "gap_ns"), t), ", ",
                         with_value(*threshold("network", "beta_as"), t), " and ",
                         with_value(*threshold("network", "gamma_as"), t)});
}

[[gnu::cold]] inline std::string why_alltoall(const Call& call, const SelectionInputs& s) {
  if (call.is_uneven()) return "what an alltoall always runs whose blocks differ";
  const Thresholds& t = *s.thresholds;
  const WeighedAlltoall w = weigh_alltoall(call.bytes(), s.size, t);
  std::string why = detail::joined({"by the model of ", the_network(t), " Bruck takes ",
                                    shown_time(nanoseconds(w.bruck)), ", every block by itself ",
                                    shown_time(nanoseconds(w.apart))});
  if (!w.is_bruck()) {
    why += detail::joined({", as many at once as ", with_value(*threshold("alltoall", "batch"), t),
                           " latencies take"});
  }
  return why;
}

/// Why a schedule was chosen, in words.
[[gnu::cold]] inline std::string why_by_messages(const Call& call, const SelectionInputs& s) {
  const Thresholds& t = *s.thresholds;
  if (is_long_between_nodes(call, s)) {
    const WeighedBetweenNodes w = weigh_between_nodes(call, s);
    if (w.wins(t)) {
      return detail::joined({"between nodes, and by the model of ", the_network(t), " ",
                             w.is_suara() ? "Suara" : "TwoTreeComplete", " takes ",
                             shown_time(nanoseconds(w.best())), ", what would run otherwise ",
                             shown_time(nanoseconds(w.otherwise)), ", at least ",
                             with_value(*threshold("network", "percent"), t), " % of it"});
    }
  }
  const auto side = [&](std::size_t bytes, const ThresholdField* f) {
    return detail::joined(
        {(bytes <= f->of(t) ? "at most " : "above "), with_value(*f, t), " bytes"});
  };
  if (call.is_uneven()) return "blocks that differ in length";
  switch (call.collective) {
    case Collective::allreduce:
      return side(call.bytes(), threshold("allreduce", "recursive_doubling"));
    case Collective::reduce:
      return side(call.bytes(), threshold("reduce", "binomial"));
    case Collective::bcast:
      return side(call.bytes(), threshold("bcast", "binomial"));
    case Collective::allgather:
      return detail::joined(
          {side(call.bytes() * static_cast<std::size_t>(s.size), threshold("allgather", "bruck")),
           " of all ranks"});
    case Collective::alltoall:
      return why_alltoall(call, s);
    case Collective::scan:
    case Collective::exscan: {
      const WeighedScan w = weigh_scan(call.collective, call.bytes(), s.size, t);
      return detail::joined({"by the model of ", the_network(t), " PipelinedChain takes ",
                             shown_time(nanoseconds(w.chain)), ", RecursiveDoubling ",
                             shown_time(nanoseconds(w.doubling))});
    }
    case Collective::reduce_scatter:
      return call.reducer.commutative ? "for operators that commute"
                                      : "for operators not known to commute";
    default:
      return detail::joined({(call.collective == Collective::exscan ? "what an " : "what a "),
                             name_of(call.collective), " always runs"});
  }
}

/// Why a row of the catalogue cannot run a call, or nothing if it can.
[[gnu::cold]] inline std::string reason_against(const CatalogueRow& row, const TeamFacts& team,
                                                const Call& call, bool non_blocking) {
  AlgorithmNeeds needs;
  needs.bits = row.is_hierarchical ? hierarchical_needs(call.collective).bits : row.needs;
  needs.strongest = row.strongest;
  if (row.algorithm != nullptr) needs.most_ranks = row.algorithm->most_ranks;
  TeamOffers offers;
  offers.ranks = team.inputs.size;
  offers.chunk_bytes = team.inputs.chunk_bytes;
  if (!team.on_one_node) offers.bits &= ~requirement::common_memory;
  const Requirement* const why = why_not(needs, facts_of(call, non_blocking), offers);
  if (why == nullptr) return {};
  RefusalDetails details;
  const bool counts = why->bit == requirement::few_ranks;
  details.found = static_cast<std::size_t>(offers.ranks);
  details.limit = counts ? static_cast<std::size_t>(needs.most_ranks) : offers.chunk_bytes;
  std::string text = with_details(why->why, details);
  if (why->bit == requirement::common_memory && !team.why_no_shared_memory.empty()) {
    text += detail::joined({": ", team.why_no_shared_memory});
  }
  return text;
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
  if (traits.uneven && has_blocks && !is_reduction(collective)) {
    static constexpr std::size_t some = 0;  // that there are counts is all that is asked
    call.counts = &some;
    call.own_counts = collective != Collective::allgather;
  }
  AlgorithmSpec contract = traits.algorithm.spec();
  if (traits.contract != NumericalContract::rank_consistent) contract.contract = traits.contract;
  state_contract(call, contract);
  return call;
}

/// Why a call goes by nodes, in words.
[[gnu::cold]] inline std::string why_by_nodes(const Call& call, const SelectionInputs& s) {
  const Thresholds& t = *s.thresholds;
  if (call.collective == Collective::alltoall) {
    return detail::joined({"at most ", with_value(*threshold("network", "alltoall"), t),
                           " bytes of all blocks of a rank, a node of at least ",
                           with_value(*threshold("network", "alltoall_ranks"), t), " ranks"});
  }
  const std::string late =
      detail::joined({"late by more than ", with_value(*threshold("network", "late_percent"), t),
                      " % of the call's own time"});
  if (call.collective == Collective::allreduce && has_late_node(call, s)) {
    return detail::joined({"node ", s.imbalance.late_node, " is always ", late});
  }
  if (call.bytes() <= t.network.hierarchical) {
    return detail::joined(
        {"at most ", with_value(*threshold("network", "hierarchical"), t), " bytes"});
  }
  if (is_imbalanced(call, s)) return "imbalanced";
  if (waits_for_a_node(call, s)) return detail::joined({"one node ", late});
  return detail::joined({"a byte takes more than ",
                         with_value(*threshold("network", "slow_ps_a_byte"), t), " picoseconds"});
}

/// Shares of the vector with two digits.
[[gnu::cold]] inline std::string shown_share(double share) {
  const auto hundredths = static_cast<std::uint64_t>(std::llround(share * 100));
  const std::string digits = std::to_string(hundredths % 100);
  return detail::joined({hundredths / 100, ".", (digits.size() < 2 ? "0" : ""), digits});
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
  const std::string figures =
      detail::joined({"bytes x hops ", shown_share(m.in_rank_order.byte_hops), " -> ",
                      shown_share(m.arranged.byte_hops), ", heaviest link ",
                      shown_share(m.in_rank_order.heaviest_link), " -> ",
                      shown_share(m.arranged.heaviest_link), " vectors"});
  const std::string on = detail::joined({" (machine: ", machine->source, ")"});
  switch (m.verdict) {
    case MappedOrder::Verdict::mapped:
      if (order.map() == nullptr) {
        return detail::joined({"rank order; along the machine: ", figures, on});
      }
      return detail::joined({"along the machine: ", figures, on, "; ", order_text(m.order)});
    case MappedOrder::Verdict::worse:
      return detail::joined({"rank order: along the machine it would be worse, ", figures, on});
    case MappedOrder::Verdict::all_talk_to_all:
      return detail::joined({"rank order: all ranks talk to all", on});
    case MappedOrder::Verdict::links_unknown:
      return detail::joined(
          {"rank order: by hops it is not known which messages share a link", on});
    case MappedOrder::Verdict::gains_nothing:
      break;
  }
  return detail::joined({"rank order: along the machine it would be no better", on});
}

/// Behind the name of an algorithm.
inline const char* way_of(PeerReach reach) noexcept {
  switch (reach) {
    case PeerReach::pulled:
      return " by the kernel";
    case PeerReach::chunked:
      return " in pieces";
    default:
      return "";
  }
}

/// Why a candidate runs on a node, and what the others cost by the model and in calls of this kind.
[[gnu::cold]] inline void explain_on_node(Explanation& e, const Call& call, const CallTrial& trial,
                                          const SelectionInputs& s, const Chooser& chooser) {
  const Shortlist list = shortlist(chooser.on_node, call, s);
  const bool is_settled = s.learner != nullptr && s.learner->is_settled(trial.kind);
  e.reason = list.count == 1                  ? "no other candidate is promising"
             : is_settled                     ? "it was the quickest when candidates were tried"
             : trial.candidate == list.ids[0] ? "the model of the node expects least of it"
                                              : "it is tried, or was the quickest so far";
  for (std::size_t i = 0; i < list.count; ++i) {
    const NodeCandidate& c = chooser.on_node[list.ids[i]];
    e.candidates += joined({(i == 0 ? "" : "; "), c.algorithm->name, way_of(c.reach), ": expected ",
                            shown_time(static_cast<std::uint64_t>(prior_of(c, call, s)))});
    if (s.learner == nullptr) continue;
    s.learner->each_tried(trial.kind, [&](const CallLearner::Tried& t) {
      if (t.candidate != list.ids[i] || t.ns == 0) return;
      e.candidates += joined({", measured ", shown_time(t.ns), (t.is_dropped ? ", dropped" : "")});
    });
  }
}

/// What is chosen for a call that names no algorithm, but may be the order of the ranks, and why.
[[gnu::cold]] inline void explain_automatic(Explanation& e, const TeamFacts& team, const Call& call,
                                            const OrderSource& order = {}) {
  const SelectionInputs& s = team.inputs;
  const std::string over = detail::joined({"+", team.transport->name});
  AlgorithmSpec chosen;
  chosen.transport = team.transport;
  chosen.order = order;
  const Chooser& chooser = chooser_of(call.collective);
  Call picked = call;
  choose(chosen, picked, s, chooser);
  if (chosen.hierarchical != nullptr && chosen.hierarchical->by_caches) {
    e.algorithm = "Hierarchical:DynamicLeader,auto";
    e.reason = detail::joined(
        {"one node of ", s.near_groups, " groups that share a cache, at most ",
         with_value(*threshold("node", "caches"), *s.thresholds), " bytes, at least ",
         with_value(*threshold("node", "caches_ranks"), *s.thresholds), " ranks"});
  } else if (chosen.hierarchical != nullptr) {
    const AnySchedule& among_nodes = chosen.hierarchical->inter.schedule;
    e.algorithm = "Hierarchical";
    if (among_nodes) e.algorithm += detail::joined({":auto,", among_nodes.base_name()});
    e.reason = detail::joined({"several nodes of several ranks, ", why_by_nodes(call, s),
                               (among_nodes ? "; what runs in nodes is chosen there"
                                            : "; what runs in nodes and between them is chosen "
                                              "there")});
  } else if (chosen.arrival != nullptr) {
    e.algorithm = detail::joined({chosen.arrival->name, over});
    explain_on_node(e, call, picked.trial, s, chooser);
  } else {
    e.algorithm = chosen.schedule.name() + over;
    if (chosen.order) e.algorithm = detail::joined({chosen.order.name(), "+", e.algorithm});
    if (s.orders != nullptr || chosen.order) {
      e.order = explain_order(team.machine, chosen.schedule, chosen.order, call);
    }
    e.reason = detail::joined({"ranks pass messages: ", why_by_messages(call, s)});
  }
  if (s.size == 1) e.reason = "a rank alone exchanges nothing";
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
  for (std::size_t i = 0; i < reasons.size(); ++i) rows[i] += detail::joined({": ", reasons[i]});
  return rows;
}

/// What such a team would run if its next call were this one, described_call(…, traits), and why.
[[gnu::cold]] inline Explanation explain_choice(const TeamFacts& team, const Call& call,
                                                const CallTraits& traits) {
  Explanation e;
  const AlgorithmSpec& given = traits.algorithm.spec();
  if (given.is_automatic()) {
    explain_automatic(e, team, call, given.order);
  } else {
    e.algorithm = traits.algorithm.name();
    const bool names_transport = given.transport != nullptr || !given.transport_name.empty();
    if (!names_transport && given.contract == NumericalContract::rank_consistent &&
        given.hierarchical == nullptr) {
      e.algorithm.append("+").append(team.transport->name);
    }
    e.reason = "the call names it";
    if (given.schedule && given.order) {
      e.order = explain_order(team.machine, given.schedule, given.order, call);
    }
  }
  const NumericalContract contract =
      traits.contract != NumericalContract::rank_consistent ? traits.contract : given.contract;
  if (contract != NumericalContract::rank_consistent &&
      e.algorithm.find(name_of(contract)) == std::string::npos) {
    e.algorithm.append("+").append(name_of(contract));
  }
  e.imbalance = team.inputs.imbalance;
  e.imbalanced_from = team.inputs.imbalanced_from(call.bytes());
  e.memory = team.memory;
  e.refused = all_refusals(team, call, traits.non_blocking);
  return e;
}

}  // namespace detail

template <class>
[[gnu::cold]] std::string Explanation::text_of(const Explanation& e) {
  std::string t = detail::joined({e.algorithm, "\n  because    ", e.reason, "\n  arrivals   "});
  const std::string wait =
      detail::joined({"mean wait for the last ", detail::shown_time(e.imbalance.waiting)});
  if (e.imbalance.seen != 0) {
    t += detail::joined({"worst-case imbalance ", detail::shown_time(e.imbalance.worst),
                         ", average-case ", detail::shown_time(e.imbalance.average), ", ", wait,
                         ", from ", e.imbalance.seen, " calls"});
  } else if (e.imbalance.waiting != 0) {
    t += wait;  // assumed by whoever asks
  } else {
    t += "none seen, so taken as balanced";
  }
  t += detail::joined({"; imbalanced above a wait of ", detail::shown_time(e.imbalanced_from),
                       "\n  memory     ", e.memory, "\n"});
  if (!e.order.empty()) t += detail::joined({"  order      ", e.order, "\n"});
  if (!e.candidates.empty()) t += detail::joined({"  candidates ", e.candidates, "\n"});
  for (const std::string& r : e.refused) t += detail::joined({"  not        ", r, "\n"});
  return t;
}
PAPCOLL_COMPILE_ONCE(std::string Explanation::text_of<>(const Explanation&))

}  // namespace papcoll::inline PAPCOLL_ABI
