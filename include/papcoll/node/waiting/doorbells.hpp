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
#include <new>

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

/// How the ranks of one node wake each other: a word to sleep on for each rank, in shared memory.
///
/// A rank that changes shared state first stores the change, release, then looks for sleepers. A
/// sleeper announces that it sleeps, gives stores that are under way the time to arrive (which is
/// far more than a processor keeps them back; a ring ends it), and looks at its condition once
/// more. A rank that looked for sleepers before its word had made its store before, so that the
/// sleeper now sees it; whoever looks later finds the sleeper. No wake-up is lost, and no store
/// waits until it has arrived, which would cost every call what a sleeper can well afford. The
/// sleeper's word and its looks are sequentially consistent: a look with acquire could pass the
/// word.
template <class Access, int FanOut = 4> class BasicDoorbells {
 public:
  static std::size_t bytes(int ranks) noexcept {
    return sizeof(Shared) + static_cast<std::size_t>(ranks) * sizeof(Bell);
  }

  /// A view of zeroed memory of bytes(ranks), aligned to cache_line.
  BasicDoorbells(std::byte* memory, int ranks) noexcept
      : shared_(reinterpret_cast<Shared*>(memory)),
        bells_(reinterpret_cast<Bell*>(memory + sizeof(Shared))),
        ranks_(ranks) {}

  static void initialise(std::byte* memory, int ranks) noexcept {
    new (memory) Shared{};
    for (int r = 0; r < ranks; ++r) {
      new (memory + sizeof(Shared) + static_cast<std::size_t>(r) * sizeof(Bell)) Bell{};
    }
  }

  /// Wakes rank r if it sleeps.
  void ring(int r) noexcept {
    Bell& bell = bells_[r];
    if (bell.state.load(std::memory_order_seq_cst) != awake) [[unlikely]]
      wake_sleeper(bell);
  }

  /// Wakes everyone. Above `fan_out` sleepers, those who wake up wake the rest: a wake-up costs the
  /// waker several microseconds.
  void ring_all() noexcept {
    if (shared_->sleepers.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      call_all();
  }

  /// Lets rank `me` sleep until it is woken or `limit` has passed, unless ready() is true.
  template <class Ready> bool nap(int me, std::chrono::nanoseconds limit, Ready&& ready) {
    Bell& bell = bells_[me];
    const std::uint32_t heard = bell.word.load(std::memory_order_acquire);
    shared_->sleepers.fetch_add(1, std::memory_order_seq_cst);
    // Before ready() looks.
    bell.state.exchange(sleeping, std::memory_order_seq_cst);
    const Awake guard{*this, me};
    bool is_ready = ready();
    if (!is_ready && limit > under_way) {
      Access::await_stores(bell.word, heard, under_way);
      is_ready = ready();
      limit -= under_way;
    }
    if (!is_ready) Access::wait(bell.word, heard, limit);
    return is_ready;
  }

  static constexpr int fan_out = FanOut;
  /// The longest time for which a processor keeps a store to itself, a hundred times over. A sleep
  /// that is no longer needs none.
  static constexpr std::chrono::nanoseconds under_way{50'000};

 private:
  // The state of a bell. awake → sleeping: its rank only. sleeping → called: ring_all, after which
  // some rank must wake it. sleeping, called → awake: the waker that will call the kernel, or the
  // rank itself. Sequentially consistent, see the class.
  static constexpr std::uint32_t awake = 0;
  static constexpr std::uint32_t sleeping = 1;
  static constexpr std::uint32_t called = 2;

  struct alignas(cache_line) Bell {
    typename Access::template Atomic<std::uint32_t> word{
        0};  ///< the futex: changes before a wake-up
    typename Access::template Atomic<std::uint32_t> state{0};
  };
  struct alignas(cache_line) Shared {
    /// At least the number of bells that are not awake.
    typename Access::template Atomic<std::uint32_t> sleepers{0};
  };

  /// The end of a sleep, also when ready() throws: a rank that was woken owes others their wake-up.
  struct Awake : Pinned {
    BasicDoorbells& bells;
    int me;
    Awake(BasicDoorbells& b, int rank) noexcept : bells(b), me(rank) {}
    ~Awake() {
      bells.bells_[me].state.exchange(awake, std::memory_order_seq_cst);
      if (bells.shared_->sleepers.fetch_sub(1, std::memory_order_seq_cst) != 1) {
        bells.wake_called(me);
      }
    }
  };

  static bool claim(Bell& bell, std::uint32_t from) noexcept {
    return bell.state.compare_exchange_strong(from, awake, std::memory_order_seq_cst);
  }

  [[gnu::noinline]] static void wake_sleeper(Bell& bell) noexcept {
    if (claim(bell, sleeping) || claim(bell, called)) wake(bell);
  }
  static void wake(Bell& bell) noexcept {
    bell.word.fetch_add(1, std::memory_order_seq_cst);
    Access::wake(bell.word);
  }

  [[gnu::noinline]] void call_all() noexcept {
    for (int r = 0; r < ranks_; ++r) {
      std::uint32_t expected = sleeping;
      if (bells_[r].state.compare_exchange_strong(expected, called, std::memory_order_seq_cst)) {
        bells_[r].word.fetch_add(1, std::memory_order_seq_cst);
      }
    }
    wake_called(0);
  }

  [[gnu::noinline]] void wake_called(int from) noexcept {
    int woken = 0;
    for (int i = 0; i < ranks_ && woken < fan_out; ++i) {
      const int r = from + i < ranks_ ? from + i : from + i - ranks_;
      if (claim(bells_[r], called)) {
        wake(bells_[r]);
        ++woken;
      }
    }
  }

  Shared* shared_;
  Bell* bells_;
  int ranks_;
};

using Doorbells = BasicDoorbells<SharedAccess>;

}  // namespace papcoll::inline PAPCOLL_ABI
