// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/arrival_monitor.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/copying.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/peer_probe.hpp>
#include <papcoll/node/waiting/waiter.hpp>
#include <papcoll/topology/processor_set.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// When a rank of a team tries what signals and copies between the ranks of its node cost: soon
/// after the beginning, and again every few thousand calls, since a host may move the processors of
/// a virtual machine. All decide by what they have agreed on, so that they make a trial in the same
/// call. Ranks that share processors make none: their times would be meaningless.
///
///     evaluation 2                    3
///     rank 0    tries, says           counts what all have said
///     rank 1    tries, says           counts what all have said
///
/// So all come to the same costs in the same call: see ProcessorCensus. How a rank copies where its
/// processor does not say which way is fast, it decides for itself.
class PeerTrials {
 public:
  /// Of the looks that ranks take at what happened, one in some 16 calls, those with a trial: these
  /// soon after the beginning, for pairs that had no exchange there, and then every `period`-th.
  static constexpr std::array<std::uint32_t, 3> early{2, 8, 32};
  static constexpr std::uint32_t period = 256;
  /// But not without so many calls of more than 1 KB since the last one, of those that are watched:
  /// a trial costs as much as hundreds of short calls, and is of no use to them.
  static constexpr std::uint32_t enough = 64;

  [[gnu::cold]] PeerTrials(const Node& node, NodeControlBlock control)
      : node_(node), control_(control), choice_(node.copies) {
    if (choice_->is_probed()) make_probe();
  }

  /// Called when all ranks have just waited for each other.
  void begin(const Waiter& waiter) noexcept {
    if (probe_) run(waiter);
  }

  /// All ranks have just made evaluation number `evaluations`, and seen that many calls
  /// so far that were longer than 1 KB. `wanted`: costs decide what runs, on all ranks or none.
  /// Returns true, on all ranks, if costs are known that clearly differ from those before.
  bool on_evaluation(const Waiter& waiter, std::uint32_t evaluations, std::uint32_t longer_calls,
                     bool wanted) noexcept {
    if (evaluations == tried_at_ + 1) return wanted && count();
    const bool is_early = (!are_told_ || choice_->is_probed()) &&
                          std::find(early.begin(), early.end(), evaluations) != early.end();
    if (!is_early && evaluations % period != 0) return false;
    if (longer_calls - longer_calls_ < (is_early ? 1 : enough)) return false;
    if (!wanted && !choice_->is_probed()) return false;
    longer_calls_ = longer_calls;
    tried_at_ = evaluations;
    if (!probe_) make_probe();
    run(waiter);
    return false;
  }

  const PeerCosts& costs() const noexcept { return costs_; }
  /// They were found before, on this machine: unless some were found meanwhile, the first trials
  /// are left out. In the same call on all ranks.
  void begin_with(const PeerCosts& costs) noexcept {
    if (costs_ != usual_peer_costs) return;
    costs_ = costs;
    are_told_ = true;
  }

 private:
  using Word = std::uint64_t;

  /// Without room in shared memory, or memory, nothing is tried.
  [[gnu::cold, gnu::noinline]] void make_probe() noexcept {
    if (node_.peer_probe == nullptr || node_.size < 2) return;
    try {
      reserve(node_.rank);
      for (int pair = 0; pair < PeerProbe::pairs; ++pair) {
        const int other = PeerProbe::partner(node_.rank, node_.size, pair);
        if (other >= 0) reserve(other);
      }
      probe_ = make_owned<PeerProbe>(node_.peer_probe, node_.rank, node_.size, node_.peers);
    } catch (const system_error&) {
      return;
    } catch (const std::bad_alloc&) {
      return;
    }
  }
  void reserve(int rank) const {
    node_.reserve(node_.peer_probe + PeerProbe::offset(rank), PeerProbe::bytes_a_rank());
  }

  [[gnu::noinline, gnu::cold]] void run(const Waiter& waiter) noexcept {
    auto& said = control_.arrivals(node_.rank).costs;
    said.store(0, std::memory_order_relaxed);
    if (!probe_ || waiter.oversubscribed || waiter.yield_took > waiter.times.given_away) return;
    PeerProbe::Found found;
    if (!probe_->run(found)) return;
    if (choice_->is_probed()) choice_->found(found.faster);
    said.store(packed(found), std::memory_order_relaxed);
  }

  // 0: nothing is known. A value that does not fit is stored as the largest that does.
  static constexpr unsigned bits = 16;
  static constexpr Word most = (Word{1} << bits) - 1;
  static Word packed(const PeerProbe::Found& f) noexcept {
    Word word = 0;
    for (const std::uint32_t x : {f.signal_ns, f.copy_ps, f.pull_ns, f.pull_ps}) {
      word = word << bits | std::min<Word>(x, most);
    }
    return word;
  }

  /// Takes the median of what the ranks have published, each part by itself.
  [[gnu::noinline, gnu::cold]] bool count() noexcept {
    PeerCosts now = costs_;
    const std::array parts{&PeerCosts::pull_ps, &PeerCosts::pull_ns, &PeerCosts::read_ps,
                           &PeerCosts::signal_ns};
    bool is_another = false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::uint32_t said = middle(static_cast<unsigned>(i) * bits);
      std::uint32_t& part = now.*parts[i];
      if (said == 0 || (said < part + part / 2 && part < said + said / 2)) continue;
      part = said;
      is_another = true;
    }
    now.write_ps = now.read_ps;
    costs_ = now;
    return is_another;
  }

  /// 0: no rank knows.
  std::uint32_t middle(unsigned shift) const noexcept {
    const auto said = [&](int r) {
      const Word word = control_.arrivals(r).costs.load(std::memory_order_relaxed);
      return static_cast<std::uint32_t>(word >> shift & most);
    };
    // The one of which as many are below as above, without room to sort them.
    std::uint32_t best = 0;
    int least = control_.ranks() + 1;
    for (int r = 0; r < control_.ranks(); ++r) {
      const std::uint32_t x = said(r);
      if (x == 0) continue;
      int balance = 0;
      for (int other = 0; other < control_.ranks(); ++other) {
        const std::uint32_t y = said(other);
        if (y != 0) balance += y < x ? -1 : y > x ? 1 : 0;
      }
      const int off = balance < 0 ? -balance : balance;
      if (off < least || (off == least && x < best)) {
        least = off;
        best = x;
      }
    }
    return best;
  }

  const Node& node_;
  NodeControlBlock control_;
  Shared<CopyChoice> choice_;
  Owned<PeerProbe> probe_;  ///< null: nothing was tried, or can be
  PeerCosts costs_;
  bool are_told_ = false;           ///< by begin_with()
  std::uint32_t longer_calls_ = 0;  ///< before the last trial
  std::uint32_t tried_at_ = ~std::uint32_t{1};
};

/// How the ranks of a node notice that they were bound to other processors since their team was
/// made: with every `period`-th evaluation of arrivals they count anew on how many processors they
/// may run, by what each has stored about itself.
///
///     evaluation 1              …  15              16               …  31
///     rank 0    counts those       says its own    counts those        says its own
///     rank 1    of all             says its own    of all              says its own
///
/// So all come to the same number in the same call: at evaluation 16 a rank has entered a call
/// which nobody enters before all have left that of evaluation 15, and what is said there changes
/// no sooner than at evaluation 31, when all have left that of evaluation 16. What is counted first
/// was said when the team was made.
class ProcessorCensus {
 public:
  static constexpr std::uint32_t period = 16;
  static_assert(ArrivalMonitor::period >= NodeControlBlock::epoch_slots);

  ProcessorCensus(NodeControlBlock control, int rank)
      : control_(control), rank_(rank), all_(static_cast<std::size_t>(control.ranks())) {
    say();
  }

  /// At evaluation number `evaluations`, from 1 on, in its call. Returns true, on all ranks, if
  /// their number of processors has changed.
  bool on_evaluation(std::uint32_t evaluations) noexcept {
    if (evaluations % period == period - 1) {
      try {
        say();
      } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it says so later
      }
    }
    if (evaluations % period != 0 && evaluations != 1) return false;
    const std::size_t before = processors_;
    processors_ = count();
    return evaluations != 1 && processors_ != before;
  }

  /// On how many processors the ranks may run; 0: unknown.
  std::size_t processors() const noexcept { return processors_; }

 private:
  using Words = std::array<std::uint64_t, 2>;
  static_assert(sizeof(Words) == sizeof(BoundProcessors));

  [[gnu::cold]] std::size_t count() noexcept {
    for (std::size_t r = 0; r < all_.size(); ++r) {
      const auto& bound = control_.processors(static_cast<int>(r)).bound;
      all_[r] = std::bit_cast<BoundProcessors>(Words{bound[0].load(std::memory_order_relaxed),
                                                     bound[1].load(std::memory_order_relaxed)});
    }
    return count_processors(all_);
  }

  [[gnu::cold]] void say() {
    const auto words = std::bit_cast<Words>(BoundProcessors::of(ProcessorSet::of_this_thread()));
    auto& bound = control_.processors(rank_).bound;
    for (std::size_t i = 0; i < words.size(); ++i) {
      bound[i].store(words[i], std::memory_order_relaxed);
    }
  }

  NodeControlBlock control_;
  int rank_;
  Vector<BoundProcessors> all_;  ///< memory, by rank
  std::size_t processors_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
