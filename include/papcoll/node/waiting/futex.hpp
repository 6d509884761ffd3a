#pragma once

#include <papcoll/base/config.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI {

// std::atomic::wait is private to a process, so papcoll calls the shared futex itself. The word
// must be lock-free and have no padding, which the assertion below checks.
static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
              sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

/// Sleeps while `word` is `expected`, at most `limit`; may return early for no reason.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::chrono::nanoseconds limit) noexcept {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timespec t{.tv_sec = static_cast<time_t>(seconds.count()),
                   .tv_nsec = static_cast<long>((limit - seconds).count())};
  // Every error means "do not sleep": the caller looks at its condition again in any case.
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, expected, &t, nullptr, 0);
}

/// Wakes whoever sleeps on `word`.
inline void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr,
          0);
}

}  // namespace papcoll::inline PAPCOLL_ABI

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Gives the processor away for so long, as std::this_thread::sleep_for() does, whose header has
/// threads in it.
[[gnu::cold]] inline void sleep_for(std::chrono::milliseconds time) noexcept {
  timespec left{time.count() / 1000, time.count() % 1000 * 1'000'000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
