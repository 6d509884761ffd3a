#pragma once

#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

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

/// What a position has doubles every round, for any number of positions; in alltoall parts hop
/// along the bits of their distance.
///
/// Phases: ⌈log₂ P⌉ rounds. Allgather: in round k position p sends all it has to p − 2^k. Alltoall:
///   in round k it sends to p + 2^k, as one message, all parts that it holds whose distance from
///   sender to receiver has bit k.
/// Cost: allgather ⌈log₂ P⌉α + (P−1)βm (m: one contribution). A run that goes around the end of the
///   vector is two messages, which fly at the same time. Alltoall ⌈log₂ P⌉(α + P/2·βm) (m: what one
///   position has for another), and each part is copied in memory about once a round.
/// Prefer it for short contributions, above all where P is not a power of two.
/// Limits: long contributions travel far (Ring, NeighbourExchange; Pairwise). Parts of an alltoall
///   have one size, since positions pass on what they know no sizes of.
///
///     allgather, P = 5 0         1         2         3         4
///                      0         1         2         3         4
///     from p+1         01        12        23        34        40
///     from p+2         0123      1234      2340      3401      4012
///     from p+4, one    01234     12340     23401     34012     40123
///
///     alltoall, P = 4: what comes in (pq: from p, for q)
///                      0         1         2         3
///     from p−1         30 32     01 03     12 10     23 21     32 goes on, it has two bits
///     from p−2         20 10     31 21     02 32     13 03     02 is the sender's own
///
/// The ranges are named where they stand in the vector, so the original's rotations are not needed.
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

  /// What position s has for d is o = d − s positions away. In the round of each bit, all whose o
  /// has that bit go on by as much: position p then holds what came from p − (the lower bits of o).
  void emit(Alltoall, Builder& b) const {
    const int me = b.position();
    std::vector<Range> out;
    std::vector<Range> in;
    for (int hop = 1; hop < b.size(); hop *= 2) {
      out.clear();
      in.clear();
      for (int o = hop; o < b.size(); ++o) {
        if ((o & hop) == 0) continue;
        const int came = o & (hop - 1);
        out.push_back(b.part(me - came, me - came + o));
        in.push_back(b.part(me - hop - came, me - hop - came + o));
      }
      b.give(b.wrap(me + hop), out);
      b.receive(b.wrap(me - hop), in);
    }
  }

  static void traffic(Collective c, Traffic& t) {
    const int size = t.size();
    for (int hop = 1; hop < size; hop *= 2) {
      double share = std::min(hop, size - hop);
      if (c == Collective::alltoall) {  // of all pairs, those whose distance has this bit
        const int with_bit = size / (2 * hop) * hop + std::max(0, size % (2 * hop) - hop);
        share = static_cast<double>(with_bit) / size;
      }
      for (int p = 0; p < size; ++p) {
        const int to = c == Collective::alltoall ? p + hop : p - hop;
        t.add(p, (to + size) % size, share / size);
      }
    }
  }

  friend bool operator==(const Bruck&, const Bruck&) = default;
};
static_assert(StaticSchedule<Bruck>);
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<Bruck>() noexcept)

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
