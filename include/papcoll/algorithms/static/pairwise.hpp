// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Pairwise, and with several messages at a time SpreadOut.

#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// Position p sends to p+1, p+2, … and receives from p−1, p−2, …, and after each `window` of these
/// waits until they are complete.
[[gnu::cold]] inline void spread_out(auto& b, int window) {
  const int me = b.position();
  Builder in_turn = b.flow(static_cast<std::uint32_t>(window));
  for (int k = 1; k < b.size(); ++k) {
    in_turn.send(b.wrap(me + k), b.part(me, me + k));
    in_turn.receive(b.wrap(me - k), b.part(me - k, me));
    if (k % window == 0) in_turn.end_round();
  }
}

}  // namespace detail

/// Every position sends every other its part, a few at a time.
///
/// Phases: ⌈(P−1)/w⌉ batches of w messages; in batch j position p sends to p + jw + 1, … p + jw + w
///   and receives from as many before it.
/// Cost: ⌈(P−1)/w⌉α + (P−1)βm where the latencies of a batch pass at the same time (m: what one
///   position has for another).
/// Prefer it for parts of medium length among many positions: with w = 1 it is Ring, which leaves
///   ports idle while a message is on its way, and with w ≥ P − 1 it is Linear, whose messages all
///   share the network at once.
/// Limits: a late position stops those of its batch. Parts may differ in size.
///
///     w = 2, P = 5        0             1             2             3             4
///     batch 1, to         1 2           2 3           3 4           4 0           0 1
///     batch 2, to         3 4           4 0           0 1           1 2           2 3
///
/// Source: MPICH's scattered alltoall, whose batches MPIR_CVAR_ALLTOALL_THROTTLE sets (32 messages,
/// the default here); the name: Fan, Gilray, Pascucci, Huang, Micinski, Kumar, "Optimizing the
/// Bruck Algorithm for Non-uniform All-to-all Communication", HPDC 2022.
struct SpreadOut {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "SpreadOut";
  static constexpr std::string_view sentence =
      "Everybody sends every other its part, a few messages at a time.";
  static constexpr bool commutative_only = false;

  static constexpr std::array parameters{Parameter{"messages at a time", "32", 1}};

  int window = 32;  ///< w ≥ 1; less counts as 1

  std::string arguments() const { return *this == SpreadOut{} ? "" : std::to_string(window); }
  static SpreadOut parse(std::string_view arguments) {
    return {.window = parse_number<int>(name, parameters[0], arguments)};
  }

  void emit(Alltoall, auto& b) const { detail::spread_out(b, std::max(window, 1)); }
  static constexpr bool own_parts_only = true;

  friend bool operator==(const SpreadOut&, const SpreadOut&) = default;
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<SpreadOut>() noexcept)

/// Every position sends every other its part, in rounds that pair all up.
///
/// Phases: P−1 rounds; in round k position p sends to p+k and receives from p−k. In alltoall a
///   round begins when this position's last one is complete, and where P is a power of two, both
///   are the position whose number is p with the bits of k flipped.
/// Cost: reduce_scatter (P−1)α + (P−1)/P·(βm + γm) (m: the whole vector); alltoall (P−1)(α + βm)
///   (m: what one position has for another).
/// Prefer it for long vectors where any two positions are equally far apart: every part takes one
///   hop, and in alltoall no two messages ever share a port.
/// Limits: latency grows with P (Bruck for short parts of an alltoall; SpreadOut and Linear have
///   several messages under way at once). In reduce_scatter each part is combined in a different
///   rotation of the order, so the operator must commute (Linear keeps the order). Parts of an
///   alltoall may differ in size.
///
///     reduce_scatter, P = 4
///       round             0          1          2          3
///                         a          b          c          d     (each its own part of it)
///       1, from p−1       ad         ba         cb         dc
///       2, from p−2       adc        bad        cba        dcb
///       3, from p−3       adcb       badc       cbad       dcba
///
///     alltoall, P = 4     (what p holds that is for it; pq: from p, for q)
///       1: 0↔1, 2↔3       10         01         32         23
///       2: 0↔2, 1↔3       10 20      01 31      32 02      23 13
///       3: 0↔3, 1↔2       10 20 30   01 31 21   32 02 12   23 13 03
///
/// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
/// MPICH", IJHPCA 19(1), 2005; for 2^n positions the "pair" of SMPI and STAR-MPI.
struct Pairwise : PlainSchedule {
  static constexpr std::string_view name = "Pairwise";
  static constexpr std::string_view sentence =
      "Everybody sends every other its part, in rounds that pair all up.";
  static constexpr bool commutative_only = true;

  void emit(ReduceScatter, auto& b) const {
    const int me = b.position();
    for (int k = 1; k < b.size(); ++k) {
      b.send(b.wrap(me + k), b.contribution(me + k));
      b.reduce(b.wrap(me - k), b.contribution(me));
    }
  }

  void emit(Alltoall, auto& b) const {
    const int me = b.position();
    const bool in_pairs = (b.size() & (b.size() - 1)) == 0;
    Builder in_turn = b.flow(1);
    for (int k = 1; k < b.size(); ++k) {
      const int to = in_pairs ? me ^ k : b.wrap(me + k);
      const int from = in_pairs ? to : b.wrap(me - k);
      in_turn.send(to, b.part(me, to));
      in_turn.receive(from, b.part(from, me));
      in_turn.end_round();
    }
  }
  static constexpr bool own_parts_only = true;
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<Pairwise>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
