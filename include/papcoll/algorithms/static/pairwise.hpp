#pragma once

#include <papcoll/schedule/schedule.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Everybody sends every other its part, in rounds that pair all up.
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
