#pragma once

#include <papcoll/base/copying.hpp>
#include <papcoll/config.hpp>

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

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Which way of copying gets data to other ranks of the node sooner, plain or streamed? One rank's
/// side of a trial between pairs of ranks.
///
/// Both write a sample for the other, tell, read the other's, and tell: 16 KB, by either method in
/// turn, some nine times each. The least time counts, of writing and reading together, since a
/// streamed write delays its writer little and its reader much. A rank does so with two others: its
/// number with the lowest bit turned, who mostly sits beside it, and with the highest, who mostly
/// sits far away; what it writes is read by both kinds, so that the lower sum decides.
///
///     8 ranks, near   0-1  2-3  4-5  6-7
///              far    0-4  1-5  2-6  3-7
///
/// Nobody waits for long: a rank that does not meet its partner in time knows as much as before,
/// and the pair goes on, the next time, at the step where it stopped. Whoever has enough leaves and
/// says so, for its partner may have counted otherwise.
///
/// Cost: 18 exchanges of 16 KB a pair, of 2 to 5 µs each.
class CopyProbe {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::size_t sample_bytes = 16384;
  static constexpr int pairs = 2;
  static constexpr std::uint32_t samples = 9;  ///< of each method; two steps each; half is enough
  /// A pair that shares no processor needs 90 µs at most; the rest is for those who come later, or
  /// lose their processor for a moment.
  static constexpr std::chrono::nanoseconds patience{900'000};

  /// Of memory that begins as zeros, for all ranks of the node.
  static constexpr std::size_t bytes(int ranks) noexcept {
    return static_cast<std::size_t>(ranks) * pairs * sizeof(Part);
  }

  /// Where the parts lie in it that this rank writes; those of `partner()` are the others it needs.
  static constexpr std::size_t offset(int rank) noexcept { return bytes(rank); }
  static constexpr std::size_t bytes_a_rank() noexcept { return bytes(1); }

  /// The rank it is tried with, in pair 0 or 1; −1: none. Every rank of several has one.
  static constexpr int partner(int rank, int ranks, int pair) noexcept {
    int bit = 1;
    while (pair == 1 && 2 * bit < ranks) bit *= 2;
    const int other = rank ^ bit;
    return other < ranks && (pair == 0 || bit > 1) ? other : -1;
  }

  CopyProbe(std::byte* memory, int rank, int ranks)
      : memory_(memory), rank_(rank), ranks_(ranks), mine_(2 * sample_bytes) {}

  /// Finds the faster method. False: too few exchanges were made to tell. All ranks should come at
  /// about the same time; it takes no longer than `limit`, of which each pair has its part.
  bool run(CopyMethod& faster, std::chrono::nanoseconds limit = patience) noexcept {
    Times sum{};
    bool any = false;
    const bool both = partner(rank_, ranks_, 0) >= 0 && partner(rank_, ranks_, 1) >= 0;
    for (int pair = 0; pair < pairs; ++pair) {
      const int other = partner(rank_, ranks_, pair);
      if (other < 0) continue;
      const auto until = Clock::now() + (both ? limit / 2 : limit);
      Times least{never, never};
      if (!exchange(part(rank_, pair), part(other, pair), until, least)) continue;
      any = true;
      for (std::size_t m = 0; m < sum.size(); ++m) sum[m] += least[m];
    }
    faster = sum[1] < sum[0] ? CopyMethod::streamed : CopyMethod::plain;
    return any;
  }

 private:
  using Times = std::array<std::int64_t, 2>;  ///< ns, by plain and streamed copies
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

  /// Has the partner gone that far? Not by `until`, or, if this rank has `enough`, not before it
  /// left: false.
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

  /// Lowers `least` to the least times. False: there were too few exchanges.
  bool exchange(Part& mine, const Part& theirs, Clock::time_point until, Times& least) noexcept {
    static constexpr std::array<CopyRule, 2> rules{CopyRule::by(CopyMethod::plain),
                                                   CopyRule::by(CopyMethod::streamed)};
    std::uint64_t step = mine.word.load(std::memory_order_relaxed) / 2;
    std::uint32_t timed = 0;
    mine.say(step, true);
    while (timed < 2 * samples) {
      const bool enough = timed >= samples;
      const bool anew = step % 2 == 0;
      const std::size_t method = step / 2 % 2;  // by the word, so that both take the same
      if (anew && !reaches(theirs, step, enough, until)) break;
      const Clock::time_point start = Clock::now();
      if (anew) {
        copy_for_others(rules[method], mine.sample, mine_.data(), sample_bytes);
        mine.say(++step, true);
      }
      if (!reaches(theirs, step, enough, until)) break;
      std::memmove(mine_.data() + sample_bytes, theirs.sample, sample_bytes);
      mine.say(++step, true);
      if (!anew) continue;  // begun the last time
      if (!reaches(theirs, step, enough, until)) break;
      const std::chrono::nanoseconds took = Clock::now() - start;
      least[method] = std::min<std::int64_t>(least[method], took.count());
      ++timed;
    }
    mine.say(step, false);
    return timed >= samples;
  }

  std::byte* memory_;
  int rank_;
  int ranks_;
  std::vector<std::byte> mine_;  ///< what is written, then what is read
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
