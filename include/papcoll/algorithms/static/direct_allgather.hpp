#pragma once

#include <papcoll/schedule/schedule.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Everybody sends its contribution to everybody: Linear's allgather alone, for agreements. Not in
/// the catalogue. All of a position's sends and receives start at once, staggered, so that no
/// position is everybody's target at once.
///
/// Phases: one. Cost: P − 1 messages each.
///
///     P = 3      0 → 1, 2       1 → 2, 0       2 → 0, 1
///
/// Source: as Linear.
struct DirectAllgather : PlainSchedule {
  static constexpr std::string_view name = "DirectAllgather";
  static constexpr std::string_view sentence = "Everybody sends to everybody.";
  static constexpr bool commutative_only = false;

  void emit(Allgather, auto& b) const {
    const int me = b.position();
    for (int k = 1; k < b.size(); ++k) {
      b.send(b.wrap(me + k), b.contribution(me));
      b.receive(b.wrap(me - k), b.contribution(me - k));
    }
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI
