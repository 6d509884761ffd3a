#pragma once

#include <papcoll/call.hpp>
#include <papcoll/catalogue/choose_on_node.hpp>
#include <papcoll/catalogue/grammar.hpp>
#include <papcoll/catalogue/rows.hpp>
#include <papcoll/catalogue/thresholds.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/run_call.hpp>
#include <papcoll/run_composite.hpp>
#include <papcoll/team.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// Microseconds with two digits.
inline std::string shown_time(std::uint64_t ns) {
  const std::uint64_t hundredths = (ns + 5) / 10;
  const std::string digits = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + "." + (digits.size() < 2 ? "0" : "") + digits + " µs";
}

/// Puts each threshold's value behind its name.
inline std::string with_values(std::string_view why, const Thresholds& t) {
  const auto in_name = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  std::string text;
  while (!why.empty()) {
    std::size_t n = 0;
    while (n < why.size() && in_name(why[n])) ++n;
    const std::string_view word = why.substr(0, n == 0 ? 1 : n);
    text += word;
    for (const ThresholdField& f : threshold_fields) {
      if (f.name == word) text += " (" + std::to_string(t.*(f.value)) + ")";
    }
    why.remove_prefix(word.size());
  }
  return text;
}

/// Why a schedule was chosen, in words.
inline std::string why_by_messages(const Call& call, const Situation& s) {
  const Thresholds& t = *s.thresholds;
  const auto side = [&](std::size_t bytes, std::size_t Thresholds::*value, const char* name) {
    return (bytes <= t.*value ? "at most " : "above ") + std::string(name) + " bytes";
  };
  switch (call.collective) {
    case Collective::allreduce:
      return side(call.bytes(), &Thresholds::recursive_doubling, "recursive_doubling");
    case Collective::reduce:
    case Collective::bcast:
      return side(call.bytes(), &Thresholds::tree, "tree");
    case Collective::allgather:
      return side(call.bytes() * static_cast<std::size_t>(s.size), &Thresholds::bruck, "bruck") +
             " of all ranks";
    case Collective::reduce_scatter:
      return call.reducer.commutative ? "the operator commutes" : "the operator does not commute";
    default:
      return "there is one for this collective";
  }
}

inline std::string memory_of(const TeamCore& team) {
  const Node* const node = team.surroundings().node;
  if (node == nullptr) return "messages: " + team.surroundings().no_node;
  if (node->peers.is_common()) return "threads: all memory is everyone's";
  const std::string arena = node->arena_bytes != 0 ? "in the arena where they are, " : "";
  return "buffers are read " + arena +
         (node->peers.pulls() ? "elsewhere by copies of the kernel" : "elsewhere chunk by chunk");
}

/// Why a row of the catalogue cannot run a call, or nothing if it can.
inline std::string refusal(const CatalogueRow& row, const TeamCore& team, const Call& call,
                           bool non_blocking) {
  const unsigned needs = needs_of_call(row, call.collective);
  if (non_blocking && (needs & requirement::blocking_call) != 0) return "it cannot be non-blocking";
  if ((needs & requirement::node_memory) != 0) {
    if (!team.on_one_node()) {
      return "it needs memory that all ranks share: " + team.surroundings().no_node;
    }
    if (row.algorithm != nullptr && team.size() > row.algorithm->most_ranks) {
      return "it serves at most " + std::to_string(row.algorithm->most_ranks) + " ranks of a node";
    }
    if (call.reducer.size > team.options().chunk_bytes) {
      return "elements are larger than chunk_bytes, " + std::to_string(team.options().chunk_bytes);
    }
  }
  if (!is_reduction(call.collective)) return {};
  if ((needs & requirement::commutative_operator) != 0 && !call.reducer.commutative) {
    return "the operator is not known to commute";
  }
  if (call.reproducible && row.strongest != NumericalContract::reproducible) {
    return "its bits depend on arrivals";
  }
  return {};
}

template <class>
Explanation explain_call(TeamCore& team, Collective collective, std::size_t bytes,
                         const CallTraits& traits) {
  Call call;
  call.collective = collective;
  call.reducer.size = traits.element_size == 0 ? 1 : traits.element_size;
  call.reducer.commutative = traits.commutative;
  call.count = bytes / call.reducer.size;
  const Selection& given = traits.algorithm.selection();
  Selection contract = given;
  if (traits.contract != NumericalContract::rank_consistent) contract.contract = traits.contract;
  state_contract(call, contract);

  Explanation e;
  const TransportTable& transport = transport_of(team, given);
  const bool any_transport = given.transport == nullptr && given.transport_name.empty();
  const Situation s = team.situation(call, traits.non_blocking || given.predictor, any_transport);
  const std::string over = "+" + std::string(transport.name);
  if (!given.is_automatic()) {
    e.algorithm =
        traits.algorithm.name().find('+') == std::string_view::npos && given.composite == nullptr
            ? std::string(traits.algorithm.name()) + over
            : std::string(traits.algorithm.name());
    e.reason = "the call names it";
  } else {
    Selection chosen;
    chosen.transport = &transport;
    choose_any(chosen, call, s);
    if (chosen.composite != nullptr) {
      e.algorithm = "Hierarchical";
      e.reason = with_values(call.bytes() <= s.thresholds->hierarchical
                                 ? "several nodes of several ranks, at most hierarchical bytes"
                                 : "several nodes of several ranks, imbalanced",
                             *s.thresholds) +
                 "; what runs in nodes and between them is chosen there";
    } else if (chosen.arrival != nullptr) {
      e.algorithm = std::string(chosen.arrival->name) + over;
      e.reason = with_values(choose_on_node(call, s).why, *s.thresholds);
    } else {
      e.algorithm = chosen.schedule.name() + over;
      e.reason = "by messages: " + with_values(why_by_messages(call, s), *s.thresholds);
    }
  }
  if (contract.contract != NumericalContract::rank_consistent &&
      e.algorithm.find(name_of(contract.contract)) == std::string::npos) {
    e.algorithm += "+" + std::string(name_of(contract.contract));
  }
  e.imbalance = s.imbalance;
  e.imbalanced_from = s.imbalanced_from(call.bytes());
  e.memory = memory_of(team);
  std::vector<std::string> reasons;  // those of e.refused
  for (const CatalogueRow& row : catalogue()) {
    if (!row.serves(collective)) continue;
    std::string why = refusal(row, team, call, traits.non_blocking);
    if (why.empty()) continue;
    const auto same = std::find(reasons.begin(), reasons.end(), why);
    if (same == reasons.end()) {
      e.refused.emplace_back(row.name);
      reasons.push_back(std::move(why));
    } else {
      e.refused[static_cast<std::size_t>(same - reasons.begin())].append(", ").append(row.name);
    }
  }
  for (std::size_t i = 0; i < reasons.size(); ++i) e.refused[i] += ": " + reasons[i];
  return e;
}
PAPCOLL_COMPILE_ONCE(Explanation explain_call<>(TeamCore&, Collective, std::size_t,
                                                const CallTraits&))

}  // namespace detail

template <class>
std::string Explanation::text_of(const Explanation& e) {
  std::string t = e.algorithm + "\n  because    " + e.reason + "\n  arrivals   ";
  if (e.imbalance.seen == 0) {
    t += "none seen, so taken as balanced";
  } else {
    t += "worst-case imbalance " + detail::shown_time(e.imbalance.worst) + ", average-case " +
         detail::shown_time(e.imbalance.average) + ", mean wait for the last " +
         detail::shown_time(e.imbalance.waiting) + ", from " + std::to_string(e.imbalance.seen) +
         " calls";
  }
  t += "; imbalanced above a wait of " + detail::shown_time(e.imbalanced_from) + "\n  memory     " +
       e.memory + "\n";
  for (const std::string& r : e.refused) t += "  not        " + r + "\n";
  return t;
}
PAPCOLL_COMPILE_ONCE(std::string Explanation::text_of<>(const Explanation&))

}  // namespace papcoll::inline PAPCOLL_ABI
