// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Ring, and with pairs of contributions NeighbourExchange.

#include <papcoll/algorithms/static/pairwise.hpp>
#include <papcoll/base/function_ref.hpp>
#include <papcoll/schedule/schedule.hpp>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// P−1 rounds in which partial results go once around, from each position to the next; position p
/// ends with the result of part(p). part(i) gives a range for every i, modulo size.
[[gnu::cold]] inline void ring_reduce_scatter(auto& b, FunctionRef<Range(int)> part) {
  const int me = b.position();
  for (int k = 1; k < b.size(); ++k) {
    b.send(b.wrap(me + 1), part(me - k));
    b.reduce(b.wrap(me - 1), part(me - k - 1));
  }
}

/// P−1 rounds in which part(p), held by position p, goes once around.
[[gnu::cold]] inline void ring_allgather(auto& b, FunctionRef<Range(int)> part) {
  const int me = b.position();
  for (int k = 0; k + 1 < b.size(); ++k) {
    b.send(b.wrap(me + 1), part(me - k));
    b.receive(b.wrap(me - 1), part(me - k - 1));
  }
}

}  // namespace detail

/// Parts of the vector go around, each position talking only to its two neighbours.
///
/// Phases: a reduce-scatter around the ring, then an allgather around it; allgather and
///   reduce_scatter are the one or the other. Their parts may differ in size: each round then takes
///   as long as the largest part that is under way. Alltoall: in round k position p sends to p + k
///   and receives from p − k, and the next round begins when both are done; that goes around, too,
///   but not by way of the neighbours.
/// Cost: allreduce 2(P−1)α + 2·(P−1)/P·βm + (P−1)/P·γm; each of the halves half of it (m: the whole
///   vector). Alltoall (P−1)(α + βm) (m: what one position has for another). The data volume is the
///   least possible.
/// Prefer it for long vectors, and where neighbours in the order are neighbours in the machine.
/// Limits: latency grows with P. Each part is combined in a different rotation of the order, so the
///   operator must commute. Parts of an alltoall may differ in size; SpreadOut has several of its
///   messages under way at once, Linear all of them.
///
///     allreduce, P = 3, after each round (position p's parts 0 1 2; 01 means combined of 0 and 1)
///                        0              1              2
///                   0   0   0      1   1   1      2   2   2
///     part p−k to p+1, k = 1, 2; the receiver combines
///       k = 1       0  02   0      1   1  01     12   2   2
///       k = 2     012  02   0      1 012  01     12   2 012
///     finished parts go around
///       k = 0     012  02 012    012 012  01     12 012 012
///       k = 1     012 012 012    012 012 012    012 012 012
///
/// Source: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
/// JPDC 69(2), 2009; alltoall: the "ring" of SMPI and STAR-MPI (Faraj, Yuan, Lowenthal, "STAR-MPI:
/// Self Tuned Adaptive Routines for MPI Collective Operations", ICS 2006).
struct Ring : PlainSchedule {
  static constexpr std::string_view name = "Ring";
  static constexpr std::string_view sentence =
      "Parts of the vector go around a ring: least data for long vectors.";
  static constexpr bool commutative_only = true;

  void emit(Allreduce, auto& b) const {
    auto block = [&b](int i) { return b.block(i); };
    detail::ring_reduce_scatter(b, block);
    detail::ring_allgather(b, block);
  }

  void emit(ReduceScatter, auto& b) const {
    detail::ring_reduce_scatter(b, [&b](int p) { return b.contribution(p); });
  }

  void emit(Allgather, auto& b) const {
    detail::ring_allgather(b, [&b](int p) { return b.contribution(p); });
  }

  void emit(Alltoall, auto& b) const { detail::spread_out(b, 1); }
  static constexpr bool own_parts_only = true;

  static constexpr MappingHint mapping_hint(Collective c, int /*size*/) noexcept {
    return c == Collective::alltoall ? MappingHint::by_traffic : MappingHint::consecutive;
  }
  static void traffic(Collective c, auto& t) {
    if (c == Collective::alltoall) return;  // every position sends to every other
    const int size = t.size();
    const double rounds = c == Collective::allreduce ? 2.0 * (size - 1) : size - 1.0;
    for (int p = 0; p < size; ++p) t.add(p, (p + 1) % size, rounds / size);
  }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<Ring>() noexcept)

/// Allgather in which neighbours exchange in pairs, alternately with the one and the other side.
///
/// Phases: P/2 rounds. In the first, position pairs (0,1), (2,3), … exchange their own; from then
///   on each position gives its other neighbour the two contributions that it got last.
/// Cost: P/2·α + (P−1)βm (m: one contribution).
/// Prefer it to Ring for medium contributions: half the rounds, still only neighbours talk.
/// Limits: needs an even P; for an odd one it is Ring, whose volume no fold would keep.
///
///     P = 6             0        1        2        3        4        5
///     0↔1 2↔3 4↔5       01       01       23       23       45       45
///     5↔0 1↔2 3↔4       01 45    01 23    01 23    23 45    23 45    01 45
///     0↔1 2↔3 4↔5       all      all      all      all      all      all
///
/// Source: Chen, Zhang, Zhang, Yuan, "Performance Evaluation of Allgather Algorithms on
/// Terascale Linux Cluster with Fast Ethernet", HPCASIA 2005.
struct NeighbourExchange : PlainSchedule {
  static constexpr std::string_view name = "NeighbourExchange";
  static constexpr std::string_view sentence =
      "Neighbours exchange in pairs, alternately with the one and the other side.";
  static constexpr bool commutative_only = false;

  void emit(Allgather, auto& b) const {
    if (b.size() % 2 != 0) return Ring{}.emit(Allgather{}, b);
    const int me = b.position();
    const int direction = me % 2 == 0 ? 1 : -1;  // of the neighbour in even rounds
    b.send(me + direction, b.contribution(me));
    b.receive(me + direction, b.contribution(me + direction));
    // In round k the pair of contributions that the position gets begins k away from its own pair,
    // on the side it gets it from; k is rounded up to a whole pair.
    auto got_in = [&](int k) {
      const int towards = k % 2 == 0 ? direction : -direction;
      return me - me % 2 + towards * (k + k % 2);
    };
    for (int k = 1; k < b.size() / 2; ++k) {
      const int neighbour = b.wrap(k % 2 == 0 ? me + direction : me - direction);
      b.contributions(got_in(k - 1), 2, [&](Range r) { b.send(neighbour, r); });
      b.contributions(got_in(k), 2, [&](Range r) { b.receive(neighbour, r); });
    }
  }

  static constexpr MappingHint mapping_hint = MappingHint::consecutive;
  /// A position receives one of P contributions, then two in each round; those of odd rounds come
  /// from the one side, those of even rounds from the other.
  static void traffic(Collective c, auto& t) {
    const int size = t.size();
    if (size % 2 != 0) return Ring::traffic(c, t);
    for (int p = 0; p < size; ++p) {
      const int direction = p % 2 == 0 ? 1 : -1;
      const int there = 1 + 2 * ((size / 2 - 1) / 2);
      t.add(p, (p + direction + size) % size, static_cast<double>(there) / size);
      t.add(p, (p - direction + size) % size, static_cast<double>(size - 1 - there) / size);
    }
  }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<NeighbourExchange>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
