// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/copying.hpp>
#include <papcoll/base/op.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
  // Every error means "do not sleep": the caller checks its condition again in any case.
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, expected, &t, nullptr, 0);
}

/// Wakes the threads that sleep on `word`.
inline void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr,
          0);
}

}  // namespace papcoll::inline PAPCOLL_ABI

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Sleeps for so long, as std::this_thread::sleep_for() does, whose header includes threads.
[[gnu::cold]] inline void sleep_for(std::chrono::milliseconds time) noexcept {
  timespec left{time.count() / 1000, time.count() % 1000 * 1'000'000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail

namespace papcoll::inline PAPCOLL_ABI {

/// How arrival-driven algorithms touch memory that ranks share. It is a template argument there,
/// so that a test can put a scheduler in its place which lets another rank in before any access,
/// and which knows what is ordered before what.
///
///   Atomic<T>                          as std::atomic<T>, of the size of T
///   write(to, from, n)                 plain bytes, `to` is shared
///   copy(rule, to, from, n)            the same, of data of any length
///   stream(to, from, n)                the same, past the caches; either may be shared
///   prefetch(from)                     a line that will be read; a hint only
///   read(to, from, n)                  plain bytes, `from` is shared
///   reduce(reducer, out, low, high, n) any of the three may be shared
///   wait(word, expected, limit), wake(word)  the futex
///   await_stores(word, expected, limit)      wait(), long enough for all stores that other ranks
///                                            have made to arrive
struct SharedAccess {
  template <class T> using Atomic = std::atomic<T>;

  static void write(void* to, const void* from, std::size_t n) noexcept {
    if (n != 0) std::memcpy(to, from, n);
  }
  static void copy(const detail::CopyRule& rule, std::byte* to, const std::byte* from,
                   std::size_t n) noexcept {
    detail::copy_for_others(rule, to, from, n);
  }
  static void stream(std::byte* to, const std::byte* from, std::size_t n) noexcept {
    detail::copy_past_caches(to, from, n);
  }
  static void prefetch(const std::byte* from) noexcept { __builtin_prefetch(from); }
  static void read(void* to, const void* from, std::size_t n) noexcept {
    if (n != 0) std::memcpy(to, from, n);
  }
  static void reduce(const Reducer& reducer, std::byte* out, const std::byte* low,
                     const std::byte* high, std::size_t n) noexcept {
    reducer.apply(out, low, high, n, reducer.context);
  }
  static void wait(Atomic<std::uint32_t>& word, std::uint32_t expected,
                   std::chrono::nanoseconds limit) noexcept {
    futex_wait(word, expected, limit);
  }
  static void await_stores(Atomic<std::uint32_t>& word, std::uint32_t expected,
                           std::chrono::nanoseconds limit) noexcept {
    wait(word, expected, limit);
  }
  static void wake(Atomic<std::uint32_t>& word) noexcept { futex_wake(word); }
};

}  // namespace papcoll::inline PAPCOLL_ABI
