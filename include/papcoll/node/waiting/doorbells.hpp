// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/node/shared_access.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace papcoll::inline PAPCOLL_ABI {

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
