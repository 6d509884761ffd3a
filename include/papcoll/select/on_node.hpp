#pragma once

#include <papcoll/algorithms/arrival/all.hpp>
#include <papcoll/algorithms/arrival/blocks.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/select/inputs.hpp>
#include <papcoll/select/learner.hpp>
#include <papcoll/select/thresholds.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// An arrival-driven algorithm, null for none, and why it was chosen: part of a sentence, in
/// which thresholds of the collective are called by their own names.
struct NodeChoice {
  const ArrivalAlgorithm* algorithm = nullptr;
  const char* why = "";
};

template <class Arrival, class Schedule>
NodeChoice take(const char* why) noexcept {
  return {&arrival_algorithm<Arrival, Schedule>, why};
}

/// Do ranks wait long enough for the last one that it pays to begin without it? Not where bits must
/// not depend on arrivals: neither may the algorithm.
inline bool is_imbalanced(const Call& call, const SelectionInputs& s) noexcept {
  return !call.reproducible && s.imbalance.waiting > s.imbalanced_from(call.bytes());
}

/// Does a call on several nodes depend on arrivals, and show them to all ranks?
inline bool watches_across_nodes(const Call& call, const SelectionInputs& s) noexcept {
  return s.grouped && !s.by_messages && call.collective == Collective::allreduce &&
         call.bytes() > s.thresholds->network.hierarchical;
}

/// Do the nodes of an allreduce wait long enough for the last one that it pays to go by nodes, and,
/// if it is the same one again, to combine what the others have meanwhile? By the time of a byte,
/// since calls of all sizes are watched together.
inline bool waits_for_a_node(const Call& call, const SelectionInputs& s) noexcept {
  const std::uint64_t own = s.imbalance.own_ps_a_byte * call.bytes() / 1000;
  return call.collective == Collective::allreduce && !call.reproducible &&
         s.imbalance.lead * 100 > own * s.thresholds->network.late_percent;
}

/// Is the network so slow for an allreduce that what nodes do within does not count, and that one
/// rank of each fills its link?
inline bool is_on_slow_network(const Call& call, const SelectionInputs& s) noexcept {
  return call.collective == Collective::allreduce && !call.reproducible &&
         s.imbalance.own_ps_a_byte > s.thresholds->network.slow_ps_a_byte;
}

/// Were all buffers in the arena, and may that be acted on?
inline bool is_in_arena(const Call& call, const SelectionInputs& s) noexcept {
  return !call.reproducible && s.imbalance.in_arena;
}

/// Is it long enough for PeerSlices? `t`: the thresholds of its collective.
template <class Group>
bool is_for_slices(const Call& call, const SelectionInputs& s, const Group& t) noexcept {
  return call.bytes() > (is_in_arena(call, s) ? t.slices_arena : t.slices);
}

/// May the order of combination be that of the arrivals?
inline bool follows_arrivals(const Call& call, const SelectionInputs& s) noexcept {
  return !call.rank_order && s.size <= SplitTail::most_ranks;
}

template <class = void>
NodeChoice choose_allreduce_balanced(const Call& call, const SelectionInputs& s) noexcept {
  const Thresholds::Allreduce& t = s.thresholds->allreduce;
  const std::size_t bytes = call.bytes();
  if (s.oversubscribed) {
    // Ranks that share a processor come one after the other, however balanced they are.
    if (follows_arrivals(call, s)) {
      if (bytes <= t.exchange_oversubscribed) {
        return take<StaticOrder, Exchange>(
            "balanced, oversubscribed, at most exchange_oversubscribed bytes");
      }
      if (is_in_arena(call, s) && bytes > t.accumulator_arena) {
        return take<StaticOrder, PeerSlices>(
            "oversubscribed, in the arena, above accumulator_arena bytes");
      }
      return take<ArrivalOrder, Accumulator>(
          "oversubscribed, the operator commutes, above exchange_oversubscribed");
    }
    if (bytes <= t.exchange_oversubscribed_ordered) {
      return take<StaticOrder, Exchange>(
          "balanced, oversubscribed, in rank order, at most exchange_oversubscribed_ordered bytes");
    }
    if (is_in_arena(call, s)) {
      return take<StaticOrder, PeerSlices>(
          "oversubscribed, in the arena, in rank order, above exchange_oversubscribed_ordered");
    }
    if (bytes <= t.leader_oversubscribed) {
      return take<DynamicLeader, LeaderFan>(
          "oversubscribed, in rank order, at most leader_oversubscribed");
    }
  } else if (s.size <= 2) {
    if (bytes <= t.exchange_two_ranks) {
      return take<StaticOrder, Exchange>("balanced, two ranks, at most exchange_two_ranks bytes");
    }
  } else if (bytes <= t.exchange_more_ranks) {
    return take<StaticOrder, Exchange>("balanced, at most exchange_more_ranks bytes");
  }
  if (is_in_arena(call, s)) {
    if (bytes <= t.multi_leader_arena) {
      return take<StaticOrder, MultiLeader>("balanced, at most multi_leader_arena bytes");
    }
    return take<StaticOrder, PeerSlices>("balanced, in the arena, above multi_leader_arena bytes");
  }
  if (bytes <= t.multi_leader)
    return take<StaticOrder, MultiLeader>("balanced, at most multi_leader bytes");
  return take<StaticOrder, PeerSlices>("balanced, above multi_leader bytes");
}

template <class = void>
NodeChoice choose_allreduce_imbalanced(const Call& call, const SelectionInputs& s) noexcept {
  const Thresholds::Allreduce& t = s.thresholds->allreduce;
  const std::size_t bytes = call.bytes();
  if (s.size <= 2) {
    NodeChoice together = choose_allreduce_balanced<>(call, s);
    together.why = "imbalanced, but of two ranks one has nothing to combine until the other comes";
    return together;
  }
  if (bytes * static_cast<std::size_t>(s.size) <= t.late_exchange) {
    return take<StaticOrder, Exchange>(
        "imbalanced, and all ranks together have at most late_exchange bytes");
  }
  if (call.rank_order) {
    if (bytes > t.late_leader_ordered && s.size <= CombiningTree::most_ranks) {
      return take<ArrivalOrder, CombiningTree>(
          "imbalanced, in rank order, above late_leader_ordered bytes");
    }
    return take<DynamicLeader, LeaderFan>(
        "imbalanced, in rank order, at most late_leader_ordered bytes");
  }
  if (follows_arrivals(call, s)) {
    if (s.oversubscribed) {
      return take<ArrivalOrder, Accumulator>("imbalanced, oversubscribed, the operator commutes");
    }
    if (bytes > t.late_leader && is_in_arena(call, s)) {
      return take<ArrivalOrder, SplitTail>(
          "imbalanced, in the arena, the operator commutes, above late_leader bytes");
    }
    if (bytes > t.late_leader) {
      return take<ArrivalOrder, Accumulator>(
          "imbalanced, the operator commutes, above late_leader bytes");
    }
  }
  return take<DynamicLeader, LeaderFan>("imbalanced, at most late_leader bytes");
}

template <class = void>
NodeChoice choose_reduce(const Call& call, const SelectionInputs& s) noexcept {
  const Thresholds::Reduce& t = s.thresholds->reduce;
  const std::size_t bytes = call.bytes();
  const bool in_arena = is_in_arena(call, s);
  const bool commutes = follows_arrivals(call, s);
  if (is_imbalanced(call, s)) {
    if (bytes <= t.late_exchange) {
      return take<StaticOrder, Exchange>("imbalanced, at most late_exchange bytes");
    }
    if (commutes && bytes <= t.late_accumulator && !in_arena && s.size > 2) {
      return take<ArrivalOrder, Accumulator>(
          "imbalanced, the operator commutes, at most late_accumulator bytes");
    }
    if (commutes)
      return take<ArrivalOrder, Chain>("imbalanced, the operator commutes, above late_exchange");
    if (s.size <= CombiningTree::most_ranks) {
      return take<ArrivalOrder, CombiningTree>(
          "imbalanced, in rank order, above late_exchange bytes");
    }
    return take<DynamicLeader, LeaderFan>(
        "imbalanced, in rank order, too many ranks for CombiningTree");
  }
  if (in_arena) {
    if (bytes <= t.slices_arena) {
      return take<DynamicLeader, LeaderFan>("balanced, in the arena, at most slices_arena bytes");
    }
    if (s.oversubscribed && commutes) {
      return take<ArrivalOrder, Accumulator>(
          "balanced, oversubscribed, the operator commutes, in the arena, above slices_arena "
          "bytes");
    }
    return take<StaticOrder, PeerSlices>("balanced, in the arena, above slices_arena bytes");
  }
  if (s.size <= 2) return take<StaticOrder, Exchange>("balanced, two ranks");
  if (bytes <= t.exchange) return take<StaticOrder, Exchange>("balanced, at most exchange bytes");
  if (commutes) {
    return take<ArrivalOrder, Accumulator>("balanced, the operator commutes, above exchange bytes");
  }
  if (bytes <= t.slices) {
    return take<DynamicLeader, LeaderFan>("balanced, in rank order, at most slices bytes");
  }
  return take<StaticOrder, PeerSlices>("balanced, in rank order, above slices bytes");
}

/// Of a reduce_scatter nobody has its block before the last arrival, so that arrivals do not count.
template <class = void>
NodeChoice choose_reduce_scatter(const Call& call, const SelectionInputs& s) noexcept {
  const Thresholds::ReduceScatter& t = s.thresholds->reduce_scatter;
  if (!is_in_arena(call, s)) return take<StaticOrder, Exchange>("on one node");
  const std::size_t bytes = elements_of_all_blocks(call, s.size) * call.reducer.size;
  if (s.oversubscribed) {
    if (bytes > t.slices_arena_oversubscribed) {
      return take<StaticOrder, PeerSlices>(
          "in the arena, oversubscribed, all blocks above slices_arena_oversubscribed bytes");
    }
    return take<StaticOrder, Exchange>(
        "in the arena, oversubscribed, all blocks at most slices_arena_oversubscribed bytes");
  }
  if (bytes > t.slices_arena) {
    return take<StaticOrder, PeerSlices>("in the arena, all blocks above slices_arena bytes");
  }
  return take<StaticOrder, Exchange>("in the arena, all blocks at most slices_arena bytes");
}

/// The choice among the algorithms that read their peers' memory. A template, so that a program
/// compiles the algorithms of the collectives it calls.
template <Collective C>
NodeChoice choose_on_node(const Call& call, const SelectionInputs& s) noexcept {
  const char* const above =
      is_in_arena(call, s) ? "in the arena, above slices_arena bytes" : "above slices bytes";
  const char* const at_most =
      is_in_arena(call, s) ? "in the arena, at most slices_arena bytes" : "at most slices bytes";
  if constexpr (C == Collective::alltoall || C == Collective::gather || C == Collective::scatter) {
    return take<StaticOrder, BlockCopies>("on one node");
  } else if constexpr (is_prefix_reduction(C)) {
    return take<StaticOrder, PrefixRuns>("on one node");
  } else if constexpr (C == Collective::allreduce) {
    return is_imbalanced(call, s) ? choose_allreduce_imbalanced<>(call, s)
                                  : choose_allreduce_balanced<>(call, s);
  } else if constexpr (C == Collective::reduce) {
    return choose_reduce<>(call, s);
  } else if constexpr (C == Collective::bcast) {
    if (is_for_slices(call, s, s.thresholds->bcast)) return take<StaticOrder, PeerSlices>(above);
    return take<DynamicLeader, LeaderFan>(at_most);
  } else if constexpr (C == Collective::allgather) {
    if (call.is_uneven()) return take<StaticOrder, BlockCopies>("contributions that differ");
    if (is_for_slices(call, s, s.thresholds->allgather))
      return take<StaticOrder, PeerSlices>(above);
    return take<StaticOrder, Exchange>(at_most);
  } else if constexpr (C == Collective::reduce_scatter) {
    return choose_reduce_scatter<>(call, s);
  } else {
    static_assert(C == Collective::barrier,
                  "papcoll: nothing is chosen for this collective here: add its branch");
    return take<StaticOrder, Exchange>("a barrier");
  }
}

/// One of the ways in which calls of a collective may run on a node.
struct NodeCandidate {
  const ArrivalAlgorithm* algorithm;
  PeerReach reach = PeerReach::staged;
  std::size_t least = 0;  ///< bytes of the call, below which it is not tried
  std::size_t most = std::numeric_limits<std::size_t>::max();
  bool for_imbalanced = false;  ///< it is tried for these only
};

/// In the order of their numbers; the first ones are tried first.
template <Collective C>
inline constexpr auto candidates_on_node = [] {
  constexpr const ArrivalAlgorithm* slices = &arrival_algorithm<StaticOrder, PeerSlices>;
  constexpr std::size_t kilobyte = 1024;
  if constexpr (C == Collective::allreduce) {
    return std::array{
        NodeCandidate{&arrival_algorithm<StaticOrder, Exchange>, PeerReach::staged, 0,
                      16 * kilobyte},
        NodeCandidate{&arrival_algorithm<StaticOrder, MultiLeader>, PeerReach::staged, 256},
        NodeCandidate{slices, PeerReach::staged, kilobyte},
        NodeCandidate{slices, PeerReach::pulled, 16 * kilobyte},
        NodeCandidate{&arrival_algorithm<ArrivalOrder, Accumulator>, PeerReach::staged, 256},
        NodeCandidate{&arrival_algorithm<DynamicLeader, LeaderFan>, PeerReach::staged, 0,
                      64 * kilobyte},
        NodeCandidate{&arrival_algorithm<ArrivalOrder, SplitTail>, PeerReach::staged, 16 * kilobyte,
                      NodeCandidate{}.most, true},
        NodeCandidate{&arrival_algorithm<ArrivalOrder, CombiningTree>, PeerReach::staged,
                      16 * kilobyte, NodeCandidate{}.most, true},
    };
  } else if constexpr (C == Collective::reduce) {
    return std::array{
        NodeCandidate{&arrival_algorithm<StaticOrder, Exchange>},
        NodeCandidate{&arrival_algorithm<DynamicLeader, LeaderFan>},
        NodeCandidate{slices, PeerReach::staged, kilobyte},
        NodeCandidate{slices, PeerReach::pulled, 16 * kilobyte},
        NodeCandidate{&arrival_algorithm<ArrivalOrder, Accumulator>, PeerReach::staged, kilobyte},
        NodeCandidate{&arrival_algorithm<ArrivalOrder, Chain>, PeerReach::staged, 16 * kilobyte,
                      NodeCandidate{}.most, true},
        NodeCandidate{&arrival_algorithm<ArrivalOrder, CombiningTree>, PeerReach::staged,
                      16 * kilobyte, NodeCandidate{}.most, true},
    };
  } else if constexpr (C == Collective::bcast) {
    return std::array{
        NodeCandidate{&arrival_algorithm<DynamicLeader, LeaderFan>},
        NodeCandidate{slices, PeerReach::staged, kilobyte},
        NodeCandidate{slices, PeerReach::pulled, 4 * kilobyte},
    };
  } else if constexpr (C == Collective::allgather) {
    return std::array{
        NodeCandidate{&arrival_algorithm<StaticOrder, Exchange>},
        NodeCandidate{&arrival_algorithm<StaticOrder, BlockCopies>},
        NodeCandidate{slices, PeerReach::staged, kilobyte},
        NodeCandidate{slices, PeerReach::pulled, 4 * kilobyte},
        NodeCandidate{&arrival_algorithm<StaticOrder, BlockCopies>, PeerReach::pulled,
                      4 * kilobyte},
    };
  } else if constexpr (C == Collective::reduce_scatter) {
    return std::array{
        NodeCandidate{&arrival_algorithm<StaticOrder, Exchange>},
        NodeCandidate{slices, PeerReach::staged, 256},
        NodeCandidate{slices, PeerReach::pulled, 4 * kilobyte},
    };
  } else if constexpr (C == Collective::barrier) {
    return std::array{NodeCandidate{&arrival_algorithm<StaticOrder, Exchange>}};
  } else if constexpr (is_prefix_reduction(C)) {
    return std::array{
        NodeCandidate{&arrival_algorithm<StaticOrder, PrefixRuns>},
        NodeCandidate{&arrival_algorithm<StaticOrder, PrefixRuns>, PeerReach::pulled, 4 * kilobyte},
    };
  } else {
    return std::array{
        NodeCandidate{&arrival_algorithm<StaticOrder, BlockCopies>},
        NodeCandidate{&arrival_algorithm<StaticOrder, BlockCopies>, PeerReach::pulled,
                      4 * kilobyte},
    };
  }
}();

/// May the call run so, with the same bits as by any other candidate that may?
inline bool may_run(const NodeCandidate& c, const Call& call, const SelectionInputs& s) noexcept {
  const ArrivalAlgorithm& a = *c.algorithm;
  // Blocks that differ have no length that all know.
  const std::size_t bytes =
      call.is_uneven() ? std::numeric_limits<std::size_t>::max() : call.bytes();
  if (bytes < c.least || (bytes > c.most && !call.is_uneven())) return false;
  if (c.for_imbalanced && !is_imbalanced(call, s)) return false;
  if (call.is_uneven() && !a.takes_counts) return false;
  if (s.size > a.most_ranks) return false;
  const bool pulls = c.reach == PeerReach::pulled;
  if (pulls ? !s.pulls || is_in_arena(call, s) : s.prefers_pulls && a.lends_buffers) return false;
  if (!is_reduction(call.collective)) return true;
  if (call.reproducible) {
    return a.contract == NumericalContract::reproducible && a.lends_results == false &&
           (s.near_groups < 2 || !a.lends_buffers);
  }
  return !call.rank_order || a.keeps_order_on_request;
}

/// The candidates that are tried for a call, by their numbers; first what choose_on_node() says.
template <Collective C>
Shortlist list_on_node(const Call& call, const SelectionInputs& s) noexcept {
  Shortlist list;
  const auto& all = candidates_on_node<C>;
  const ArrivalAlgorithm* const first = choose_on_node<C>(call, s).algorithm;
  const auto add = [&](bool is_first) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((all[i].algorithm == first) == is_first && may_run(all[i], call, s)) {
        list.add(static_cast<std::uint8_t>(i));
      }
    }
  };
  add(true);
  const bool is_listed = list.count != 0;
  add(false);
  return is_listed || !call.reproducible ? list : Shortlist{};
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
