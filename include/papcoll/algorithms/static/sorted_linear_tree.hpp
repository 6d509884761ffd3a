// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// SortedLinearTree, and in the order of tickets TicketChain.

#include <papcoll/algorithms/static/chain.hpp>
#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>

namespace papcoll::inline PAPCOLL_ABI {

/// A chain through the ranks in the order in which they are expected, in segments: who arrives
/// early has passed its data on before the late ones come.
///
/// Phases: reduce along the chain, from the first to come to the last; allreduce then bcast back
///   from there, each segment as soon as it is whole. bcast alone goes from the root to the first
///   to come, and on to the last.
/// Cost: with n segments of s bytes, after the last arrival: reduce n(α + βs + γs) if it is the
///   root's; allreduce (n + P − 2)(α + βs) + α + βs + γs. Balanced, reduce (n + P − 2) steps and
///   allreduce (n + 2P − 4).
/// Prefer it for long vectors where ranks come one after the other, in steps of at least α + βs: of
///   the P − 1 combinations one is left when the last one comes.
/// Limits: latency grows with P, and a rank that comes later than expected holds up all behind it.
///   Works for operators that do not commute, in rank order.
///
///     reduce to r1; r3, r0, r2, r1 are expected in this order, one every step
///                    r1         r2         r0         r3
///     step 1                                c    ←──── d
///     step 2                     b    ←──── cd
///     step 3         a     ←──── bcd
///
/// As a chain of positions it is Chain under PredictedOrder; unlike PipelinedChain it lets early
/// ranks combine all of their segments, and not only the few that an engine keeps in flight.
///
/// Source: Proficz, "Improving all-reduce collective operations for imbalanced process arrival
/// patterns", J. Supercomputing 74(7), 2018.
struct SortedLinearTree {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "SortedLinearTree";
  static constexpr std::string_view sentence =
      "A chain of segments from the rank expected first to the one expected last.";
  static constexpr bool commutative_only = false;
  static constexpr unsigned needs = capability::positions | capability::forecast;

  static constexpr std::array parameters{Parameter{"bytes of a segment", "65536", 1}};

  std::size_t segment_bytes = std::size_t{64} * 1024;  ///< as of Pipelined

  std::string arguments() const {
    return *this == SortedLinearTree{} ? "" : std::to_string(segment_bytes);
  }
  static SortedLinearTree parse(std::string_view arguments) {
    return {.segment_bytes = parse_bytes(name, parameters[0], arguments)};
  }

  void emit(Reduce tag, auto& b) const { along_chain(tag, b); }
  void emit(Bcast tag, auto& b) const { along_chain(tag, b); }
  void emit(Allreduce, auto& b) const { emit(Reduce{}, b), emit(Bcast{}, b); }

  friend bool operator==(const SortedLinearTree&, const SortedLinearTree&) = default;

 private:
  static constexpr std::size_t most_segments = 512;  ///< that a plan names one by one

  void along_chain(auto tag, auto& b) const {
    const std::size_t least = (b.whole().size() + most_segments - 1) / most_segments;
    b.in_segments(std::max({segment_bytes / b.element_size(), least, std::size_t{1}}),
                  [tag](auto& one) { Chain{}.emit(tag, one); });
  }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<SortedLinearTree>() noexcept)

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

  /// Returns what each rank runs, once it knows its position.
  static AnySchedule plan() { return AnySchedule::of<SortedLinearTree>(); }
};

}  // namespace papcoll::inline PAPCOLL_ABI
