#pragma once

#include <papcoll/config.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

/// What was found for the lengths that were asked for last: a search takes a quarter of a
/// millisecond among 1,000 ranks.
class SuaraCache {
 public:
  /// Null if nothing is known; the schedule is empty where a flat one is taken.
  const AnySchedule* find(std::size_t bytes, bool commutative) noexcept {
    for (Entry& e : entries_) {
      if (e.asked == 0 || e.bytes != bytes || e.commutative != commutative) continue;
      e.asked = ++now_;
      return &e.schedule;
    }
    return nullptr;
  }

  /// Instead of what was not asked for longest.
  void keep(std::size_t bytes, bool commutative, const AnySchedule& schedule) {
    Entry* oldest = &entries_[0];
    for (Entry& e : entries_) {
      if (e.asked < oldest->asked) oldest = &e;
    }
    *oldest = {++now_, bytes, commutative, schedule};
  }

  void forget() noexcept { entries_.fill({}); }

 private:
  struct Entry {
    std::uint64_t asked = 0;  ///< when it was last; 0: never
    std::size_t bytes = 0;
    bool commutative = false;
    AnySchedule schedule;
  };
  std::array<Entry, 32> entries_;  // as many as there are plans in a plan cache
  std::uint64_t now_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI
