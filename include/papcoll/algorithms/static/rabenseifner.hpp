// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Rabenseifner's allreduce, and his reduce: ReduceScatterGather.

#include <papcoll/algorithms/static/shapes.hpp>
#include <papcoll/schedule/schedule.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Reduce-scatter by recursive halving, then allgather by recursive doubling (RSA).
///
/// Phases: log₂ P rounds of halving the vector while the distance doubles, then the same rounds
///   backwards. If P is not a power of two, neighbours are folded before by halves, and after.
/// Cost: 2·log₂ P·α + 2·(P−1)/P·βm + (P−1)/P·γm; folded + 3α + 2βm + γm/2.
/// Prefer it for vectors too long for RecursiveDoubling, where P is a power of two or the
///   latency of Ring's 2(P−1) rounds counts.
/// Limits: the largest exchange is between neighbours and the smallest spans half the machine,
///   which suits an order by nodes. Works for operators that do not commute. For reduce the same
///   halving is in ReduceScatterGather.
///
///     P = 4, parts 0–3 of the vector; [03] is a part combined of positions 0 to 3
///                            0            1            2            3
///     distance 1         parts 0,1    parts 2,3    parts 0,1    parts 2,3    of [01] and of [23]
///     distance 2         part 0       part 2       part 1       part 3       of [03]
///     distance 2 back    parts 0,1    parts 2,3    parts 0,1    parts 2,3    of [03]
///     distance 1 back    0,1,2,3      0,1,2,3      0,1,2,3      0,1,2,3      of [03]
///
/// Source: Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004.
struct Rabenseifner : PlainSchedule {
  static constexpr std::string_view name = "Rabenseifner";
  static constexpr std::string_view sentence =
      "Reduce-scatter by recursive halving, then allgather by recursive doubling.";
  static constexpr bool commutative_only = false;

  void emit(Allreduce, auto& b) const {
    const Fold fold{b.size()};
    detail::fold_halves(b, fold);
    if (!fold.folded_away(b.position())) {
      detail::halve_and_join(b, fold, [](Builder& core, int partner, Range mine, Range its) {
        core.send(partner, mine);
        core.receive(partner, its);
      });
    }
    detail::unfold(b, fold);
  }

  static constexpr MappingHint mapping_hint = MappingHint::consecutive;

  static void traffic(Collective /*c*/, auto& t) {
    const Fold fold{t.size()};
    detail::add_fold_traffic(t, fold, 1, 1.5);
    detail::add_core_traffic(t, fold, [](int /*v*/, int k) { return 1.0 / (1 << k); });
  }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<Rabenseifner>() noexcept)

/// Reduce by a reduce-scatter with recursive halving and a binomial gather of the parts to the root
/// (RSG).
///
/// Phases: log₂ P rounds of halving the vector while the distance doubles, then the same rounds
///   backwards towards position 0. If P is not a power of two, neighbours are folded before by
///   halves.
/// Cost: 2·log₂ P·α + 2·(P−1)/P·βm + (P−1)/P·γm; folded + 2α + βm + γm/2.
/// Prefer it for long vectors: Binomial combines the whole vector log₂ P times.
/// Limits: twice as many rounds as Binomial. Works for operators that do not commute.
///
///     P = 4, parts 0–3 of the vector; [02] is a part combined of positions 0 to 2
///                            0            1            2            3
///     distance 1         parts 0,1    parts 2,3    parts 0,1    parts 2,3    of [01] and of [23]
///     distance 2         part 0       part 2       part 1       part 3       of [03]
///     gather 2→0, 3→1    parts 0,1    parts 2,3                              of [03]
///     gather 1→0         0,1,2,3                                             of [03]
///
/// Source: Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004.
struct ReduceScatterGather : PlainSchedule {
  static constexpr std::string_view name = "ReduceScatterGather";
  static constexpr std::string_view sentence =
      "Reduce-scatter by recursive halving, then a binomial gather to the root.";
  static constexpr bool commutative_only = false;

  void emit(Reduce, auto& b) const {
    const Fold fold{b.size()};
    detail::fold_halves(b, fold);
    if (fold.folded_away(b.position())) return;
    bool handed_over = false;
    detail::halve_and_join(b, fold, [&](Builder& core, int partner, Range mine, Range its) {
      if (handed_over) return;
      handed_over = partner < core.position();
      handed_over ? core.send(partner, mine) : core.receive(partner, its);
    });
  }

  static constexpr MappingHint mapping_hint = MappingHint::consecutive;

  static void traffic(Collective /*c*/, auto& t) {
    const Fold fold{t.size()};
    detail::add_fold_traffic(t, fold, 1, 0.5);
    detail::add_core_traffic(t, fold, [](int v, int k) {
      const bool gathers = v >> k == 1;
      return (gathers ? 1.0 : 0.5) / (1 << k);
    });
  }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<ReduceScatterGather>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
