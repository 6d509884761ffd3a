#pragma once

#include <papcoll/base/config.hpp>

#include <algorithm>
#include <chrono>

namespace papcoll::inline PAPCOLL_ABI {

/// How long a rank has waited, by the looks that it takes at the clock. Of a gap between two looks
/// no more counts than a given time: whatever stopped the rank meanwhile (a batch system, a frozen
/// container, a debugger, a virtual machine that moves) may have stopped its peers, too, and
/// nobody has been late for that long.
class TimeWaited {
 public:
  using Clock = std::chrono::steady_clock;

  /// `most`: of a gap.
  explicit TimeWaited(Clock::duration most, Clock::time_point now = Clock::now()) noexcept
      : most_(most), looked_(now) {}

  /// Looks, and returns the time waited so far.
  Clock::duration until(Clock::time_point now = Clock::now()) noexcept {
    waited_ += std::clamp(now - looked_, Clock::duration{0}, most_);
    looked_ = now;
    return waited_;
  }

 private:
  Clock::duration most_;
  Clock::time_point looked_;
  Clock::duration waited_{0};
};

}  // namespace papcoll::inline PAPCOLL_ABI
