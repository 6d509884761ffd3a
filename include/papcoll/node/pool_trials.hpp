#pragma once

#include <papcoll/base/heap_sort.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/config.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Is what a rank writes to its pool slow to read for the others? Where they share no cache with it
/// their reads take more than twice as long, its writes, too, and a copy by the kernel from where
/// the data lies, which is made once, is better. Nothing tells where ranks are but the time: a host
/// may move the processors of a virtual machine.
///
/// A rank that could let its peers pull asks once a call. The answer is what the last trial found:
/// two calls that go by the same place of the pool, the second of which its readers time. The next
/// one is made after 64 calls of about that size; while trials find pools slow, which costs much to
/// find, less and less often, up to 1024. A reader may lose its processor while it times: pools
/// that were fast are slow when two trials in a row have found it.
///
/// papcoll-bench alltoall, Zen 4, what readers timed in ps a byte, by a patch that printed it and
/// is not kept: 2 pinned ranks, 16 KB to 1 MB a block, 22 to 38 with a shared L3, 46 to 100
/// without; 8 ranks on 2 processors that share one, 22 to 36, and 44 to 99 where each shows 1 to 2
/// MB. So many are pulled, since without a shared L3 pools take up to 5 times as long, and with one
/// 0.7 times; more are not, which are quicker through pools in either case.
class PoolTrials {
 public:
  static constexpr std::uint32_t first_pause = 64;
  static constexpr std::uint32_t longest_pause = 1024;
  static constexpr std::uint32_t slow_ps_a_byte = 42;
  static constexpr std::uint32_t slow_ps_a_byte_of_many = 130;  ///< of more than 2 MB

  /// Of a call in which this rank shows n bytes; if it begins or goes on with a trial, no, and the
  /// caller takes its pool. `until_left`: so many calls after one, all ranks have left it.
  /// `each(e, f)` calls f with what each reader timed in call e, ps a byte.
  template <class Each>
  bool is_slow(std::size_t n, std::uint32_t epoch, std::uint32_t until_left, Each each) {
    Kind& k = kinds_[kind(n)];
    if (k.pause != 0) {
      --k.pause;
      if (k.unread != 0 && --k.unread == 0) {
        int readers = 0;
        int slow = 0;
        each(k.epoch, [&](std::uint32_t ps) {
          ++readers;
          if (ps > limit(n)) ++slow;
        });
        if (readers != 0) judge(k, 2 * slow > readers);
      }
      return k.slow;
    }
    is_trial_ = true;
    if (!k.is_warm) {
      k.is_warm = true;
      return false;
    }
    is_timed_ = true;
    k.is_warm = false;
    k.epoch = epoch;
    k.unread = until_left;
    k.pause = k.next_pause;
    return false;
  }

  /// Is the call under way one of a trial, and do readers time it?
  bool is_trial() const noexcept { return is_trial_; }
  bool is_timed() const noexcept { return is_timed_; }
  void end_call() noexcept { is_trial_ = is_timed_ = false; }

 private:
  /// Calls of about one size.
  struct Kind {
    std::uint32_t pause = 2;  ///< calls to the next trial
    std::uint32_t next_pause = first_pause;
    std::uint32_t epoch = 0;   ///< of the last one
    std::uint32_t unread = 0;  ///< calls until what readers timed can be read; 0: it was
    bool is_warm = false;      ///< one call of the trial is done
    bool slow = true;
    bool seems_slow = false;  ///< it was fast, but the last trial found it slow
  };

  static std::uint32_t limit(std::size_t n) noexcept {
    return n > std::size_t{2} << 20U ? slow_ps_a_byte_of_many : slow_ps_a_byte;
  }

  static void judge(Kind& k, bool slow) noexcept {
    const bool was_slow = k.slow;
    k.slow = slow && (was_slow || k.seems_slow);
    k.seems_slow = slow && !k.slow;
    k.next_pause = k.slow && was_slow ? std::min(2 * k.next_pause, longest_pause) : first_pause;
    k.pause = k.seems_slow ? 0 : k.next_pause;
  }

  /// Up to 16 KB, 64 KB, 256 KB, 1 MB, and more.
  static std::size_t kind(std::size_t n) noexcept {
    const auto width = static_cast<std::size_t>(std::bit_width(n >> 14U));
    return std::min<std::size_t>((width + 1) / 2, 4);
  }

  std::array<Kind, 5> kinds_{};
  bool is_trial_ = false;
  bool is_timed_ = false;
};

/// What one rank's reads of others' pools take in a call that they have timed. Of each peer,
/// the mean but for the slowest, in which the rank may have lost its processor. Of these, the one
/// in the middle: where ranks share processors, some have just the same caches.
class PoolReads {
 public:
  using Clock = std::chrono::steady_clock;

  /// Times what is done while it lives, a read of n bytes of rank r; nothing if `all` is null.
  class Timer {
   public:
    Timer(PoolReads* all, int r, std::size_t n) noexcept : all_(all), rank_(r), bytes_(n) {
      if (all_ != nullptr) start_ = Clock::now();
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    ~Timer() {
      if (all_ != nullptr) all_->note(rank_, bytes_, Clock::now() - start_);
    }

   private:
    PoolReads* all_;
    int rank_;
    std::size_t bytes_;
    Clock::time_point start_{};
  };

  explicit PoolReads(int ranks)
      : of_peer_(static_cast<std::size_t>(ranks)), means_(of_peer_.size()) {}

  /// n bytes of rank r have been read.
  void note(int r, std::size_t n, Clock::duration took) noexcept {
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
    const std::uint64_t ps = static_cast<std::uint64_t>(ns) * 1000 / n;
    Reads& reads = of_peer_[static_cast<std::size_t>(r)];
    ++reads.count;
    reads.sum += ps;
    reads.slowest = std::max(reads.slowest, ps);
    any_ = true;
  }

  bool any() const noexcept { return any_; }

  /// Picoseconds a byte, at least 1, and begins anew.
  std::uint32_t take() noexcept {
    std::size_t peers = 0;
    for (Reads& reads : of_peer_) {
      if (reads.count != 0) means_[peers++] = reads.mean();
      reads = {};
    }
    heap_sort(means_.data(), peers);
    any_ = false;
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(means_[peers / 2], 1, UINT32_MAX));
  }

 private:
  /// Picoseconds a byte.
  struct Reads {
    std::uint64_t count = 0;
    std::uint64_t sum = 0;
    std::uint64_t slowest = 0;

    std::uint64_t mean() const noexcept { return count == 1 ? sum : (sum - slowest) / (count - 1); }
  };

  detail::Vector<Reads> of_peer_;
  std::vector<std::uint64_t> means_;
  bool any_ = false;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
