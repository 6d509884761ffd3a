// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/schedule/schedule.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// One position after the other: each has one neighbour before and one after.
///
/// Phases: one, along the chain.
/// Cost: reduce, scan and exscan (P−1)(α + βm + γm), bcast (P−1)(α + βm).
/// Prefer it never by itself; PipelinedChain sends segments down the same way and is the choice for
///   very long vectors. Useful where each position may talk to its neighbours only, and in tests.
/// Limits: the slowest schedule there is. Works for operators that do not commute.
///
///     reduce, P = 4        0         1         2         3
///                          a         b         c    ←─── d
///                          a         b    ←─── cd
///                          a    ←─── bcd
///                          abcd
///     bcast                the same from left to right
///
///     scan, P = 4          a  ────→ b         c         d
///                          a         ab ────→ c         d
///                          a         ab        abc ────→ d
///                          a         ab        abc       abcd
///     exscan               the same; each keeps what it gets: –, a, ab, abc
///
/// Source: Pješivac-Grbović et al., "Performance Analysis of MPI Collective Operations", Cluster
/// Computing 10(2), 2007.
struct Chain : PlainSchedule {
  static constexpr std::string_view name = "Chain";
  static constexpr std::string_view sentence = "One position after the other.";
  static constexpr bool commutative_only = false;

  void emit(Reduce, auto& b) const {
    const int me = b.position();
    if (me + 1 < b.size()) b.reduce(me + 1, b.whole());
    if (me > 0) b.send(me - 1, b.whole());
  }

  void emit(Bcast, auto& b) const {
    const int me = b.position();
    if (me > 0) b.receive(me - 1, b.whole());
    if (me + 1 < b.size()) b.send(me + 1, b.whole());
  }

  void emit(Scan, auto& b) const {
    const int me = b.position();
    if (me > 0) b.reduce(me - 1, b.whole());
    if (me + 1 < b.size()) b.send(me + 1, b.whole());
  }

  void emit(Exscan, auto& b) const {
    const int me = b.position();
    if (me + 1 == b.size()) {
      if (me > 0) b.receive(me - 1, b.result());
      return;
    }
    if (me > 0) b.reduce(me - 1, b.whole(), b.result());
    b.send(me + 1, b.whole());
  }

  static constexpr MappingHint mapping_hint = MappingHint::consecutive;
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<Chain>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
