// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// RecursiveDoubling and RecursiveHalving.

#include <papcoll/algorithms/static/shapes.hpp>
#include <papcoll/schedule/schedule.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Pairs at distance 1, 2, 4, … exchange all they have; in scan each sends upwards only.
///
/// Phases: log₂ P rounds. If P is not a power of two, neighbours are folded before (see Fold),
///   which costs two more rounds.
/// Cost: allreduce log₂ P·(α + βm + γm), folded + 2(α + βm) + γm. Allgather log₂ P·α + (P−1)βm
///   (m: one contribution), folded + 2α + Pβm. Barrier log₂ P·α, folded + 2α. Scan
///   ⌈log₂ P⌉(α + βm + γm) for any P, exscan ⌈log₂ P⌉(α + βm + 2γm).
/// Prefer it for short vectors: no schedule has fewer rounds.
/// Limits: long vectors (every round sends all of it: Rabenseifner, Ring); allgather and barrier
///   where P is not a power of two (Bruck, Dissemination). Works for operators that do not commute.
///
///     allreduce, P = 6        0       1       2       3       4       5
///                             a       b       c       d       e       f
///     fold 1→0, 3→2           ab              cd              e       f
///     core distance 1         abcd  ←———————→ abcd            ef  ←—→ ef
///     core distance 2         abcdef ←————————————————————————→ abcdef
///                                             abcdef ←————————————————→ abcdef
///     unfold 0→1, 2→3         abcdef  abcdef  abcdef  abcdef  abcdef  abcdef
///
///     scan, P = 5             0       1       2       3       4
///                             a       b       c       d       e
///     from p−1                a       ab      bc      cd      de
///     from p−2                a       ab      abc     abcd    bcde
///     from p−4                a       ab      abc     abcd    abcde
///
///     exscan, P = 5: the result, and what is combined of the group
///     distance 1              –, ab   a, ab   –, cd   c, cd   –, e
///     distance 2              –, abcd a, abcd ab, …   abc, …  –, e
///     distance 4              –, …    a, …    ab, …   abc, …  abcd, …
///
/// Both of a pair combine in the same order, so all positions hold the same bits.
///
/// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
/// MPICH", IJHPCA 19(1), 2005; scan: Hillis, Steele, "Data Parallel Algorithms", CACM 29(12), 1986.
struct RecursiveDoubling : PlainSchedule {
  static constexpr std::string_view name = "RecursiveDoubling";
  static constexpr std::string_view sentence =
      "Pairs at doubling distances exchange all they have: fewest rounds for short vectors.";
  static constexpr bool commutative_only = false;

  void emit(Allreduce, auto& b) const {
    const Fold fold{b.size()};
    detail::fold_whole(b, fold);
    if (!fold.folded_away(b.position())) {
      Builder core = detail::core_of(b, fold);
      for (int distance = 1; distance < core.size(); distance *= 2) {
        const int partner = core.position() ^ distance;
        core.send(partner, core.whole());
        core.reduce(partner, core.whole());
      }
    }
    detail::unfold(b, fold);
  }

  void emit(Barrier, auto& b) const { emit(Allreduce{}, b); }

  void emit(Allgather, auto& b) const {
    const Fold fold{b.size()};
    const int me = b.position();
    // What the positions of the core's run [v, v+n) contribute.
    auto for_run = [&](int v, int n, auto&& f) {
      b.contributions(fold.first(v), fold.first(v + n) - fold.first(v), f);
    };
    if (fold.folded_away(me)) {
      b.send(me - 1, b.contribution(me));
    } else {
      if (fold.speaks_for_two(me)) b.receive(me + 1, b.contribution(me + 1));
      const int mine = fold.core_position(me);
      for (int distance = 1; distance < fold.core(); distance *= 2) {
        const int partner = fold.first(mine ^ distance);
        const int run = mine & ~(distance - 1);
        for_run(run, distance, [&](Range r) { b.send(partner, r); });
        for_run(run ^ distance, distance, [&](Range r) { b.receive(partner, r); });
      }
    }
    // All but the folded one's own.
    if (fold.speaks_for_two(me)) {
      b.contributions(me + 2, b.size() - 1, [&](Range r) { b.send(me + 1, r); });
    }
    if (fold.folded_away(me)) {
      b.contributions(me + 1, b.size() - 1, [&](Range r) { b.receive(me - 1, r); });
    }
  }

  /// After the round of distance d a position holds the run of 2d positions that ends with it, or
  /// all from 0 on.
  void emit(Scan, auto& b) const {
    const int me = b.position();
    for (int d = 1; d < b.size(); d *= 2) {
      if (me + d < b.size()) b.send(me + d, b.whole());
      if (me >= d) b.reduce(me - d, b.whole());
    }
  }

  /// whole() is of the group of 2d positions around this one, as far as they exist, and result() of
  /// those of them below it. A group that lacks some at its end has no position above that needs
  /// it.
  void emit(Exscan, auto& b) const {
    const int me = b.position();
    for (int d = 1; d < b.size(); d *= 2) {
      const int partner = me ^ d;
      if (partner >= b.size()) continue;
      b.send(partner, b.whole());
      if (partner > me) {
        b.reduce(partner, b.whole());
      } else {
        b.reduce(partner, b.whole(), b.result());
      }
    }
  }

  static constexpr MappingHint mapping_hint(Collective c, int /*size*/) noexcept {
    return c == Collective::allgather ? MappingHint::bit_reversed
                                      : MappingHint::by_traffic_in_trees;
  }

  static void traffic(Collective c, auto& t) {
    const Fold fold{t.size()};
    if (c == Collective::allgather) {
      const double each = 1.0 / t.size();
      detail::add_fold_traffic(t, fold, each, 1 - each);
      detail::add_core_traffic(t, fold, [&](int v, int k) {
        const int run = v & ~((1 << k) - 1);
        return (fold.first(run + (1 << k)) - fold.first(run)) * each;
      });
    } else if (!is_prefix_reduction(c)) {
      detail::add_fold_traffic(t, fold, 1, 1);
      detail::add_core_traffic(t, fold, [](int /*v*/, int /*k*/) { return 1.0; });
    }
  }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<RecursiveDoubling>() noexcept)

/// Reduce-scatter by halving the group: each half takes over what belongs to its own positions.
///
/// Phases: ⌈log₂ P⌉ rounds. In each, a group splits in a lower and an upper half; the i-th of one
///   and the i-th of the other exchange what belongs to the other half. Of an odd group the lower
///   half has one more, who only sends, to the last of the upper half.
/// Cost: ⌈log₂ P⌉α + (P−1)/P·(βm + γm) (m: the whole vector) for a power of two; each odd split
///   adds one message of that round's size at one position. No folding, and the contributions may
///   differ in size.
/// Prefer it for short and medium vectors.
/// Limits: combines positions far apart first, so the operator must commute. With an order that is
///   not by ranks, what belongs to a half is not one range but several messages.
///
///     P = 5; ab[0–2] is what a and b contribute to positions 0 to 2
///                        0           1           2           3           4
///                        a           b           c           d           e
///     {012}{34}          ad[0–2]     be[0–2]     c[0–2]      ad[3–4]     bce[3–4]    0↔3 1↔4 2→4
///     {01}{2}, {3}{4}    acd[0–1]    be[0–1]     abcde[2]    abcde[3]    abcde[4]    0↔2 1→2 3↔4
///     {0}{1}             abcde[0]    abcde[1]                                        0↔1
///
/// Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, for powers of two; the odd splits are
/// ours.
struct RecursiveHalving : PlainSchedule {
  static constexpr std::string_view name = "RecursiveHalving";
  static constexpr std::string_view sentence =
      "Halves of the group exchange what belongs to the other half, down to one position.";
  static constexpr bool commutative_only = true;

  void emit(ReduceScatter, auto& b) const {
    const int me = b.position();
    int lo = 0;
    for (int n = b.size(); n > 1;) {
      const int upper = n / 2;
      const int lower = n - upper;
      const int mid = lo + lower;
      const int last = lo + n - 1;
      const bool odd = lower > upper;
      if (me < mid) {
        const bool left_over = odd && me == mid - 1;
        const int partner = left_over ? last : me + lower;
        b.contributions(mid, upper, [&](Range r) { b.send(partner, r); });
        if (!left_over) b.contributions(lo, lower, [&](Range r) { b.reduce(partner, r); });
        n = lower;
      } else {
        const int partner = me - lower;
        b.contributions(lo, lower, [&](Range r) { b.send(partner, r); });
        b.contributions(mid, upper, [&](Range r) { b.reduce(partner, r); });
        if (odd && me == last) {
          b.contributions(mid, upper, [&](Range r) { b.reduce(mid - 1, r); });
        }
        lo = mid;
        n = upper;
      }
    }
  }

  static constexpr MappingHint mapping_hint(Collective /*c*/, int size) noexcept {
    const bool is_power_of_two = (size & (size - 1)) == 0;
    return is_power_of_two ? MappingHint::bit_reversed : MappingHint::by_traffic;
  }

  static void traffic(Collective /*c*/, auto& t) { add_halves(t, 0, t.size()); }

 private:
  /// Adds the traffic of the n positions from lo on.
  [[gnu::cold]] static void add_halves(Traffic& t, int lo, int n) {
    if (n < 2) return;
    const int upper = n / 2;
    const int lower = n - upper;
    const double each = 1.0 / t.size();
    for (int i = 0; i < upper; ++i) {
      t.add(lo + i, lo + lower + i, upper * each);
      t.add(lo + lower + i, lo + i, lower * each);
    }
    if (lower > upper) t.add(lo + lower - 1, lo + n - 1, upper * each);
    add_halves(t, lo, lower);
    add_halves(t, lo + lower, upper);
  }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<RecursiveHalving>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
