#pragma once

#include <papcoll/algorithms/static/sorted_linear_tree.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/schedule/schedule.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// What Chain is under ArrivalOrder where ranks share no memory: SortedLinearTree, whose positions
/// are not predicted but drawn.
///
/// Phases: each arriving rank draws a ticket, and learns who drew the one before and who the one
///   after. It combines what it receives from the one before with its own contribution, segment by
///   segment, and sends it to the one after. The last sends the result to the root (reduce), or
///   back along the chain as it comes about (allreduce).
/// Cost: with n segments of s bytes, after the last arrival: reduce n(α + βs + γs), and as much
///   again without γ if the root is not last; allreduce (n + P − 2)(α + βs) + α + βs + γs. Two
///   atomic operations on rank 0's memory before the first message. Balanced, as SortedLinearTree.
/// Prefer it for a large reduce over nodes whose ranks come in an order that changes from call to
///   call: each leaves when it has passed its data on.
/// Limits: commutative operators; blocking calls; an MPI whose atomic operations need no help by
///   rank 0, else it runs in predicted order.
/// Contract: RankConsistent: one rank has the result first; the order is that of the arrivals.
///
///     ticket   0          1            2              3 = last
///     rank     c    →    c∘a     →    c∘a∘d    →     c∘a∘d∘b  →  root
///              leaves    leaves       leaves
///
/// Source: P. Alizadeh, "Efficient Process Arrival Pattern Aware Collective Communication for HPC
/// and Deep Learning", MASc thesis, Queen's University 2021, ch. 5, algorithm 5.1, and its future
/// work on signalling between nodes by RMA.
struct TicketChain {
  static constexpr std::string_view name = "Chain";
  static constexpr unsigned needs = capability::tickets | capability::remote_tickets;
  static constexpr bool commutative_only = true;
  static constexpr NumericalContract contract = NumericalContract::rank_consistent;

  static constexpr bool serves(Collective c) noexcept {
    return c == Collective::allreduce || c == Collective::reduce;
  }

  /// What each rank runs, once it knows its position.
  static AnySchedule plan() { return AnySchedule::of<SortedLinearTree>(); }
};

}  // namespace papcoll::inline PAPCOLL_ABI
