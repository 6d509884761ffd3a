// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Binomial, and with any radix KNomial.

#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/algorithms/static/shapes.hpp>
#include <papcoll/base/text.hpp>
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

/// A k-nomial tree: those who have it, or have combined it, become k times as many every round.
/// Radix 2 is Binomial; a radix of P or more is Linear.
///
/// Phases: one, up or down the tree; allreduce both.
/// Cost: with d = ⌈log_k P⌉ levels, reduce d(k−1)(α + βm + γm), bcast d(k−1)(α + βm), allreduce the
///   sum; but of the k−1 messages of a level only the sender's share of α is paid k−1 times.
/// Prefer it to Binomial for short vectors where a message's way takes much longer than starting
///   it: the larger that ratio, the larger k.
/// Limits: the data volume at the root grows with k−1. Works for operators that do not commute: the
///   subtree of a position is the run of positions that begins with it.
///
///     bcast, k = 3, P = 9        0 ─┬── 3 ── 4, 5
///                                   ├── 6 ── 7, 8
///                                   └── 1, 2
///     level 1                    0→3, 0→6
///     level 2                    0→1, 0→2, 3→4, 3→5, 6→7, 6→8
///
/// Source: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient Algorithms for All-to-All
/// Communications in Multiport Message-Passing Systems", IEEE TPDS 8(11), 1997; trees as in MPICH.
struct KNomial {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "KNomial";
  static constexpr std::string_view sentence =
      "A k-nomial tree: those who have it become k times as many every round.";
  static constexpr bool commutative_only = false;

  static constexpr std::array parameters{Parameter{"radix", "4", 2}};

  int radix = 4;  ///< k ≥ 2; emit() throws argument_error below that

  std::string arguments() const { return *this == KNomial{} ? "" : std::to_string(radix); }
  static KNomial parse(std::string_view arguments) {
    return {.radix = parse_number<int>(name, parameters[0], arguments)};
  }

  void emit(Reduce, auto& b) const { detail::reduce_up(b, tree(b.size()), b.whole()); }
  void emit(Bcast, auto& b) const { detail::bcast_down(b, tree(b.size()), b.whole()); }

  void emit(Allreduce, auto& b) const { emit(Reduce{}, b), emit(Bcast{}, b); }

  static constexpr MappingHint mapping_hint = MappingHint::consecutive;

  friend bool operator==(const KNomial&, const KNomial&) = default;

 private:
  KNomialTree tree(int size) const {
    if (radix >= 2) return {radix, size};
    detail::throw_error<argument_error>(
        {"papcoll: a k-nomial tree has a radix of at least 2, not ", radix});
  }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<KNomial>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
