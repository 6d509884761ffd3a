// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/copying.hpp>
#include <papcoll/node/node.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// What operations cost between ranks of one node, in nanoseconds, and picoseconds a byte. Equal on
/// all ranks.
struct PeerCosts {
  std::uint32_t call_ns = 60;     ///< of a call by itself
  std::uint32_t signal_ns = 100;  ///< from a store until a peer has seen it
  /// The cost of each further line, if a rank takes lines of several peers, or several ranks take
  /// the same one: these queue. A value as on nodes of 56 to 288 cores; not measured by the probe.
  std::uint32_t line_ns = 18;
  std::uint32_t turn_ns = 1000;   ///< until another rank that shares the processor has run
  std::uint32_t write_ps = 25;    ///< to memory that peers have read
  std::uint32_t read_ps = 25;     ///< of what a peer has just written, as it is copied
  std::uint32_t combine_ps = 30;  ///< more than that, if it is combined
  std::uint32_t pull_ns = 700;    ///< of a copy by the kernel, and
  std::uint32_t pull_ps = 110;    ///< for each byte of it
  /// Of the time that a balanced call takes, in hundredths: how long its ranks wait for the last
  /// one, in the mean, where it counts as imbalanced. Ranks of a balanced loop of calls leave, and
  /// so arrive, up to one call's own time apart, a quarter of it waited for in the mean; and what
  /// is done before the last arrival is worth something from one own time on.
  std::uint32_t late_percent = 150;

  friend bool operator==(const PeerCosts&, const PeerCosts&) = default;

  /// Estimate of the time that a balanced call of so many bytes takes.
  std::uint64_t own_time(std::size_t bytes, int ranks, bool shares_processors) const noexcept {
    const std::uint64_t each = shares_processors ? turn_ns : signal_ns;
    return static_cast<std::uint64_t>(ranks) *
           (each + bytes / 1000 * read_ps + bytes % 1000 * read_ps / 1000);
  }
};

/// As long as nothing was measured.
inline constexpr PeerCosts usual_peer_costs;

}  // namespace papcoll::inline PAPCOLL_ABI

namespace papcoll::inline PAPCOLL_ABI::detail {

/// What signals and copies between ranks of a node cost. One rank's side of a trial between pairs
/// of ranks.
///
/// Both write a sample for the other, signal, read the other's, and signal: 16 KB, plainly and past
/// the caches; the same without data, which is two signals; and where the kernel may copy, both
/// read what is in the other's private memory, 16 KB and 512 bytes. One after the other, some nine
/// times each. The least time counts, of writing and reading together, since a streamed write
/// delays its writer little and its reader much. A rank does so with two others: its number with
/// the lowest bit turned, who mostly sits beside it, and with the highest, who mostly sits far
/// away; what it writes is read by both kinds, so that the sum decides how it copies, and the
/// farther one what things cost.
///
///     8 ranks, near   0-1  2-3  4-5  6-7
///              far    0-4  1-5  2-6  3-7
///
/// No rank waits for long: one whose partner does not arrive in time has learned nothing, and the
/// pair continues, the next time, at the step where it stopped. A rank that has enough samples
/// leaves and announces it, since its partner may have counted otherwise.
///
/// Cost: 27 or 45 exchanges a pair, of up to 5 µs each.
class PeerProbe {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::size_t sample_bytes = 16384;
  static constexpr int pairs = 2;
  static constexpr std::size_t short_bytes = 512;
  static constexpr std::uint32_t samples = 9;  ///< of each kind; two steps each; half is enough
  /// More than a pair needs that shares no processor; the rest is for partners that come later, or
  /// lose their processor for a moment.
  static constexpr std::chrono::nanoseconds patience{900'000};

  /// What a trial finds.
  struct Found {
    CopyMethod faster = CopyMethod::plain;
    std::uint32_t signal_ns = 0;  ///< one way
    std::uint32_t copy_ps = 0;    ///< a byte written for a peer, or read of one, in the mean
    std::uint32_t pull_ns = 0;    ///< of a copy by the kernel, and
    std::uint32_t pull_ps = 0;    ///< for each byte of it; 0 where it may not copy
  };

  /// Bytes of memory for all ranks of the node; it begins as zeros.
  static constexpr std::size_t bytes(int ranks) noexcept {
    return static_cast<std::size_t>(ranks) * pairs * sizeof(Part);
  }

  /// Returns where the parts lie in it that this rank writes; those of `partner()` are the others
  /// it needs.
  static constexpr std::size_t offset(int rank) noexcept { return bytes(rank); }
  static constexpr std::size_t bytes_a_rank() noexcept { return bytes(1); }

  /// The rank it is tried with, in pair 0 or 1; −1: none. Every rank of several has one.
  static constexpr int partner(int rank, int ranks, int pair) noexcept {
    int bit = 1;
    while (pair == 1 && 2 * bit < ranks) bit *= 2;
    const int other = rank ^ bit;
    return other < ranks && (pair == 0 || bit > 1) ? other : -1;
  }

  /// `peers`: how ranks reach each other's private memory; the same on all ranks.
  PeerProbe(std::byte* memory, int rank, int ranks, const PeerMemory& peers = {})
      : memory_(memory),
        rank_(rank),
        ranks_(ranks),
        kinds_(peers.pulls() ? kinds_of_all : pulled),
        peers_(peers),
        mine_(2 * sample_bytes) {}

  /// Returns false if too few exchanges were made to know the costs. All ranks should call it at
  /// about the same time; it takes no longer than `limit`, of which each pair has its part.
  bool run(Found& found, std::chrono::nanoseconds limit = patience) noexcept {
    std::int64_t plain_time = 0;
    std::int64_t streamed_time = 0;
    bool any = false;
    const bool both = partner(rank_, ranks_, 0) >= 0 && partner(rank_, ranks_, 1) >= 0;
    for (int pair = 0; pair < pairs; ++pair) {
      const int other = partner(rank_, ranks_, pair);
      if (other < 0) continue;
      const auto until = Clock::now() + (both ? limit / 2 : limit);
      Times least;
      least.fill(never);
      if (!exchange(pair, other, until, least)) continue;
      any = true;
      plain_time += least[plain];
      streamed_time += least[streamed];
      far_costs(found, least);
    }
    found.faster = streamed_time < plain_time ? CopyMethod::streamed : CopyMethod::plain;
    return any;
  }

 private:
  enum Kind : std::uint32_t { plain, streamed, signals, pulled, pulled_short, kinds_of_all };
  using Times = std::array<std::int64_t, kinds_of_all>;  ///< ns
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  /// What one rank of a pair writes for the other.
  struct Part {
    // 2·steps, and 1 more while its rank is in run(). It begins at 0, and only its rank writes it.
    // Step 2i + 1: sample i is written; 2i + 2: and the partner's is read.
    // Invariants: a rank writes sample i only when the partner's word says that it has read sample
    // i − 1, and reads sample i only when the word says that it is written. Released by its rank
    // after the bytes, acquired by the partner before it touches them; no other order is needed,
    // since nobody sleeps on it.
    alignas(256) std::atomic<std::uint64_t> word;
    // The address of the rank's private sample. Relaxed: written before the word of a first step.
    std::atomic<std::uint64_t> address;
    alignas(256) std::byte sample[sample_bytes];

    void say(std::uint64_t steps, bool is_here) noexcept {
      word.store(2 * steps + (is_here ? 1 : 0), std::memory_order_release);
    }
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  Part& part(int rank, int pair) const noexcept {
    const std::size_t number =
        static_cast<std::size_t>(rank) * pairs + static_cast<std::size_t>(pair);
    return *std::launder(reinterpret_cast<Part*>(memory_ + number * sizeof(Part)));
  }

  /// Returns true if the partner has reached the step. Gives up at `until`; or, if this rank has
  /// `enough`, when the partner has left without it.
  static bool reaches(const Part& theirs, std::uint64_t step, bool enough,
                      Clock::time_point until) noexcept {
    for (unsigned spins = 1;; ++spins) {
      const std::uint64_t word = theirs.word.load(std::memory_order_acquire);
      if (word / 2 >= step) return true;
      if (enough && word % 2 == 0) return false;
      if (spins % 64 == 0 && Clock::now() > until) return false;
      cpu_pause();
    }
  }

  /// The costs by a pair's times, as far as they exceed those of another pair.
  void far_costs(Found& found, const Times& least) const noexcept {
    const auto a_byte = [](std::int64_t ns, std::size_t bytes) {
      return static_cast<std::uint32_t>(std::max<std::int64_t>(ns, 0) * 1000 /
                                        static_cast<std::int64_t>(bytes));
    };
    const std::int64_t signal = least[signals] / 2;
    const auto grow = [](std::uint32_t& x, std::int64_t y) {
      x = std::max(x, static_cast<std::uint32_t>(std::clamp<std::int64_t>(y, 1, UINT32_MAX)));
    };
    grow(found.signal_ns, signal);
    grow(found.copy_ps, a_byte(least[plain] - least[signals], 2 * sample_bytes));
    if (kinds_ != kinds_of_all) return;
    grow(found.pull_ns, least[pulled_short] - least[signals]);
    grow(found.pull_ps, a_byte(least[pulled] - least[pulled_short], sample_bytes - short_bytes));
  }

  /// Lowers `least` to the least times. False: there were too few exchanges.
  bool exchange(int pair, int other, Clock::time_point until, Times& least) noexcept {
    Part& mine = part(rank_, pair);
    const Part& theirs = part(other, pair);
    mine.address.store(reinterpret_cast<std::uintptr_t>(mine_.data()), std::memory_order_relaxed);
    std::uint64_t step = mine.word.load(std::memory_order_relaxed) / 2;
    std::uint32_t timed = 0;
    const std::uint32_t enough_of_all = (samples + 1) / 2 * kinds_;
    mine.say(step, true);
    while (timed < samples * kinds_) {
      const bool enough = timed >= enough_of_all;
      const bool anew = step % 2 == 0;
      const auto kind = static_cast<Kind>(step / 2 % kinds_);  // by the word: both take the same
      if (anew && !reaches(theirs, step, enough, until)) break;
      const Clock::time_point start = Clock::now();
      if (start > until) break;
      if (anew) {
        write(kind, mine);
        mine.say(++step, true);
      }
      if (!reaches(theirs, step, enough, until)) break;
      if (!read(kind, other, theirs)) break;
      mine.say(++step, true);
      if (!anew) continue;  // begun the last time
      if (!reaches(theirs, step, enough, until)) break;
      const std::chrono::nanoseconds took = Clock::now() - start;
      least[kind] = std::min<std::int64_t>(least[kind], took.count());
      ++timed;
    }
    mine.say(step, false);
    return timed >= enough_of_all;
  }

  void write(Kind kind, Part& mine) noexcept {
    if (kind > streamed) return;
    const CopyRule rule = CopyRule::by(kind == plain ? CopyMethod::plain : CopyMethod::streamed);
    copy_for_others(rule, mine.sample, mine_.data(), sample_bytes);
  }

  /// False: the kernel does not copy.
  bool read(Kind kind, int other, const Part& theirs) noexcept {
    std::byte* const to = mine_.data() + sample_bytes;
    if (kind <= streamed) std::memmove(to, theirs.sample, sample_bytes);
    if (kind < pulled) return true;
    try {
      peers_.pull(to, other, theirs.address.load(std::memory_order_relaxed),
                  kind == pulled ? sample_bytes : short_bytes);
    } catch (const failed_copy&) {
      return false;
    }
    return true;
  }

  std::byte* memory_;
  int rank_;
  int ranks_;
  std::uint32_t kinds_;  ///< how many are tried
  PeerMemory peers_;
  std::vector<std::byte> mine_;  ///< what is written, then what is read
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
