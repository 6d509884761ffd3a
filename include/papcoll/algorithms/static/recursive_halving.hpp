#pragma once

#include <papcoll/schedule/schedule.hpp>

namespace papcoll::inline PAPCOLL_ABI {

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

  static void traffic(Collective /*c*/, auto& t) { tell_halves(t, 0, t.size()); }

 private:
  /// Of the n positions from lo on.
  [[gnu::cold]] static void tell_halves(Traffic& t, int lo, int n) {
    if (n < 2) return;
    const int upper = n / 2;
    const int lower = n - upper;
    const double each = 1.0 / t.size();
    for (int i = 0; i < upper; ++i) {
      t.add(lo + i, lo + lower + i, upper * each);
      t.add(lo + lower + i, lo + i, lower * each);
    }
    if (lower > upper) t.add(lo + lower - 1, lo + n - 1, upper * each);
    tell_halves(t, lo, lower);
    tell_halves(t, lo + lower, upper);
  }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<RecursiveHalving>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
