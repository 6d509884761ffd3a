// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are late: in every step each rank is held up for a time drawn from a seeded pattern,
// so that a run can be repeated with the same stragglers.
#pragma once

#include <papcoll/pattern/generators.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <ctime>

namespace ddp {

enum class Delay {
  busy,   ///< the late rank computes: it needs that much time of a processor
  sleep,  ///< the late rank waits for something else and leaves the processor to others
};

class Stragglers {
 public:
  Stragglers(papcoll::pattern::Generator pattern, Delay delay, int ranks)
      : pattern_(pattern), delay_(delay), seconds_(static_cast<std::size_t>(ranks)) {}

  /// Returns when this rank's delay in the step is over.
  void hold_up(std::uint64_t step, int rank) {
    pattern_(step, seconds_);
    const double seconds = seconds_[static_cast<std::size_t>(rank)];
    if (delay_ == Delay::sleep) {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
      return;
    }
    // Processor time, not time on the wall: a rank that has its processor taken away, by a rank
    // that waits in a loop for instance, comes still later. That is how it is with real work.
    const double end = processor_time() + seconds;
    while (processor_time() < end) {
    }
  }

 private:
  static double processor_time() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  }

  papcoll::pattern::Generator pattern_;
  Delay delay_;
  std::vector<double> seconds_;
};

}  // namespace ddp
