#pragma once

#include <papcoll/config.hpp>
#include <papcoll/plan/schedule.hpp>

#include <array>
#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI {

/// What was found for the last few lengths: a search takes longer, the more ranks there are.
class SuaraMemory {
 public:
  /// Null if nothing is known; the schedule is empty where a flat one is taken.
  const AnySchedule* find(std::size_t bytes, bool commutative) const noexcept {
    for (const Entry& e : entries_) {
      if (e.known && e.bytes == bytes && e.commutative == commutative) return &e.schedule;
    }
    return nullptr;
  }

  void keep(std::size_t bytes, bool commutative, const AnySchedule& schedule) {
    entries_[next_] = {true, commutative, bytes, schedule};
    next_ = (next_ + 1) % entries_.size();
  }

  void forget() noexcept { entries_.fill({}); }

 private:
  struct Entry {
    bool known = false;
    bool commutative = false;
    std::size_t bytes = 0;
    AnySchedule schedule;
  };
  std::array<Entry, 8> entries_;
  std::size_t next_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI
