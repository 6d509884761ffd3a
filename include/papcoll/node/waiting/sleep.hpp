#pragma once

#include <papcoll/base/config.hpp>

#include <cerrno>
#include <chrono>
#include <ctime>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Gives the processor away for so long, as std::this_thread::sleep_for() does, whose header has
/// threads in it.
[[gnu::cold]] inline void sleep_for(std::chrono::milliseconds time) noexcept {
  timespec left{time.count() / 1000, time.count() % 1000 * 1'000'000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
