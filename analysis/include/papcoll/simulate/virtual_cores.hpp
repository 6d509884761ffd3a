// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/simulate/fibers.hpp>
#include <papcoll/simulate/node_costs.hpp>
#include <papcoll/simulate/virtual_caches.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The processors of a node in virtual time, one for each rank, and who of them does the next
/// thing: always the one whose clock is least. So whatever ranks do to words that they share
/// happens in the order of time, whichever of them is run first.
class VirtualCores {
 public:
  /// The one whose ranks run now; null: none. What ranks touch reaches it through static functions.
  static VirtualCores*& running() noexcept {
    static thread_local VirtualCores* now = nullptr;
    return now;
  }

  VirtualCores(const std::byte* memory, std::size_t bytes, std::size_t ranks,
               std::vector<int> colours, const NodeCosts& costs, bool moves_data)
      : costs_(costs),
        moves_data_(moves_data),
        caches_(memory, bytes, ranks, std::move(colours), costs),
        fibers_(ranks),
        ranks_(ranks) {}

  /// Runs body(rank) on each from its time in `arrivals` on. Throws what a body throws, and error
  /// if ranks wait for each other for ever.
  void run(const std::vector<double>& arrivals, const std::function<void(std::size_t)>& body) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      Rank& rank = ranks_[r];
      rank.clock = arrivals[r];
      rank.asleep = rank.ended = false;
      rank.expected.clear();
    }
    const Running while_it_lives{*this};
    const std::function<std::size_t()> next = [this] {
      ranks_[current_].ended = true;
      return take_next();
    };
    const std::size_t first = take_next();
    fibers_.run(body, next, first);
  }

  // --- for the rank that runs

  std::size_t rank() const noexcept { return current_; }
  double now() const noexcept { return ranks_[current_].clock; }
  const NodeCosts& costs() const noexcept { return costs_; }
  VirtualCaches& caches() noexcept { return caches_; }
  /// Returns true if the bytes of calls are moved and combined. Short ones, which may be words,
  /// always are.
  bool moves(std::size_t n) const noexcept { return moves_data_ || n <= words; }

  /// Its processor is busy.
  void spend(double seconds) noexcept { ranks_[current_].clock += seconds; }

  /// Repeats step() until it is true. When that has found nothing to do, the rank's clock goes on
  /// to when another one writes to a line that it has looked at.
  template <class Step> void wait(Step&& step) {
    Rank& me = ranks_[current_];
    for (;;) {
      me.disturbed = false;
      if (step()) return;
      if (me.disturbed) {
        me.clock += costs_.poll;
        give_way();
      } else {
        sleep();
      }
    }
  }

  /// The rank looks at a word.
  void load(const void* p) {
    if (!caches_.contain(p)) return spend(costs_.hit);
    const std::size_t found = caches_.to_read(current_, p);
    spend(found == here ? costs_.hit : pair(found).fetch);
    wait_for_prefetches(static_cast<const std::byte*>(p), 1);
    give_way();
    caches_.read(current_, p, found);
  }

  /// The rank changes a word; `stalls`: it waits until the line is its own.
  void store(const void* p, bool stalls) {
    if (!caches_.contain(p)) return spend(costs_.hit);
    const std::size_t found = caches_.to_write(current_, p);
    spend(!stalls ? costs_.hit : found == here ? costs_.locked : pair(found).take);
    give_way();
    wake_holders(p);
    caches_.write(current_, p, found);
  }

  /// It will read the line, and does not wait for it.
  void prefetch(const void* p) {
    if (!caches_.contain(p)) return;
    const std::size_t found = caches_.to_read(current_, p);
    if (found == here) return;
    ranks_[current_].expected.emplace_back(line_of(p), now() + pair(found).fetch);
    caches_.read(current_, p, found);
  }

  /// It will write them, and does not wait for them.
  void prefetch_to_write(const std::byte* p, std::size_t n) {
    if (caches_.contain(p)) caches_.write_all(current_, p, n);
  }

  /// A copy that it makes.
  void copy(std::byte* to, const std::byte* from, std::size_t n) {
    wait_for_prefetches(from, n);
    const VirtualCaches::Bytes read = caches_.read_all(current_, from, n);
    const VirtualCaches::Bytes written = caches_.write_all(current_, to, n);
    const auto bytes = static_cast<double>(n);
    spend(costs_.copy(bytes) + elsewhere(read, bytes) + elsewhere(written, bytes));
  }

  /// A copy past the caches.
  void stream(std::byte* to, const std::byte* from, std::size_t n) {
    const VirtualCaches::Bytes read = caches_.read_all(current_, from, n);
    if (caches_.contain(to)) caches_.write_past(to, n);
    const auto bytes = static_cast<double>(n);
    spend(std::max(costs_.copy(bytes), costs_.memory_per_byte * bytes / 2) +
          elsewhere(read, bytes));
  }

  /// A combination: bytes of one operand.
  void combine(std::byte* out, const std::byte* low, const std::byte* high, std::size_t n) {
    wait_for_prefetches(low, n);
    wait_for_prefetches(high, n);
    const auto bytes = static_cast<double>(n);
    double seconds = costs_.combine(bytes);
    seconds += elsewhere(caches_.read_all(current_, low, n), bytes);
    if (high != low) seconds += elsewhere(caches_.read_all(current_, high, n), bytes);
    const VirtualCaches::Bytes written = caches_.write_all(current_, out, n);
    if (out != low && out != high) seconds += elsewhere(written, bytes);
    spend(seconds);
  }

 private:
  static constexpr std::size_t words = 256;
  static constexpr std::size_t here = VirtualCaches::number(VirtualCaches::Found::here);

  struct Rank {
    double clock = 0;
    double slept_since = 0;
    bool asleep = false;
    bool ended = false;
    bool disturbed = false;  ///< a line that it holds was written since its last look
    std::vector<std::pair<std::uintptr_t, double>> expected;  ///< lines under way, and when here
  };

  /// As long as it lives, ranks reach these cores.
  class Running : Pinned {
   public:
    explicit Running(VirtualCores& cores) noexcept : before_(running()) { running() = &cores; }
    ~Running() { running() = before_; }

   private:
    VirtualCores* before_;
  };

  static std::uintptr_t line_of(const void* p) noexcept {
    return reinterpret_cast<std::uintptr_t>(p) / cache_line;
  }

  const PairCosts& pair(std::size_t found) const noexcept {
    return costs_.between(!VirtualCaches::is_cross_l3(found));
  }

  /// Returns how much longer than within its own cache it takes to touch n bytes that are found so.
  double elsewhere(const VirtualCaches::Bytes& found, double n) const noexcept {
    double seconds = 0;
    const double own = costs_.copy(n);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (i == here || found[i] == 0) continue;
      seconds += found[i] / n * std::max(0.0, touching(i, n) - own);
    }
    return seconds;
  }

  /// A copy of n bytes of which one side is found so, and the other is here.
  double touching(std::size_t found, double n) const noexcept {
    using Found = VirtualCaches::Found;
    // There, both sides were.
    if (found == VirtualCaches::number(Found::shared)) {
      return (costs_.copy_shared_cache(n) + costs_.copy(n)) / 2;
    }
    if (found == VirtualCaches::number(Found::memory)) {
      return (costs_.memory_per_byte * n + costs_.copy(n)) / 2;
    }
    const PairCosts& costs = pair(found);
    const CostBySize* const tables[] = {&costs.read,       &costs.reread,     &costs.write,
                                        &costs.write_lent, &costs.write_over, &costs.write_after};
    return (*tables[(found - 3) % VirtualCaches::of_a_pair])(n);
  }

  /// Waits for a line that was asked for before.
  void wait_for_prefetches(const std::byte* p, std::size_t n) noexcept {
    if (n != 0) wait_for_lines(line_of(p), line_of(p + n - 1));
  }
  void wait_for_lines(std::uintptr_t first, std::uintptr_t last) noexcept {
    Rank& me = ranks_[current_];
    for (std::size_t i = 0; i < me.expected.size();) {
      const auto [line, arrival] = me.expected[i];
      if (line < first || line > last) {
        ++i;
        continue;
      }
      // One that was taken away meanwhile is fetched again, as it was never here.
      if (caches_.holds(current_, reinterpret_cast<const void*>(  // NOLINT
                                      line * cache_line))) {
        me.clock = std::max(me.clock, arrival);
      }
      me.expected[i] = me.expected.back();
      me.expected.pop_back();
    }
  }

  /// Wakes the core that holds the line and waits.
  void wake_holders(const void* p) noexcept {
    const RankSet& holders = caches_.holders(p);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (r == current_ || !holders.has(r)) continue;
      Rank& other = ranks_[r];
      other.disturbed = true;
      if (!other.asleep) continue;
      other.asleep = false;
      const PairCosts& costs = costs_.between(caches_.share_l3(r, current_));
      const double seen = std::max(0.0, costs.signal - costs.take - costs.fetch);
      double at = std::max(other.clock, now()) + seen;
      if (now() - other.slept_since > costs_.sleeps_after) at += costs_.wake;
      other.clock = at;
      others_ = std::min(others_, at);
    }
  }

  /// Those whose clocks are behind do what they do before.
  void give_way() {
    if (others_ >= ranks_[current_].clock) return;
    go_to(take_next());
  }

  void sleep() {
    Rank& me = ranks_[current_];
    me.asleep = true;
    me.slept_since = me.clock;
    const std::size_t next = take_next();
    if (next == ranks_.size())
      throw error("papcoll: in virtual time, the ranks of a node wait for each other");
    go_to(next);
  }

  void go_to(std::size_t next) {
    if (next != fibers_.current()) fibers_.switch_to(next);
  }

  /// Returns the one whose clock is least, which continues; count() if there is none.
  std::size_t take_next() noexcept {
    std::size_t next = ranks_.size();
    double least = std::numeric_limits<double>::max();
    others_ = least;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (ranks_[r].asleep || ranks_[r].ended) continue;
      if (ranks_[r].clock < least) {
        others_ = least;
        least = ranks_[r].clock;
        next = r;
      } else {
        others_ = std::min(others_, ranks_[r].clock);
      }
    }
    if (next != ranks_.size()) current_ = next;
    return next;
  }

  const NodeCosts& costs_;
  bool moves_data_;
  VirtualCaches caches_;
  Fibers fibers_;
  std::vector<Rank> ranks_;
  std::size_t current_ = 0;
  double others_ = 0;  ///< the least clock of the others that can go on
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
