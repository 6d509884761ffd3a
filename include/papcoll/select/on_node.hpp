#pragma once

#include <papcoll/algorithms/arrival/all.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/select/thresholds.hpp>

#include <cstddef>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// An arrival-driven algorithm, null for none, and why it was chosen: part of a sentence, in
/// which thresholds are called by their names.
struct NodeChoice {
  const ArrivalAlgorithm* algorithm = nullptr;
  const char* why = "";
};

/// Do ranks wait long enough for the last one that it pays to begin without it? Not where bits must
/// not depend on arrivals: neither may the algorithm.
inline bool is_imbalanced(const Call& call, const SelectionInputs& s) noexcept {
  return !call.reproducible && s.imbalance.waiting > s.imbalanced_from(call.bytes());
}

/// Does a call on several nodes depend on arrivals, and show them to all ranks?
inline bool watches_across_nodes(const Call& call, const SelectionInputs& s) noexcept {
  return s.grouped && !s.by_messages && call.collective == Collective::allreduce &&
         call.bytes() > s.thresholds->hierarchical;
}

/// Were all buffers in the arena, and may that be acted on?
inline bool is_in_arena(const Call& call, const SelectionInputs& s) noexcept {
  return !call.reproducible && s.imbalance.in_arena;
}

/// Is it long enough for PeerSlices?
inline bool is_for_slices(const Call& call, const SelectionInputs& s) noexcept {
  const Thresholds& t = *s.thresholds;
  return call.bytes() > (is_in_arena(call, s) ? t.slices_arena : t.slices);
}

/// May the order of combination be that of the arrivals?
inline bool follows_arrivals(const Call& call, const SelectionInputs& s) noexcept {
  return !call.rank_order && s.size <= split_tail.most_ranks;
}

inline NodeChoice choose_allreduce_balanced(const Call& call, const SelectionInputs& s) noexcept {
  const Thresholds& t = *s.thresholds;
  const std::size_t bytes = call.bytes();
  if (s.oversubscribed) {
    if (bytes <= t.exchange_oversubscribed) {
      return {&exchange, "balanced, oversubscribed, at most exchange_oversubscribed bytes"};
    }
    // Ranks that share a processor come one after the other, however balanced they are.
    if (follows_arrivals(call, s)) {
      return {&split_tail, "oversubscribed, the operator commutes, above exchange_oversubscribed"};
    }
    if (bytes <= t.leader_oversubscribed) {
      return {&dynamic_leader, "oversubscribed, in rank order, at most leader_oversubscribed"};
    }
  } else if (s.size <= 2) {
    if (bytes <= t.exchange_two_ranks) {
      return {&exchange, "balanced, two ranks, at most exchange_two_ranks bytes"};
    }
  } else if (bytes <= t.exchange_more_ranks) {
    return {&exchange, "balanced, at most exchange_more_ranks bytes"};
  }
  if (is_in_arena(call, s)) {
    if (bytes <= t.multi_leader_arena) {
      return {&multi_leader, "balanced, at most multi_leader_arena bytes"};
    }
    return {&peer_slices, "balanced, in the arena, above multi_leader_arena bytes"};
  }
  if (bytes <= t.multi_leader) return {&multi_leader, "balanced, at most multi_leader bytes"};
  return {&peer_slices, "balanced, above multi_leader bytes"};
}

inline NodeChoice choose_allreduce_imbalanced(const Call& call, const SelectionInputs& s) noexcept {
  const Thresholds& t = *s.thresholds;
  const std::size_t bytes = call.bytes();
  if (s.size <= 2 && bytes <= (call.rank_order ? t.late_leader_ordered : t.late_leader)) {
    NodeChoice together = choose_allreduce_balanced(call, s);
    together.why = "imbalanced, but of two ranks one has nothing to combine until the other comes";
    return together;
  }
  if (bytes * static_cast<std::size_t>(s.size) <= t.late_exchange) {
    return {&exchange, "imbalanced, and all ranks together have at most late_exchange bytes"};
  }
  if (call.rank_order) {
    if (bytes > t.late_leader_ordered && s.size <= combining_tree.most_ranks) {
      return {&combining_tree, "imbalanced, in rank order, above late_leader_ordered bytes"};
    }
    return {&dynamic_leader, "imbalanced, in rank order, at most late_leader_ordered bytes"};
  }
  if (follows_arrivals(call, s)) {
    if (bytes > t.late_leader) {
      return {&split_tail, "imbalanced, the operator commutes, above late_leader bytes"};
    }
    if (s.oversubscribed) {
      return {&split_tail, "imbalanced, oversubscribed, the operator commutes"};
    }
  }
  return {&dynamic_leader, "imbalanced, at most late_leader bytes"};
}

inline NodeChoice choose_reduce(const Call& call, const SelectionInputs& s) noexcept {
  const bool in_arena = is_in_arena(call, s);
  const bool commutes = !call.rank_order;
  if (is_imbalanced(call, s)) {
    if (call.bytes() <= s.thresholds->late_reduce) {
      return {&exchange, "imbalanced, at most late_reduce bytes"};
    }
    if (commutes) return {&arrival_chain, "imbalanced, the operator commutes, above late_reduce"};
    if (s.size <= combining_tree.most_ranks) {
      return {&combining_tree, "imbalanced, in rank order, above late_reduce bytes"};
    }
    return {&dynamic_leader, "imbalanced, in rank order, too many ranks for CombiningTree"};
  }
  if (!is_for_slices(call, s)) {
    return {&dynamic_leader, in_arena ? "balanced, in the arena, at most slices_arena bytes"
                                      : "balanced, at most slices bytes"};
  }
  if (s.oversubscribed && commutes) {
    return {&arrival_chain, in_arena ? "balanced, oversubscribed, the operator commutes, in the "
                                       "arena, above slices_arena bytes"
                                     : "balanced, oversubscribed, the operator commutes, above "
                                       "slices bytes"};
  }
  return {&peer_slices, in_arena ? "balanced, in the arena, above slices_arena bytes"
                                 : "balanced, above slices bytes"};
}

/// The choice among the algorithms that read their peers' memory; none for a call that they cannot
/// serve.
inline NodeChoice choose_on_node(const Call& call, const SelectionInputs& s) noexcept {
  const bool in_arena = is_in_arena(call, s);
  const bool large = is_for_slices(call, s);
  const char* const above =
      in_arena ? "in the arena, above slices_arena bytes" : "above slices bytes";
  const char* const at_most =
      in_arena ? "in the arena, at most slices_arena bytes" : "at most slices bytes";
  switch (call.collective) {
    case Collective::allreduce:
      return is_imbalanced(call, s) ? choose_allreduce_imbalanced(call, s)
                                    : choose_allreduce_balanced(call, s);
    case Collective::reduce:
      return choose_reduce(call, s);
    case Collective::bcast:
      if (large) return {&peer_slices, above};
      return {&dynamic_leader, at_most};
    case Collective::allgather:
      if (large) return {&peer_slices, above};
      return {&exchange, at_most};
    case Collective::barrier:
      return {&exchange, "a barrier"};
    default:
      return {};
  }
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
