#pragma once

#include <papcoll/algorithms/static/tree_shapes.hpp>
#include <papcoll/schedule/schedule.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// A binomial tree: those who have it, or have combined it, double every round.
///
/// Phases: one, up or down the tree; allreduce both. Scan and exscan go up trees that end with
///   their roots, and down again.
/// Cost: reduce ⌈log₂ P⌉(α + βm + γm), bcast ⌈log₂ P⌉(α + βm), allreduce the sum. Gather
///   and scatter ⌈log₂ P⌉α + (P−1)βm (m: one contribution). Scan at most
///   (2⌈log₂ P⌉ − 1)(α + βm + γm), and a position sends and combines 2 vectors on average, in
///   RecursiveDoubling ⌈log₂ P⌉; exscan with up to 2γm.
/// Prefer it for short vectors in reduce and bcast, for short contributions in gather and scatter.
/// Limits: every level sends the whole vector, so long ones want ReduceScatterGather,
///   ScatterAllgather or a pipeline; in gather and scatter, data pass through several hands. Works
///   for operators that do not commute.
///
///     bcast, P = 8            0 ─┬─────────── 4 ─┬───── 6 ── 7
///                                ├───── 2 ── 3   └── 5
///                                └── 1
///     round 1                 0→4
///     round 2                 0→2, 4→6
///     round 3                 0→1, 2→3, 4→5, 6→7
///     reduce and gather       the same, backwards, with the arrows turned
///
///     scan, P = 8             0     1     2     3     4     5     6     7
///                             a     b     c     d     e     f     g     h
///     up, distance 1                ab          cd          ef          gh
///     2                                         abcd                    efgh
///     4                                                                 abcdefgh
///     down, 2: 3→5                                          abcdef
///     1: 1→2, 3→4, 5→6                    abc         abcde       abcdefg
///
///   Going up, position p combines the run that ends with it, as long as the lowest bit of p + 1;
///   going down, it gets what is before that run. In exscan it keeps the same without its own, too.
///
/// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
/// MPICH", IJHPCA 19(1), 2005; scan: Blelloch, "Prefix Sums and Their Applications",
/// CMU-CS-90-190, 1990, in place as Brent, Kung, "A Regular Layout for Parallel Adders", IEEE TC
/// C-31(3), 1982, has it.
struct Binomial : PlainSchedule {
  static constexpr std::string_view name = "Binomial";
  static constexpr std::string_view sentence =
      "A binomial tree: those who have it double every round.";
  static constexpr bool commutative_only = false;

  void emit(Reduce, auto& b) const { detail::reduce_up(b, KNomialTree{2, b.size()}, b.whole()); }
  void emit(Bcast, auto& b) const { detail::bcast_down(b, KNomialTree{2, b.size()}, b.whole()); }

  void emit(Allreduce, auto& b) const { emit(Reduce{}, b), emit(Bcast{}, b); }

  void emit(Gather, auto& b) const {
    const KNomialTree tree{2, b.size()};
    const int me = b.position();
    tree.for_children_up(me, [&](int child) {
      b.contributions(child, tree.run(child), [&](Range r) { b.receive(child, r); });
    });
    if (me == 0) return;
    const int parent = tree.parent(me);
    b.contributions(me, tree.run(me), [&](Range r) { b.send(parent, r); });
  }

  void emit(Scatter, auto& b) const {
    const KNomialTree tree{2, b.size()};
    const int me = b.position();
    if (me != 0) {
      const int parent = tree.parent(me);
      b.contributions(me, tree.run(me), [&](Range r) { b.receive(parent, r); });
    }
    tree.for_children_down(me, [&](int child) {
      b.contributions(child, tree.run(child), [&](Range r) { b.send(child, r); });
    });
  }

  void emit(Scan, auto& b) const {
    const int me = b.position();
    const int run = lowest_bit(me + 1);
    for (int d = 1; d < run; d *= 2) b.reduce(me - d, b.whole());
    if (me + run < b.size()) b.send(me + run, b.whole());
    if (run <= me) b.reduce(me - run, b.whole());
    send_down(b, run);
  }

  void emit(Exscan, auto& b) const {
    const int me = b.position();
    const int run = lowest_bit(me + 1);
    const bool goes_up = me + run < b.size();
    const bool goes_down = run > 1 && me + 1 < b.size();
    auto combine = [&](int from, bool passed_on, bool is_first) {
      if (passed_on) {
        b.reduce(from, b.whole(), b.result());
      } else if (is_first) {
        b.receive(from, b.result());
      } else {
        b.reduce(from, b.result());
      }
    };
    for (int d = 1; d < run; d *= 2) combine(me - d, goes_up || goes_down, d == 1);
    if (goes_up) b.send(me + run, b.whole());
    if (run <= me) combine(me - run, goes_down, run == 1);
    send_down(b, run);
  }

  static constexpr MappingHint mapping_hint = MappingHint::consecutive;

 private:
  static constexpr int lowest_bit(int i) noexcept { return i & -i; }

  /// A position that has all up to its own gives it to the roots of the runs after it.
  static void send_down(auto& b, int run) {
    for (int d = run / 2; d >= 1; d /= 2) {
      if (b.position() + d < b.size()) b.send(b.position() + d, b.whole());
    }
  }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<Binomial>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
