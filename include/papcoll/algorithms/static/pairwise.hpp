#pragma once

#include <papcoll/schedule/schedule.hpp>

#include <string_view>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// Everybody sends every other its part, in rounds that pair all up.
///
/// Phases: P−1 rounds; in round k position p sends to p+k and receives from p−k.
/// Cost: reduce_scatter (P−1)α + (P−1)/P·(βm + γm) (m: the whole vector); alltoall (P−1)(α + βm)
///   (m: what one position has for another).
/// Prefer it for long vectors where any two positions are equally far apart: every part takes one
///   hop, and nothing waits for a slow position but what that position contributes.
/// Limits: latency grows with P (Bruck for short parts of an alltoall). In reduce_scatter each part
///   is combined in a different rotation of the order, so the operator must commute (Linear needs
///   the same messages and keeps the order). Parts of an alltoall may differ in size.
///
///     reduce_scatter, P = 4
///       round             0          1          2          3
///                         a          b          c          d     (each its own part of it)
///       1, from p−1       ad         ba         cb         dc
///       2, from p−2       adc        bad        cba        dcb
///       3, from p−3       adcb       badc       cbad       dcba
///
///     alltoall, P = 4     (what p holds that is for it; pq: from p, for q)
///       1, from p−1       30         01         12         23
///       2, from p−2       30 20      01 31      12 02      23 13
///       3, from p−3       30 20 10   01 31 21   12 02 32   23 13 03
///
/// An allgather in such rounds would be Linear's: nothing is combined, so nothing orders rounds.
///
/// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
/// MPICH", IJHPCA 19(1), 2005.
struct Pairwise {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "Pairwise";
  static constexpr std::string_view sentence =
      "Everybody sends every other its part, in rounds that pair all up.";
  static constexpr bool commutative_only = true;

  [[gnu::cold]] void emit(ReduceScatter, Builder& b) const {
    const int me = b.position();
    for (int k = 1; k < b.size(); ++k) {
      b.send(b.wrap(me + k), b.contribution(me + k));
      b.reduce(b.wrap(me - k), b.contribution(me));
    }
  }

  [[gnu::cold]] void emit(Alltoall, Builder& b) const {
    const int me = b.position();
    for (int k = 1; k < b.size(); ++k) {
      b.send(b.wrap(me + k), b.part(me, me + k));
      b.receive(b.wrap(me - k), b.part(me - k, me));
    }
  }
  static constexpr bool own_parts_only = true;

  friend bool operator==(const Pairwise&, const Pairwise&) = default;
};
static_assert(StaticSchedule<Pairwise>);
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<Pairwise>() noexcept)

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
