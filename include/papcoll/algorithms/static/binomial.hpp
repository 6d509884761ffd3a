#pragma once

#include <papcoll/algorithms/static/tree_shapes.hpp>
#include <papcoll/algorithms/static/tree_steps.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <string_view>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// A binomial tree: those who have it, or have combined it, double every round.
///
/// Phases: one, up or down the tree; allreduce both.
/// Cost: reduce ⌈log₂ P⌉(α + βm + γm), bcast ⌈log₂ P⌉(α + βm), allreduce the sum. Gather
///   and scatter ⌈log₂ P⌉α + (P−1)βm (m: one contribution).
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
/// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
/// MPICH", IJHPCA 19(1), 2005.
struct Binomial {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "Binomial";
  static constexpr std::string_view sentence =
      "A binomial tree: those who have it double every round.";
  static constexpr bool commutative_only = false;

  void emit(Reduce, Builder& b) const { detail::knomial_reduce(b, 2); }
  void emit(Bcast, Builder& b) const { detail::knomial_bcast(b, 2); }

  void emit(Allreduce, Builder& b) const {
    emit(Reduce{}, b);
    emit(Bcast{}, b);
  }

  void emit(Gather, Builder& b) const {
    const KNomialTree tree{2, b.size()};
    const int me = b.position();
    tree.for_children_up(me, [&](int child) {
      b.contributions(child, tree.run(child), [&](Range r) { b.receive(child, r); });
    });
    if (me == 0) return;
    const int parent = tree.parent(me);
    b.contributions(me, tree.run(me), [&](Range r) { b.send(parent, r); });
  }

  void emit(Scatter, Builder& b) const {
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

  static constexpr Arrangement arrangement(Collective /*c*/, int /*size*/) noexcept {
    return Arrangement::consecutive;
  }

  friend bool operator==(const Binomial&, const Binomial&) = default;
};
static_assert(StaticSchedule<Binomial>);
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<Binomial>() noexcept)

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
