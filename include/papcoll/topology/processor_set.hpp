// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <sched.h>

namespace papcoll::inline PAPCOLL_ABI {

/// Processors, by Linux's numbers from 0 on. Unlike a cpu_set_t, which ends at 1024, it has room
/// for those of any machine.
class ProcessorSet {
 public:
  static constexpr int most = 1 << 16;  ///< numbers from here on are left out

  ProcessorSet() = default;

  /// Returns the processors that the calling thread may run on now; empty if the system does not
  /// say.
  [[gnu::cold]] static ProcessorSet of_this_thread() {
    // The kernel refuses a mask that is shorter than its own, whose length cannot be queried.
    for (std::size_t bits = CPU_SETSIZE; bits <= most; bits *= 2) {
      detail::Vector<Word> words(bits / word_bits);
      if (sched_getaffinity(0, bits / 8, reinterpret_cast<cpu_set_t*>(words.data())) == 0) {
        return ProcessorSet{std::move(words)};
      }
      if (errno != EINVAL) break;
    }
    return {};
  }

  /// Binds the calling thread to these processors. Returns false if the system refuses.
  bool bind_this_thread() const noexcept {
    return sched_setaffinity(0, words_.size() * sizeof(Word),
                             reinterpret_cast<const cpu_set_t*>(words_.data())) == 0;
  }

  void add(int processor) {
    if (processor < 0 || processor >= most) return;
    const auto p = static_cast<std::size_t>(processor);
    if (p / word_bits >= words_.size()) words_.resize(p / word_bits + 1);
    words_[p / word_bits] |= Word{1} << p % word_bits;
  }

  bool has(int processor) const noexcept {
    const auto p = static_cast<std::size_t>(processor);
    return processor >= 0 && p / word_bits < words_.size() &&
           (words_[p / word_bits] >> p % word_bits & 1U) != 0;
  }
  /// Returns true if all processors of `other` are in this set.
  bool has_all(const ProcessorSet& other) const noexcept {
    for (std::size_t i = 0; i < other.words_.size(); ++i) {
      if ((other.words_[i] & ~(i < words_.size() ? words_[i] : 0)) != 0) return false;
    }
    return true;
  }

  bool empty() const noexcept { return words_.empty(); }
  int count() const noexcept {
    int n = 0;
    for (const Word w : words_) n += std::popcount(w);
    return n;
  }
  /// The lowest processor; −1 if there is none.
  int lowest() const noexcept {
    int p = 0;
    while (p < end() && !has(p)) ++p;
    return p < end() ? p : -1;
  }
  /// No processor of the set has this number or a higher one.
  int end() const noexcept { return static_cast<int>(words_.size() * word_bits); }

  friend bool operator==(const ProcessorSet&, const ProcessorSet&) = default;

 private:
  using Word = unsigned long;  // as the kernel's
  static constexpr std::size_t word_bits = 8 * sizeof(Word);

  explicit ProcessorSet(detail::Vector<Word> words) : words_(std::move(words)) {
    while (!words_.empty() && words_.back() == 0) words_.pop_back();
  }

  detail::Vector<Word> words_;  ///< the last one is not 0
};

}  // namespace papcoll::inline PAPCOLL_ABI

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The processors that a rank may run on, in the few bytes that all ranks exchange: ranges, the
/// last of which covers all that are left. All zeros: unknown.
struct BoundProcessors {
  struct Run {
    std::uint16_t first = 0;
    std::uint16_t count = 0;
    friend bool operator==(const Run&, const Run&) = default;
  };
  /// In the last count: those that are left are not consecutive, and their numbers are not known.
  static constexpr std::uint16_t scattered = 0x8000;
  std::array<Run, 4> runs{};

  [[gnu::cold]] static BoundProcessors of(const ProcessorSet& set) noexcept {
    BoundProcessors b;
    std::size_t run = 0;
    int last = -2;
    for (int p = 0; p < set.end(); ++p) {
      if (!set.has(p)) continue;
      if (p != last + 1 && last >= 0) {
        if (run + 1 < b.runs.size()) {
          ++run;
        } else {
          b.runs[run].count |= scattered;
        }
      }
      if (b.runs[run].count++ == 0) b.runs[run].first = static_cast<std::uint16_t>(p);
      last = p;
    }
    return b;
  }

  bool is_known() const noexcept { return runs[0].count != 0; }

  friend bool operator==(const BoundProcessors&, const BoundProcessors&) = default;
};

/// Returns on how many processors ranks may run together; 0 if that is unknown of one of them. It
/// may be too many where sets are scattered and overlap, and never too few: a rank that is wrongly
/// taken to have a processor to itself finds in its waits that it has not. Allocates nothing.
[[gnu::cold]] inline std::size_t count_processors(std::span<const BoundProcessors> ranks) noexcept {
  using Word = std::uint64_t;
  constexpr int bits = 64;
  int end = 0;  // above all that are told: most machines have far less than the system may have
  for (const BoundProcessors& rank : ranks) {
    if (!rank.is_known()) return 0;
    for (const BoundProcessors::Run& run : rank.runs) {
      if ((run.count & BoundProcessors::scattered) == 0) end = std::max(end, run.first + run.count);
    }
  }
  const int words = (std::min(end, ProcessorSet::most) + bits - 1) / bits;
  std::array<Word, ProcessorSet::most / bits> told;  // NOLINT(*-member-init): the first `words`
  std::fill_n(told.begin(), words, Word{0});
  std::size_t count = 0;
  for (auto rank = ranks.begin(); rank != ranks.end(); ++rank) {
    for (const BoundProcessors::Run& run : rank->runs) {
      if ((run.count & BoundProcessors::scattered) == 0) {
        for (int p = run.first; p < run.first + run.count && p < ProcessorSet::most; ++p) {
          told[static_cast<std::size_t>(p / bits)] |= Word{1} << static_cast<unsigned>(p % bits);
        }
      } else if (std::find(ranks.begin(), rank, *rank) == rank) {  // many ranks have the same set
        count += run.count & (BoundProcessors::scattered - 1U);
      }
    }
  }
  for (int w = 0; w < words; ++w) {
    count += static_cast<std::size_t>(std::popcount(told[static_cast<std::size_t>(w)]));
  }
  return count;
}

/// Returns true if there are more ranks than processors; false if the number of processors is
/// unknown, 0.
constexpr bool outnumber(std::size_t ranks, std::size_t processors) noexcept {
  return processors != 0 && ranks > processors;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
