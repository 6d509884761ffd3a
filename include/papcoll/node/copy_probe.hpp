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
#include <optional>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// Which way of copying gets data to other ranks of the node sooner, plain or streamed? One rank's
/// side of a trial between pairs of ranks.
///
/// Both write a sample for the other, tell, read the other's, and tell: 16 KB, by either method in
/// turn, nine times each. The least time counts, of writing and reading together, since a streamed
/// write delays its writer little and its reader much. A rank does so with two others: its number
/// with the lowest bit turned, who mostly sits beside it, and with the highest, who mostly sits far
/// away; what it writes is read by both kinds, so that the lower sum decides.
///
///     8 ranks, near   0-1  2-3  4-5  6-7
///              far    0-4  1-5  2-6  3-7
///
/// Nobody waits for long: a rank that does not meet its partner in time knows as much as before,
/// and the pair goes on, the next time, where it stopped.
///
/// Cost: 18 exchanges of 16 KB a pair, of 2 to 5 µs each.
class CopyProbe {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::size_t sample_bytes = 16384;
  static constexpr int pairs = 2;
  static constexpr std::uint32_t samples = 9;  ///< of each method; two steps each
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

  /// The faster method, if enough exchanges were made to tell. All ranks should come at about the
  /// same time; it takes no longer than `limit`, of which each pair has its part.
  std::optional<CopyMethod> run(std::chrono::nanoseconds limit = patience) noexcept {
    Times sum{};
    bool any = false;
    const bool both = partner(rank_, ranks_, 0) >= 0 && partner(rank_, ranks_, 1) >= 0;
    for (int pair = 0; pair < pairs; ++pair) {
      const int other = partner(rank_, ranks_, pair);
      if (other < 0) continue;
      const auto until = Clock::now() + (both ? limit / 2 : limit);
      const Times least = exchange(part(rank_, pair), part(other, pair), until);
      if (least[0] == never || least[1] == never) continue;
      any = true;
      for (std::size_t m = 0; m < sum.size(); ++m) sum[m] += least[m];
    }
    if (!any) return std::nullopt;
    return sum[1] < sum[0] ? CopyMethod::streamed : CopyMethod::plain;
  }

 private:
  using Times = std::array<std::int64_t, 2>;  ///< ns, by plain and streamed copies
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  /// What one rank of a pair writes for the other.
  struct Part {
    // 2i + 1: sample i is written; 2i + 2: and the partner's is read. It begins at 0 and wraps.
    // Invariants: a rank writes sample i only when the partner's word says that it has read sample
    // i − 1, and reads sample i only when the word says that it is written. Released by its rank
    // after the bytes, acquired by the partner before it touches them; no other order is needed,
    // since nobody sleeps on it.
    alignas(256) std::atomic<std::uint32_t> word;
    alignas(256) std::byte sample[sample_bytes];
  };
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

  Part& part(int rank, int pair) const noexcept {
    const std::size_t number =
        static_cast<std::size_t>(rank) * pairs + static_cast<std::size_t>(pair);
    return *std::launder(reinterpret_cast<Part*>(memory_ + number * sizeof(Part)));
  }

  /// Has the word come that far? Not by `until`: false.
  static bool await(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                    Clock::time_point until) noexcept {
    for (unsigned spins = 1;; ++spins) {
      const std::uint32_t ahead = word.load(std::memory_order_acquire) - value;
      if (static_cast<std::int32_t>(ahead) >= 0) return true;
      if (spins % 64 == 0 && Clock::now() > until) return false;
      cpu_pause();
    }
  }

  /// The least times of exchanges that were not interrupted; never: there were none. Ends at a step
  /// that both know, wherever they stopped before.
  Times exchange(Part& mine, const Part& theirs, Clock::time_point until) noexcept {
    static constexpr std::array<CopyRule, 2> rules{CopyRule::by(CopyMethod::plain),
                                                   CopyRule::by(CopyMethod::streamed)};
    Times least{never, never};
    std::uint32_t step = mine.word.load(std::memory_order_relaxed);  // only this rank writes it
    do {
      const bool anew = step % 2 == 0;
      const std::size_t method = step / 2 % 2;  // by the word, so that both take the same
      if (anew && !await(theirs.word, step, until)) break;
      const Clock::time_point start = Clock::now();
      if (anew) {
        copy_for_others(rules[method], mine.sample, mine_.data(), sample_bytes);
        mine.word.store(++step, std::memory_order_release);
      }
      if (!await(theirs.word, step, until)) break;
      std::memmove(mine_.data() + sample_bytes, theirs.sample, sample_bytes);
      mine.word.store(++step, std::memory_order_release);
      if (!anew || !await(theirs.word, step, until)) continue;
      const std::chrono::nanoseconds took = Clock::now() - start;
      least[method] = std::min<std::int64_t>(least[method], took.count());
    } while (step % (4 * samples) != 0);
    return least;
  }

  std::byte* memory_;
  int rank_;
  int ranks_;
  std::vector<std::byte> mine_;  ///< what is written, then what is read
};

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
