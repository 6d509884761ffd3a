#pragma once

#include <papcoll/algorithms/static/step_cost.hpp>
#include <papcoll/algorithms/static/tree_shapes.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// A tree grown from the predicted arrivals: the two that are ready first combine what they have,
/// and so on until one is left.
///
/// Phases: reduce up the tree; allreduce then bcast down a binomial tree.
/// Cost: the time to the root if all come as predicted and a message with its combination takes
///   StepCost; balanced, ⌈log₂ P⌉(α + βm + γm) as in a binomial tree. A rank that is later than all
///   others by more than that finds the others' result ready, and costs one more step.
/// Prefer it for short and medium vectors, where some ranks come late: it puts them near the root,
///   with as few steps as they leave time for.
/// Limits: the vector goes whole, so long ones want SortedLinearTree or PreReducedRing. The
///   operator must commute. Without predictions it is a tree of ⌈log₂ P⌉ levels.
///
///     reduce, P = 5; r0…r3 ready at 0, r4 after 3 steps
///                              r0      r1      r2      r3      r4
///     0: r0, r1 and r2, r3     a ────→ ab      c ────→ cd
///     1: r1 with r3                    ab ───────────→ abcd
///     3: r3 with r4                                    abcd ─→ abcde     at the root after 4
///
/// Source: after Clairvoyant in Marendić, Lemeire, Vučinić, Schelkens, "A novel MPI reduction
/// algorithm resilient to imbalances in process arrival times", J. Supercomputing 72(5), 2016,
/// which also cuts the vector; this one does not.
struct ClairvoyantTree {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "ClairvoyantTree";
  static constexpr std::string_view sentence =
      "A tree in which the two that are expected to be ready first combine next.";
  static constexpr bool commutative_only = true;
  static constexpr unsigned needs = capability::positions | capability::forecast;

  static constexpr std::array parameters = StepCost::parameters;

  StepCost cost{};

  std::string arguments() const { return cost.arguments(); }
  static ClairvoyantTree parse(std::string_view arguments) {
    return {StepCost::parse(name, arguments)};
  }

  /// One merge: a position hands its partial result to another one.
  struct Merge {
    int from;  ///< the position that sends
    int to;    ///< the position that combines
    friend bool operator==(const Merge&, const Merge&) = default;
  };

  /// The merges in the order of their times; the last one is into position 0. `late(p)`: when the
  /// position is ready, `step`: what a merge takes.
  static std::vector<Merge> merges(int positions, std::uint64_t step, auto&& late) {
    struct Ready {
      std::uint64_t at;
      int position;
      // Of those ready at once the higher positions first, which came first.
      bool operator<(const Ready& o) const noexcept {
        return at != o.at ? at > o.at : position < o.position;
      }
    };
    detail::Vector<Ready> heap;
    for (int p = 0; p < positions; ++p) heap.push_back({late(p), p});
    std::make_heap(heap.begin(), heap.end());
    auto next = [&heap] {
      std::pop_heap(heap.begin(), heap.end());
      const Ready r = heap.back();
      heap.pop_back();
      return r;
    };
    std::vector<Merge> found;
    while (heap.size() > 1) {
      Ready from = next();
      Ready to = next();
      const std::uint64_t at = to.at + step;
      if (from.position == 0) std::swap(from, to);  // the root keeps what it has
      found.push_back({from.position, to.position});
      heap.push_back({at, to.position});
      std::push_heap(heap.begin(), heap.end());
    }
    return found;
  }

  void emit(Reduce, auto& b) const {
    const std::uint64_t step = cost.of(b.whole().size() * b.element_size());
    for (const Merge& m : merges(b.size(), step, [&b](int p) { return b.lateness(p); })) {
      if (m.to == b.position()) b.reduce(m.from, b.whole());
      if (m.from == b.position()) b.send(m.to, b.whole());
    }
  }

  void emit(Allreduce, auto& b) const {
    emit(Reduce{}, b);
    detail::bcast_down(b, KNomialTree{2, b.size()}, b.whole());
  }

  friend bool operator==(const ClairvoyantTree&, const ClairvoyantTree&) = default;
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<ClairvoyantTree>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
