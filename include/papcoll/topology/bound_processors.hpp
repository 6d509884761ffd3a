#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/topology/processor_set.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The processors that a rank may run on, in the few bytes that all ranks tell each other: ranges,
/// of which the last one stands for all that are left. All zeros: unknown.
struct BoundProcessors {
  struct Run {
    std::uint16_t first = 0;
    std::uint16_t count = 0;
    friend bool operator==(const Run&, const Run&) = default;
  };
  /// In the last count: those that are left are not neighbours, and where they lie is not told.
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

/// Are there more ranks than processors? Not if it is unknown how many these are: 0.
constexpr bool outnumber(std::size_t ranks, std::size_t processors) noexcept {
  return processors != 0 && ranks > processors;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
