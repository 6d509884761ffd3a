// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/arrival/all.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/policies/requirements.hpp>
#include <papcoll/choice/selection/learner.hpp>
#include <papcoll/choice/selection/node_load.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Returns true if ranks wait so long for the last one that beginning without it pays. Always false
/// if bits, and so the algorithm, may not depend on arrivals.
inline bool is_imbalanced(const Call& call, const SelectionInputs& inputs) noexcept {
  return call.by_arrivals() && inputs.imbalance.waiting > inputs.imbalanced_from(call.bytes());
}

/// As is_imbalanced(), for a call on one node; false for an allreduce of two ranks, one of which
/// has nothing to combine until the other comes.
inline bool goes_by_arrivals(const Call& call, const SelectionInputs& inputs) noexcept {
  return is_imbalanced(call, inputs) &&
         (inputs.size > 2 || call.collective != Collective::allreduce);
}

/// Returns true if all buffers were in the arena, and the choice may depend on that.
inline bool is_in_arena(const Call& call, const SelectionInputs& inputs) noexcept {
  return call.by_conditions() && inputs.imbalance.in_arena;
}

/// One of the ways in which calls of a collective may run on a node.
struct NodeCandidate {
  const ArrivalAlgorithm* algorithm;
  PeerReach reach;
  NodeWork (*work)(const NodeLoad&) noexcept;
  bool for_late = false;  ///< it is worth something only where ranks arrive late
};

template <class Arrival, class Schedule>
constexpr NodeCandidate staged(NodeWork (*work)(const NodeLoad&) noexcept,
                               bool for_late = false) noexcept {
  return {&arrival_algorithm<Arrival, Schedule>, PeerReach::staged, work, for_late};
}
template <class Arrival, class Schedule>
constexpr NodeCandidate chunked(NodeWork (*work)(const NodeLoad&) noexcept) noexcept {
  return {&arrival_algorithm<Arrival, Schedule>, PeerReach::chunked, work};
}
template <class Arrival, class Schedule>
constexpr NodeCandidate pulled(NodeWork (*work)(const NodeLoad&) noexcept) noexcept {
  return {&arrival_algorithm<Arrival, Schedule>, PeerReach::pulled, work};
}

/// One rank combines what all bring, and all read the result.
inline NodeWork by_leader(const NodeLoad& l) noexcept {
  return l.one(2, l.combined_by_leader() + l.write(l.bytes), l.write(l.bytes) + l.read(l.bytes));
}

/// Each rank copies its own block, and pulls those of the others.
inline NodeWork pulling_blocks(const NodeLoad& l) noexcept {
  return l.all(2, l.read(l.bytes) + l.others() * l.pull(l.bytes));
}

/// The candidates of a collective, in the order of their numbers: a specialization for each. What
/// an algorithm does is in its header; the formulas say what that is of the load. Their first
/// argument, the rounds, counts a signal for each time that a rank waits for another, and a
/// fraction more where lines are shared. `benchmarks/auto_grid.py --bench-options '--selection
/// repeatable'` measures what a choice by these formulas loses. Templates, so that a program
/// compiles the algorithms of the collectives it calls.
template <Collective C>
inline constexpr auto candidates_on_node = [] {
  static_assert(has_data(C) && !has_data(C),
                "papcoll: there are no candidates for this collective: add them");
};

template <Collective C>
requires(C == Collective::allreduce) inline constexpr auto candidates_on_node<C> = std::array{
    staged<StaticOrder, Exchange>([](const NodeLoad& l) noexcept {
      return l.all(1, l.write(l.bytes) + l.others() * l.combine(l.bytes));
    }),
    staged<StaticOrder, MultiLeader>([](const NodeLoad& l) noexcept {
      const double slice = l.bytes / l.ranks;
      const double each = l.combine(slice) + l.read(slice);
      return l.slices(2, l.write(l.bytes + slice) + l.others() * each);
    }),
    staged<StaticOrder, PeerSlices>([](const NodeLoad& l) noexcept {
      const double slice = l.bytes / l.ranks;
      if (l.in_arena) return l.slices(2, l.others() * (l.combine(slice) + l.write(slice)));
      const double each = l.combine(slice) + l.read(slice);
      return l.slices(2.5, l.write(l.bytes + slice) + l.others() * each);
    }),
    pulled<StaticOrder, PeerSlices>([](const NodeLoad& l) noexcept {
      const double slice = l.bytes / l.ranks;
      return l.all(3, l.others() * (2 * l.pull(slice) + l.combine(slice)));
    }),
    staged<DynamicLeader, LeaderFan>(&by_leader),
    staged<ArrivalOrder, Accumulator>([](const NodeLoad& l) noexcept {
      const double added = l.combine(l.bytes) + l.write(l.bytes);
      NodeWork w =
          l.late ? l.one(2.5, added, l.read(l.bytes)) : l.all(2.5, added + l.read(l.bytes));
      w.turns = 1.2;
      return w;
    }),
    staged<ArrivalOrder, SplitTail>(
        [](const NodeLoad& l) noexcept {
          const double copied = (l.in_arena ? 1 : 3) * l.read(l.bytes);
          return l.all(2, copied + l.combine(l.bytes / l.ranks));
        },
        true),
    staged<ArrivalOrder, CombiningTree>(
        [](const NodeLoad& l) noexcept {
          const double staged = l.in_arena ? 0 : l.write(l.bytes);
          return l.all(3, staged + l.combine(l.bytes) + l.read(l.bytes));
        },
        true),
};

template <Collective C>
requires(C == Collective::reduce) inline constexpr auto candidates_on_node<C> = std::array{
    staged<StaticOrder, Exchange>([](const NodeLoad& l) noexcept {
      return l.one(1, l.others() * l.combine(l.bytes), l.write(l.bytes));
    }),
    staged<DynamicLeader, LeaderFan>([](const NodeLoad& l) noexcept {
      return l.one(2, l.combined_by_leader() + l.read(l.bytes), l.in_arena ? 0 : l.write(l.bytes));
    }),
    staged<StaticOrder, PeerSlices>([](const NodeLoad& l) noexcept {
      const double slice = l.bytes / l.ranks;
      if (l.in_arena) return l.all(2, l.others() * l.combine(slice) + l.write(slice));
      return l.one(2.5, l.others() * l.combine(l.bytes) + l.read(l.bytes), l.write(l.bytes));
    }),
    pulled<StaticOrder, PeerSlices>([](const NodeLoad& l) noexcept {
      const double slice = l.bytes / l.ranks;
      const double each = l.others() * (l.pull(slice) + l.combine(slice));
      return l.one(3, each + l.others() * l.pull(slice), each);
    }),
    staged<ArrivalOrder, Accumulator>([](const NodeLoad& l) noexcept {
      const double each = l.combine(l.bytes) + l.write(l.bytes);
      return l.one(l.late ? 1 : 2, each + l.read(l.bytes), l.late ? 0 : each);
    }),
    staged<ArrivalOrder, Chain>(
        [](const NodeLoad& l) noexcept {
          return l.one(2, l.combine(l.bytes) + l.read(l.bytes), l.in_arena ? 0 : l.write(l.bytes));
        },
        true),
    staged<ArrivalOrder, CombiningTree>(
        [](const NodeLoad& l) noexcept {
          return l.one(3, l.combine(l.bytes) + l.read(l.bytes), l.in_arena ? 0 : l.write(l.bytes));
        },
        true),
};

template <Collective C>
requires(C == Collective::bcast) inline constexpr auto candidates_on_node<C> = std::array{
    staged<DynamicLeader, LeaderFan>([](const NodeLoad& l) noexcept {
      return l.one(1, l.write(l.bytes), l.read(l.bytes));
    }),
    staged<StaticOrder, PeerSlices>([](const NodeLoad& l) noexcept {
      if (l.in_arena) return l.one(2, 0, l.read(l.bytes));
      return l.one(1.5, l.write(l.bytes), l.read(l.bytes));
    }),
    pulled<StaticOrder, PeerSlices>([](const NodeLoad& l) noexcept {
      return l.one(2, 0, l.pull(l.bytes));
    }),
};

template <Collective C>
requires(C == Collective::allgather) inline constexpr auto candidates_on_node<C> = std::array{
    staged<StaticOrder, Exchange>([](const NodeLoad& l) noexcept {
      return l.all(1, l.write(l.bytes) + l.ranks * l.read(l.bytes));
    }),
    staged<StaticOrder, BlockCopies>([](const NodeLoad& l) noexcept {
      return l.all(1.3, l.write(l.bytes) + l.ranks * l.read(l.bytes));
    }),
    staged<StaticOrder, PeerSlices>([](const NodeLoad& l) noexcept {
      if (l.in_arena) return l.all(2, l.ranks * l.read(l.bytes));
      return l.all(1.5, l.write(l.bytes) + l.ranks * l.read(l.bytes));
    }),
    pulled<StaticOrder, PeerSlices>(&pulling_blocks),
    pulled<StaticOrder, BlockCopies>(&pulling_blocks),
};

template <Collective C>
requires(C == Collective::reduce_scatter) inline constexpr auto candidates_on_node<C> = std::array{
    staged<StaticOrder, Exchange>([](const NodeLoad& l) noexcept {
      return l.all(1, l.others() * (l.write(l.bytes) + l.combine(l.bytes)));
    }),
    staged<StaticOrder, PeerSlices>([](const NodeLoad& l) noexcept {
      if (l.in_arena) return l.all(2, l.others() * l.combine(l.bytes));
      return l.all(2.5, l.others() * (l.write(l.bytes) + l.combine(l.bytes)));
    }),
    pulled<StaticOrder, PeerSlices>([](const NodeLoad& l) noexcept {
      return l.all(2, l.others() * (l.pull(l.bytes) + l.combine(l.bytes)));
    }),
};

template <Collective C>
requires(C == Collective::alltoall) inline constexpr auto candidates_on_node<C> = std::array{
    staged<StaticOrder, BlockCopies>([](const NodeLoad& l) noexcept {
      const double written = l.in_arena ? 0 : l.others() * l.write(l.bytes);
      return l.all(l.in_arena ? 2 : 1, written + l.ranks * l.read(l.bytes));
    }),
    chunked<StaticOrder, BlockCopies>([](const NodeLoad& l) noexcept {
      return l.all(l.pieces(), l.others() * l.write(l.bytes) + l.ranks * l.read(l.bytes));
    }),
    pulled<StaticOrder, BlockCopies>(&pulling_blocks),
};

template <Collective C>
requires(C == Collective::gather) inline constexpr auto candidates_on_node<C> = std::array{
    staged<StaticOrder, Exchange>([](const NodeLoad& l) noexcept {
      return l.by_chunks(l.one(1, l.ranks * l.read(l.bytes), l.write(l.bytes)), l.bytes);
    }),
    staged<StaticOrder, BlockCopies>([](const NodeLoad& l) noexcept {
      const double written = l.in_arena ? 0 : l.write(l.bytes);
      return l.by_chunks(l.one(1.3, l.ranks * l.read(l.bytes), written), 0);
    }),
    chunked<StaticOrder, BlockCopies>([](const NodeLoad& l) noexcept {
      return l.one(l.pieces(), l.ranks * l.read(l.bytes), l.write(l.bytes));
    }),
    pulled<StaticOrder, BlockCopies>([](const NodeLoad& l) noexcept {
      return l.one(2, l.read(l.bytes) + l.others() * l.pull(l.bytes), 0);
    }),
};

template <Collective C>
requires(C == Collective::scatter) inline constexpr auto candidates_on_node<C> = std::array{
    staged<StaticOrder, Exchange>([](const NodeLoad& l) noexcept {
      const double written = l.ranks * l.write(l.bytes);
      return l.by_chunks(l.one(1, written, l.read(l.bytes)), l.ranks * l.bytes);
    }),
    staged<StaticOrder, BlockCopies>([](const NodeLoad& l) noexcept {
      const double written = l.in_arena ? 0 : l.others() * l.write(l.bytes);
      return l.by_chunks(l.one(1.3, written, l.read(l.bytes)), 0);
    }),
    chunked<StaticOrder, BlockCopies>([](const NodeLoad& l) noexcept {
      return l.one(l.pieces(), l.others() * l.write(l.bytes), l.read(l.bytes));
    }),
    pulled<StaticOrder, BlockCopies>([](const NodeLoad& l) noexcept {
      return l.one(2, 0, l.pull(l.bytes));
    }),
};

template <Collective C>
requires(C == Collective::scan ||
         C == Collective::exscan) inline constexpr auto candidates_on_node<C> = std::array{
    staged<StaticOrder, PrefixRuns>([](const NodeLoad& l) noexcept {
      return l.one(1, l.combine(l.bytes), l.in_arena ? 0 : l.write(l.bytes));
    }),
    pulled<StaticOrder, PrefixRuns>([](const NodeLoad& l) noexcept {
      return l.one(2, l.pull(l.bytes) + l.combine(l.bytes), 0);
    }),
};

template <Collective C>
requires(C == Collective::barrier) inline constexpr auto candidates_on_node<C> = std::array{
    staged<StaticOrder, Exchange>([](const NodeLoad& l) noexcept { return l.all(1, 0); })};

/// Less is copied twice in less time than a system call takes; papcoll-bench shows it by PeerSlices
/// with --peer-access copied and staged.
inline constexpr std::size_t pulled_above = 8192;

/// What is expected of blocks whose lengths are not known yet: any may come.
inline constexpr std::size_t unknown_block_bytes = 65536;

/// Returns the bytes of a block, in the mean if lengths differ. If lengths are known to their own
/// ranks only: as in earlier calls, or a default if there were none.
inline std::size_t bytes_of(const Call& call, const SelectionInputs& inputs) noexcept {
  if (!call.is_irregular()) return call.bytes();
  if (!call.local_counts) return call.bytes() / static_cast<std::size_t>(inputs.size);
  const std::size_t before =
      inputs.learner != nullptr ? inputs.learner->block_bytes(call.collective) : 0;
  return before != 0 ? before : unknown_block_bytes;
}

/// Returns true if the candidate may run the call, with the same bits as any other that may.
inline bool may_run(const NodeCandidate& c, const Call& call,
                    const SelectionInputs& inputs) noexcept {
  const ArrivalAlgorithm& a = *c.algorithm;
  if (c.for_late && !goes_by_arrivals(call, inputs)) return false;
  if (call.is_irregular() && !a.takes_counts) return false;
  if (inputs.size > a.most_ranks) return false;
  const bool pulls = c.reach == PeerReach::pulled;
  const bool may_pull = inputs.pulls && bytes_of(call, inputs) > pulled_above;
  if (pulls ? !may_pull || is_in_arena(call, inputs)
            : may_pull && inputs.prefers_pulls && a.exposes_buffers)
    return false;
  const bool may_be_long = call.is_irregular() || call.bytes() >= BlockCopies::chunked_from;
  if (c.reach == PeerReach::chunked && (is_in_arena(call, inputs) || !may_be_long)) return false;
  // Where each rank has a place in each chunk, a chunk must be long enough.
  if (a.takes_counts && inputs.chunk_bytes < chunk_bytes_for_blocks(inputs.size)) return false;
  if (!is_reduction(call.collective) || is_prefix_reduction(call.collective)) return true;
  if (!keeps(a.contract, call.contract)) return false;
  if (!call.by_conditions()) {
    return !a.exposes_results && !(a.combines_in_groups && inputs.cache_groups > 1);
  }
  return !call.rank_order || a.keeps_order_on_request;
}

/// Returns what a candidate costs by the model, in nanoseconds.
inline double prior_of(const NodeCandidate& c, const Call& call,
                       const SelectionInputs& inputs) noexcept {
  const auto bytes = static_cast<double>(bytes_of(call, inputs));
  const bool in_groups = inputs.cache_groups > 1 && inputs.size % inputs.cache_groups == 0;
  const double groups = in_groups ? inputs.cache_groups : 1;
  const NodeLoad load{*inputs.costs,
                      bytes,
                      static_cast<double>(inputs.size),
                      static_cast<double>(inputs.chunk_bytes),
                      is_in_arena(call, inputs),
                      goes_by_arrivals(call, inputs),
                      groups};
  return load.nanoseconds(c.work(load),
                          inputs.oversubscribed ? std::max(inputs.processors, 1) : inputs.size);
}

/// Returns the candidates that are tried for a call, by their numbers.
inline Shortlist shortlist(std::span<const NodeCandidate> all, const Call& call,
                           const SelectionInputs& inputs) noexcept {
  std::array<double, CallTrial::most_candidates> priors{};
  Shortlist list;
  for (std::size_t i = 0; i < all.size(); ++i) {
    priors[i] = std::numeric_limits<double>::infinity();
    if (!may_run(all[i], call, inputs)) continue;
    list.allowed |= static_cast<std::uint16_t>(1U << i);
    priors[i] = prior_of(all[i], call, inputs);
  }
  list.add_promising({priors.data(), all.size()});
  return list;
}

/// Behind the name of an algorithm.
inline const char* way_of(PeerReach reach) noexcept {
  switch (reach) {
    case PeerReach::pulled: return " by the kernel";
    case PeerReach::chunked: return " in pieces";
    default: return "";
  }
}

/// "PeerSlices by the kernel"
[[gnu::cold]] inline std::string name_of(const NodeCandidate& c) {
  return joined({c.algorithm->name, way_of(c.reach)});
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
