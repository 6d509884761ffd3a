// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/schedule/schedule.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Each position tells one at distance 1, 2, 4, … of all that have arrived.
///
/// Phases: ⌈log₂ P⌉ rounds; in round k position p signals p + 2^k and waits for p − 2^k.
/// Cost: ⌈log₂ P⌉α, for any P.
/// Prefer it for barriers: no other schedule has fewer rounds for all P.
/// Limits: arrivals may be told twice, so it serves nothing but the barrier.
///
///     P = 5, of whom each position knows     0        1        2        3        4
///                                            0        1        2        3        4
///     from p−1                               40       01       12       23       34
///     from p−2                               2340     3401     4012     0123     1234
///     from p−4                               all      all      all      all      all
///
/// Source: Hensgen, Finkel, Manber, "Two Algorithms for Barrier Synchronization", IJPP 17(1), 1988.
struct Dissemination : PlainSchedule {
  static constexpr std::string_view name = "Dissemination";
  static constexpr std::string_view sentence =
      "Each position signals those at doubling distances: fewest rounds for any number.";
  static constexpr bool commutative_only = false;

  void emit(Barrier, auto& b) const {
    const int me = b.position();
    for (int distance = 1; distance < b.size(); distance *= 2) {
      b.send(b.wrap(me + distance), b.whole());
      b.reduce(b.wrap(me - distance), b.whole());
    }
  }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<Dissemination>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
