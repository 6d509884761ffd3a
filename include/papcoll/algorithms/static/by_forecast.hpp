// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Schedules that go by when ranks are expected: ClairvoyantTree, PreReducedRing.

#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/algorithms/static/shapes.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/schedule/schedule_traits.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// What a schedule takes a message and its combination to cost, α + (β + γ)m, where it weighs that
/// against how late ranks are. Whole numbers, so that all ranks weigh alike; half or twice the
/// truth does little harm.
struct StepCost {
  static constexpr std::array parameters{Parameter{"nanoseconds a message", "500"},
                                         Parameter{"nanoseconds a KB", "200"}};

  std::uint32_t alpha_ns = 500;   ///< nanoseconds of a message, as within a node
  std::uint32_t ns_per_kb = 200;  ///< nanoseconds of a KB, sent and combined

  constexpr std::uint64_t of(std::uint64_t bytes) const noexcept {
    return alpha_ns + bytes / 1024 * ns_per_kb + bytes % 1024 * ns_per_kb / 1024;
  }

  /// "500,200"; nothing for the default.
  std::string arguments() const {
    if (*this == StepCost{}) return {};
    return detail::joined({alpha_ns, ",", ns_per_kb});
  }
  static StepCost parse(std::string_view schedule, std::string_view text) {
    const auto numbers = split_arguments(text);
    if (numbers.size() != 2) {
      detail::throw_error<argument_error>(
          {"papcoll: ", schedule,
           " needs two numbers, nanoseconds a message and nanoseconds a KB, but "
           "was given '",
           text, "': write ", schedule, ":500,200"});
    }
    return {parse_number<std::uint32_t>(schedule, parameters[0], numbers[0]),
            parse_number<std::uint32_t>(schedule, parameters[1], numbers[1])};
  }

  friend bool operator==(const StepCost&, const StepCost&) = default;
};

/// A tree grown from the predicted arrivals: the two that are ready first combine what they have,
/// and so on until one is left.
///
/// Phases: reduce up the tree; allreduce then bcast down a binomial tree.
/// Cost: the time to the root if all come as predicted and a message with its combination takes
///   StepCost; balanced, ⌈log₂ P⌉(α + βm + γm) as in a binomial tree. A rank that is later than all
///   others by more than that finds the others' result ready, and costs one more step.
/// Prefer it for short and medium vectors, where some ranks arrive late: it puts them near the
///   root, with as few steps as they leave time for.
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
      // Among those ready at once, the higher positions first, which came first.
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

/// A ring in which the ranks that arrive early combine their own contributions first; what they
/// have goes past the late ones and around.
///
/// Phases: with E early ranks of P, (1) E − 1 pre-reduction steps, a reduce-scatter around the ring
///   of the early ranks; (2) each of the E parts, in q pieces, goes from its owner through the late
///   ranks, in the order in which they are expected, and each adds its own; (3) from the last one
///   the pieces, now whole, go once around all ranks. E and q are those for which the predicted
///   arrivals and StepCost let the call end first; if that is E = P, it is Ring.
/// Cost: for E < P, after the last arrival, (Eq + P − 1) steps of m/(Eq) bytes, so little more than
///   (β + γ)m for long vectors, against 2(P−1)/P·βm + (P−1)/P·γm of a ring, which cannot begin
///   with a part before all have arrived.
/// Prefer it for long vectors, where one or a few ranks arrive late by the time of a ring or more.
/// Limits: latency grows with P; ranks that arrive late unexpectedly hold up all others. The
///   operator must commute. Without predictions it is a ring.
///
///     P = 4, r2 late: E = 3, parts 0 1 2 (digits: whose contributions are combined), q = 1
///                         r0             r1             r3             r2
///     (1) two steps     013   0   0      1 013   1      3   3 013      (not there)
///     (2) to r2         ────────────── 013 ─ 013 ─ 013 ────────────→   0123 0123 0123
///     (3) around        r2 → r0 → r1 → r3, one part behind the other
///
/// Source: after Proficz, "Improving all-reduce collective operations for imbalanced process
/// arrival patterns", J. Supercomputing 74(7), 2018; phases 2 and 3, and the choice of E and q, are
/// papcoll's.
struct PreReducedRing {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "PreReducedRing";
  static constexpr std::string_view sentence =
      "A ring in which those expected early combine theirs before the late ones come.";
  static constexpr bool commutative_only = true;
  static constexpr unsigned needs = capability::positions | capability::forecast;

  static constexpr std::array parameters = StepCost::parameters;

  StepCost cost{};

  std::string arguments() const { return cost.arguments(); }
  static PreReducedRing parse(std::string_view arguments) {
    return {StepCost::parse(name, arguments)};
  }

  /// How many ranks combine theirs first, and in how many pieces each part goes on.
  struct Shape {
    int early = 1;   ///< ranks that combine theirs first
    int pieces = 1;  ///< of each part
    friend bool operator==(const Shape&, const Shape&) = default;
  };

  /// The best of all shapes. `late(i)`: nanoseconds by which the i-th to come is later than the
  /// first; E − 1 is the number of pre-reduction steps.
  Shape choose(int ranks, std::uint64_t bytes, auto&& late) const {
    const auto p = static_cast<std::uint64_t>(ranks);
    Shape best{ranks, 1};
    std::uint64_t best_end = late(ranks - 1) + 2 * (p - 1) * cost.of(bytes / p);
    for (int early = 2; early < ranks; ++early) {
      const auto e = static_cast<std::uint64_t>(early);
      const std::uint64_t ready = late(early - 1) + (e - 1) * cost.of(bytes / e);
      for (const int pieces : {1, 2, 4, 8}) {
        const std::uint64_t n = e * static_cast<std::uint64_t>(pieces);
        const std::uint64_t step = cost.of(bytes / n);
        std::uint64_t first = ready;  // piece to leave the ranks so far
        std::uint64_t last = ready;
        for (int i = early; i < ranks; ++i) {
          first = std::max(first, late(i)) + step;
          last = std::max(last + step, first + (n - 1) * step);
        }
        const std::uint64_t end = last + (p - 1) * step;
        if (end < best_end) {
          best_end = end;
          best = {early, pieces};
        }
      }
    }
    return best;
  }

  void emit(Allreduce, auto& b) const {
    const int n = b.size();
    const int me = n - 1 - b.position();  // as the i-th to come
    auto at = [n](int i) { return n - 1 - i; };
    const Shape shape =
        choose(n, b.whole().size() * b.element_size(), [&](int i) { return b.lateness(at(i)); });
    const int early = shape.early;
    auto part = [&](int i) { return papcoll::part(b.whole(), (i % early + early) % early, early); };
    if (me < early) {
      const int next = at((me + 1) % early);
      const int previous = at((me + early - 1) % early);
      for (int k = 1; k < early; ++k) {
        b.send(next, part(me - k));
        b.reduce(previous, part(me - k - 1));
      }
      for (int k = 0; early == n && k + 1 < n; ++k) {
        b.send(next, part(me - k));
        b.receive(previous, part(me - k - 1));
      }
    }
    if (early == n) return;

    auto for_pieces = [&](int first, int parts, auto&& f) {
      for (int i = first; i < first + parts; ++i) {
        for (int k = 0; k < shape.pieces; ++k) f(i, papcoll::part(part(i), k, shape.pieces));
      }
    };
    if (me < early) for_pieces(me, 1, [&](int, Range r) { b.send(at(early), r); });
    if (me >= early) {
      for_pieces(0, early, [&](int owner, Range r) {
        b.reduce(at(me == early ? owner : me - 1), r);
        if (me + 1 < n) b.send(at(me + 1), r);
      });
    }
    for_pieces(0, early, [&](int, Range r) {
      if (me != n - 1) b.receive(at(me == 0 ? n - 1 : me - 1), r);
      if (me != n - 2) b.send(at(me == n - 1 ? 0 : me + 1), r);
    });
  }

  friend bool operator==(const PreReducedRing&, const PreReducedRing&) = default;
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<PreReducedRing>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
