#pragma once

#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <string_view>

namespace papcoll {
inline namespace PAPCOLL_ABI {

namespace detail {

/// ⌈log₂ P⌉ rounds after which every position has the parts of all. runs(i, n, f) calls f with the
/// ranges of the n parts i, i+1, … modulo size.
template <class Runs>
void bruck_allgather(Builder& b, Runs&& runs) {
  const int me = b.position();
  for (int have = 1; have < b.size(); have *= 2) {
    const int more = std::min(have, b.size() - have);
    runs(me, more, [&](Range r) { b.send(b.wrap(me - have), r); });
    runs(me + have, more, [&](Range r) { b.receive(b.wrap(me + have), r); });
  }
}

}  // namespace detail

/// What a position has doubles every round, for any number of positions.
///
/// Phases: ⌈log₂ P⌉ rounds; in round k position p sends all it has to p − 2^k.
/// Cost: ⌈log₂ P⌉α + (P−1)βm (m: one contribution). A run that goes around the end of the vector is
///   two messages, which fly at the same time.
/// Prefer it for short contributions, above all where P is not a power of two.
/// Limits: long contributions travel far (Ring, NeighbourExchange).
///
///     P = 5            0         1         2         3         4
///                      0         1         2         3         4
///     from p+1         01        12        23        34        40
///     from p+2         0123      1234      2340      3401      4012
///     from p+4, one    01234     12340     23401     34012     40123
///
/// The ranges are named where they stand in the vector, so the original's final rotation is not
/// needed.
///
/// Source: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient Algorithms for All-to-All
/// Communications in Multiport Message-Passing Systems", IEEE TPDS 8(11), 1997.
struct Bruck {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "Bruck";
  static constexpr std::string_view sentence =
      "What a position has doubles every round, for any number of positions.";
  static constexpr bool commutative_only = false;

  void emit(Allgather, Builder& b) const {
    detail::bruck_allgather(b, [&b](int first, int n, auto&& f) { b.contributions(first, n, f); });
  }

  friend bool operator==(const Bruck&, const Bruck&) = default;
};
static_assert(StaticSchedule<Bruck>);
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<Bruck>() noexcept)

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
