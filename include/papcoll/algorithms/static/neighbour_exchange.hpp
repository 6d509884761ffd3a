#pragma once

#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/schedule/schedule.hpp>

namespace papcoll::inline PAPCOLL_ABI {

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
  /// Of P contributions a position gets one, then in each round two; those of odd rounds come from
  /// the one side, of even ones from the other.
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
