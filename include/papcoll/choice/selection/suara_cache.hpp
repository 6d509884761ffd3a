#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace papcoll::inline PAPCOLL_ABI {

/// The best Suara of some length.
struct SuaraOfLength {
  AnySchedule schedule;  ///< empty: none is better than what is flat
  double seconds = std::numeric_limits<double>::infinity();
};

/// What was found for the lengths that were asked for last: a search takes a quarter of a
/// millisecond among 1,000 ranks.
class SuaraCache {
 public:
  /// Null if nothing is known.
  const SuaraOfLength* find(std::size_t bytes, bool commutative) noexcept {
    for (Entry& e : entries_) {
      if (e.asked == 0 || e.bytes != bytes || e.commutative != commutative) continue;
      e.asked = ++now_;
      return &e.found;
    }
    return nullptr;
  }

  /// Instead of what was not asked for longest.
  void keep(std::size_t bytes, bool commutative, const SuaraOfLength& found) {
    Entry* oldest = &entries_[0];
    for (Entry& e : entries_) {
      if (e.asked < oldest->asked) oldest = &e;
    }
    *oldest = {++now_, bytes, commutative, found};
  }

  void forget() noexcept { entries_.fill({}); }

 private:
  struct Entry {
    std::uint64_t asked = 0;  ///< when it was last; 0: never
    std::size_t bytes = 0;
    bool commutative = false;
    SuaraOfLength found;
  };
  std::array<Entry, 32> entries_;  // as many as there are plans in a plan cache
  std::uint64_t now_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI
