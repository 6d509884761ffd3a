#pragma once

#include <papcoll/arrival/arrival_monitor.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/topology/processor_set.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// How the ranks of a board notice that they were bound to other processors since their team was
/// made: with every `period`-th look at arrivals they count anew on how many processors they may
/// run, by what each has said of itself.
///
///     look      1               …  15              16               …  31
///     rank 0    counts those       says its own    counts those        says its own
///     rank 1    of all             says its own    of all              says its own
///
/// So all come to the same number in the same call: at look 16 a rank has entered a call which
/// nobody enters before all have left that of look 15, and what is said there changes no sooner
/// than at look 31, when all have left that of look 16. What is counted first was said when the
/// team was made.
class ProcessorCensus {
 public:
  static constexpr std::uint32_t period = 16;
  static_assert(ArrivalMonitor::period >= NodeBoard::frames);

  ProcessorCensus(NodeBoard board, int rank)
      : board_(board), rank_(rank), all_(static_cast<std::size_t>(board.ranks())) {
    say();
  }

  /// At the `looks`-th look, from 1 on, in its call. Returns true, on all ranks, if their number of
  /// processors has changed.
  bool look(std::uint32_t looks) noexcept {
    if (looks % period == period - 1) {
      try {
        say();
      } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it says so later
      }
    }
    if (looks % period != 0 && looks != 1) return false;
    const std::size_t before = processors_;
    processors_ = count();
    return looks != 1 && processors_ != before;
  }

  /// On how many processors the ranks may run; 0: unknown.
  std::size_t processors() const noexcept { return processors_; }

 private:
  using Words = std::array<std::uint64_t, 2>;
  static_assert(sizeof(Words) == sizeof(BoundProcessors));

  [[gnu::cold]] std::size_t count() noexcept {
    for (std::size_t r = 0; r < all_.size(); ++r) {
      const auto& bound = board_.processors(static_cast<int>(r)).bound;
      all_[r] = std::bit_cast<BoundProcessors>(Words{bound[0].load(std::memory_order_relaxed),
                                                     bound[1].load(std::memory_order_relaxed)});
    }
    return count_processors(all_);
  }

  [[gnu::cold]] void say() {
    const auto words = std::bit_cast<Words>(BoundProcessors::of(ProcessorSet::of_this_thread()));
    auto& bound = board_.processors(rank_).bound;
    for (std::size_t i = 0; i < words.size(); ++i) {
      bound[i].store(words[i], std::memory_order_relaxed);
    }
  }

  NodeBoard board_;
  int rank_;
  detail::Vector<BoundProcessors> all_;  ///< memory, by rank
  std::size_t processors_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
