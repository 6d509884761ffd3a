// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/base/function_ref.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// Calls f(hop, weight) for the messages of all rounds: hop = digit · weight, weight = 1, r, r², …,
/// for the radix r and each digit but 0. hop is less than `size`.
[[gnu::cold]] inline void bruck_hops(int size, int radix, FunctionRef<void(int, int)> f) {
  for (long long weight = 1; weight < size; weight *= radix) {
    for (int digit = 1; digit < radix && digit * weight < size; ++digit) {
      f(static_cast<int>(digit * weight), static_cast<int>(weight));
    }
  }
}

}  // namespace detail

/// What a position has becomes r times as much every round, for any number of positions; in
/// alltoall parts hop along the digits of their distance to the base r, the radix, which is 2
/// unless given.
///
/// Phases: ⌈log_r P⌉ rounds of r − 1 messages. Allgather: in round k position p sends all it has to
///   p − d·r^k, d = 1 … r−1. Alltoall: in round k it sends to p + d·r^k, as one message, all parts
///   that it holds whose distance from sender to receiver has d as digit k.
/// Cost: allgather ⌈log_r P⌉α + (P−1)βm (m: one contribution), where the latencies of a round pass
///   at the same time; a run that goes around the end of the vector is two messages. Alltoall
///   ⌈log_r P⌉(α + (r−1)/r·Pβm) (m: what one position has for another), with r = 2
///   ⌈log₂ P⌉(α + P/2·βm), and each part is copied in memory about once a round.
/// Prefer it for short contributions, above all where P is not a power of two; a larger radix for
///   longer parts of an alltoall, which then travel less far, or where several messages may be
///   under way at once. From r = P on, allgather and alltoall are Linear's.
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

  static constexpr std::array parameters{Parameter{"radix", "2", 2}};

  int radix = 2;  ///< r ≥ 2; emit() throws argument_error below that

  std::string arguments() const { return *this == Bruck{} ? "" : std::to_string(radix); }
  static Bruck parse(std::string_view arguments) {
    return {.radix = parse_number<int>(name, parameters[0], arguments)};
  }

  void emit(Allgather, auto& b) const {
    const int me = b.position();
    detail::bruck_hops(b.size(), checked_radix(), [&](int hop, int have) {
      const int more = std::min(have, b.size() - hop);
      b.contributions(me, more, [&](Range r) { b.send(b.wrap(me - hop), r); });
      b.contributions(me + hop, more, [&](Range r) { b.receive(b.wrap(me + hop), r); });
    });
  }

  /// What position s has for d is o = d − s away. In the round of each digit, all whose o has it go
  /// on by as much: position p then holds what came from p − (the lower digits of o).
  void emit(Alltoall, auto& b) const {
    const int me = b.position();
    const int r = checked_radix();
    detail::Vector<Range> out;
    detail::Vector<Range> in;
    detail::bruck_hops(b.size(), r, [&](int hop, int weight) {
      out.clear();
      in.clear();
      for (int o = hop; o < b.size(); ++o) {
        if (o / weight % r != hop / weight) continue;
        const int came = o % weight;
        out.push_back(b.part(me - came, me - came + o));
        in.push_back(b.part(me - hop - came, me - hop - came + o));
      }
      b.give(b.wrap(me + hop), out);
      b.receive(b.wrap(me - hop), in);
    });
  }

  void traffic(Collective c, auto& t) const {
    const int size = t.size();
    const int r = checked_radix();
    detail::bruck_hops(size, r, [&](int hop, int weight) {
      double share = std::min(weight, size - hop);
      if (c == Collective::alltoall) {  // of all pairs, those whose distance has this digit
        int with_digit = 0;
        for (int o = hop; o < size; ++o) with_digit += o / weight % r == hop / weight ? 1 : 0;
        share = with_digit;
      }
      for (int p = 0; p < size; ++p) {
        const int to = c == Collective::alltoall ? p + hop : p - hop;
        t.add(p, (to + size) % size, share / size / (c == Collective::alltoall ? size : 1));
      }
    });
  }

  friend bool operator==(const Bruck&, const Bruck&) = default;

 private:
  int checked_radix() const {
    if (radix >= 2) return radix;
    detail::throw_error<argument_error>(
        {"papcoll: Bruck's algorithm has a radix of at least 2, not ", radix});
  }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<Bruck>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
