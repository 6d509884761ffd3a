// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/arrival_monitor.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/choice/selection/candidate_samples.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

/// Finds out by trying which candidate is the quickest for each kind of calls, and comes to the
/// same on all ranks of a team.
///
/// A kind begins with the first of its list. In some bursts of calls, which the number of the call
/// draws, another one runs; each rank notes what the call cost it, and at each evaluation of
/// ArrivalMonitor, or exchange of RemoteArrivalMonitor, all see the same costs. Whoever is much
/// slower is dropped after a few samples; among the others the median decides once each has enough.
/// Afterwards a call is timed now and then: if its cost is clearly another than it was, candidates
/// are tried again, but for the very slow. Those that were not far behind are tried again once all
/// the same, and after long, once, those that were not promising.
///
///     call       0 … 3   4 … 7   8 … 11   12 … 15  | evaluation
///     runs       first   second  first    third     | third is dropped: first, second
///
/// Invariant: what is here changes only in add() and evaluate(), which all ranks call in the same
/// call, by what is the same on all of them; pick() is a function of that, of the call and of its
/// number. So all ranks pick alike.
class CallLearner final : public CostListener {
 public:
  static constexpr std::size_t most_kinds = 128;

  // How much is tried, and how sure a choice is. What trying costs is measured by
  // benchmarks/parts/regret_bench.cpp, and what wrong choices cost by benchmarks/auto_grid.py.
  static constexpr std::uint32_t burst = 4;  ///< calls in a row that run the same candidate
  static constexpr std::uint32_t one_request_in = 16;   ///< so seldom a request tries another one
  static constexpr std::uint32_t samples_to_watch = 8;  ///< of the choice, before it is looked at
  static constexpr std::uint32_t unlisted_after = 128;  ///< calls without a sample
  // In evaluations:
  static constexpr std::uint32_t confirmed_after = 16;       ///< the first calls cost more
  static constexpr std::uint32_t widened_after = 256;        ///< then all that may run are tried
  static constexpr std::uint32_t forgotten_after = 4096;     ///< another kind may take its place
  static constexpr std::uint32_t first_pause = 256;          ///< before it is tried again
  static constexpr std::uint32_t longest_pause = 1U << 20U;  ///< it doubles each time

  /// Returns what a call of a kind runs. `epoch`: its number among the calls of the node or of the
  /// team.
  CallTrial pick(std::uint16_t kind, const Shortlist& list, std::uint32_t epoch) const noexcept {
    if (std::has_single_bit(list.allowed)) return {0, list.ids[0], 0};  // there is no choice
    CallTrial trial{kind, list.ids[0], 0};
    const Kind* const k = find(kind);
    if (k != nullptr && k->is_settled) {
      if ((list.allowed >> k->best & 1U) != 0) trial.candidate = k->best;
      return trial;
    }
    trial.candidates = list.count;
    if (k == nullptr) return trial;
    const std::uint32_t drawn = (epoch / burst + kind) * 0x9e3779b9U >> 16U;
    const std::uint16_t tried = k->is_wide ? list.allowed : list.listed();
    trial.candidates = static_cast<std::uint8_t>(std::min(std::popcount(tried), Kind::most_tried));
    if ((list.allowed >> k->best & 1U) != 0) trial.candidate = k->best;
    std::array<std::uint8_t, 16> others;
    std::size_t n = 0;
    for (unsigned left = tried; left != 0; left &= left - 1) {
      const auto id = static_cast<std::uint8_t>(std::countr_zero(left));
      if (id != trial.candidate && !k->is_dropped(id)) others[n++] = id;
    }
    // The costs of requests are exchanged seldom, and of few.
    constexpr CallKind::Bits request = CallKind::by_messages_bit | CallKind::non_blocking_bit;
    if ((kind & request) == request) {
      const std::uint32_t turn = drawn % one_request_in;
      if (turn > 1) trial.candidates = 0;
      if (n != 0 && turn == 0) trial.candidate = others[drawn / one_request_in % n];
    } else if (n != 0 && drawn % 2 == 0) {
      trial.candidate = others[drawn / 2 % n];
    }
    return trial;
  }

  /// Returns true if pick() gives the same for a kind until the next evaluation.
  bool is_settled(std::uint16_t kind) const noexcept {
    const Kind* const k = find(kind);
    return k != nullptr && k->is_settled;
  }

  /// A candidate that was tried.
  struct Tried {
    std::uint8_t candidate = 0;
    std::uint32_t calls = 0;  ///< whose cost was counted
    std::uint32_t ns = 0;     ///< the median of the last ones; 0: none
    bool is_dropped = false;
    bool is_best = false;
  };
  template <class F> void each_tried(std::uint16_t kind, F&& f) const {
    const Kind* const k = find(kind);
    if (k == nullptr) return;
    for (const Samples& s : k->tried) {
      if (s.id == Samples::none) return;
      const bool is_best = s.id == k->best;
      const std::uint32_t ns = s.count != 0 ? s.median() : is_best ? k->cost : 0;
      f(Tried{s.id, s.count, ns, s.is_dropped, is_best});
    }
  }

  /// Returns about the mean length of blocks in calls of a collective whose ranks know their own
  /// blocks only, as they were when last looked at; 0: unknown.
  std::size_t block_bytes(Collective c) const noexcept {
    const unsigned bits = block_bits_[static_cast<std::size_t>(c)];
    return bits == 0 ? 0 : std::size_t{1} << (bits - 1);
  }

  void add(const CallCost& cost) noexcept override {
    if (is_of_other_blocks(cost)) return;
    Kind* const k = find_or_begin(cost.trial);
    if (k == nullptr) return;
    if (k->seen != evaluations_ && touched_ < ArrivalMonitor::period) {
      touch_[touched_++] = static_cast<std::uint16_t>(k - kinds_.data());
    }
    k->seen = evaluations_;
    if (cost.trial.candidates != 0) k->candidates = cost.trial.candidates;
    ++k->calls;
    const bool tails = (cost.trial.kind & CallKind::imbalanced_bit) != 0;
    const std::uint64_t ns = tails ? cost.after_last : cost.in_call;
    Samples* const s = k->samples_of(cost.trial.candidate);
    if (s != nullptr) s->add(ns, k->calls);
  }

  void evaluate(std::uint32_t periods = 1) noexcept override {
    evaluations_ += periods;
    is_trying_ = false;
    for (; touched_ != 0; --touched_) {
      const std::uint16_t i = touch_[touched_ - 1];
      if (kinds_[i].evaluate(evaluations_, CallKind::calls_to_warm_up(keys_[i]))) ++changes_;
      is_trying_ = is_trying_ || !kinds_[i].is_settled;
    }
  }

  /// Returns true if the choice for a kind was set by begin_settled() and still holds.
  bool was_given(std::uint16_t kind) const noexcept {
    const Kind* const k = find(kind);
    return k != nullptr && k->is_settled && k->was_given;
  }

  /// What is known of a kind whose choice is made.
  struct Settled {
    static constexpr std::uint8_t none = 0xff;

    std::uint16_t kind = 0;
    std::uint8_t best = 0;
    std::uint32_t ns = 0;         ///< what it cost
    std::uint16_t very_slow = 0;  ///< bit i: candidate i is not tried again soon
  };
  template <class F> void each_settled(F&& f) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const Kind& k = kinds_[i];
      if (!k.is_settled) continue;
      Settled s{keys_[i], k.best, k.cost, 0};
      for (const Samples& t : k.tried) {
        const bool is_slow = t.id != Samples::none && t.is_dropped && t.pardons != 0;
        if (is_slow) s.very_slow |= static_cast<std::uint16_t>(1U << t.id);
      }
      f(s);
    }
  }
  /// Begins a kind of which nothing was seen yet, with a choice that was made before; it is watched
  /// as any other, from its first cost on: a rank on which a call was invalid may begin later.
  [[gnu::cold]] void begin_settled(const Settled& s) noexcept {
    if (find(s.kind) != nullptr) return;
    Kind* const begun = find_or_begin({s.kind, s.best, 0});
    if (begun == nullptr) return;
    Kind& k = *begun;
    k.is_settled = k.was_given = k.is_confirmed = true;
    k.cost = s.ns;
    static_cast<void>(k.samples_of(s.best));
    for (std::uint8_t id = 0; id < 16; ++id) {
      if ((s.very_slow >> id & 1U) == 0 || id == s.best) continue;
      Samples* const slow = k.samples_of(id);
      if (slow == nullptr) return;
      slow->is_dropped = true;
      slow->pardons = Samples::pardons_of_slow;
    }
  }

  void forget() noexcept {
    count_ = 0;
    ++changes_;
  }

 private:
  using Samples = detail::CandidateSamples;

  struct Kind {
    std::uint8_t candidates = 0;  ///< how many are listed
    std::uint8_t best = 0;
    bool is_settled = false;
    bool was_given = false;     ///< and not tried since
    bool is_wide = false;       ///< those that are not promising are tried, too
    bool is_confirmed = false;  ///< the choice was made again, with all that is warm
    std::uint32_t seen = 0;     ///< the evaluation before that with its last sample
    std::uint32_t since = 0;    ///< the evaluation at which the choice was made
    std::uint32_t again = 0;    ///< the first evaluation at which it may be tried again
    std::uint32_t pause = first_pause;
    std::uint32_t cost = 0;   ///< of the best, when the choice was made
    std::uint32_t calls = 0;  ///< whose cost was counted
    static constexpr int most_tried = 6;
    static_assert(most_tried <= CallTrial::most_tried);
    std::array<Samples, most_tried> tried{};

    Samples* samples_of(std::uint8_t id) noexcept {
      for (Samples& s : tried) {
        if (s.id == Samples::none) s.id = id;
        if (s.id == id) return &s;
      }
      return nullptr;
    }
    bool is_dropped(std::uint8_t id) const noexcept {
      return std::any_of(tried.begin(), tried.end(),
                         [id](const Samples& s) { return s.id == id && s.is_dropped; });
    }

    bool evaluate(std::uint32_t evaluations, std::uint32_t to_warm_up) noexcept {
      if (is_settled) return watch(evaluations);
      const std::uint8_t before = best;
      const std::uint32_t least = find_best();
      if (least == UINT32_MAX) return false;
      const bool is_warm = calls >= to_warm_up;
      const bool some_were_dropped = drop_slow(least, is_warm);
      if (!has_enough(is_warm)) return some_were_dropped || best != before;
      is_settled = true;
      cost = least;
      since = evaluations;
      if (again == 0) again = evaluations + pause;
      samples_of(best)->clear();
      return true;
    }

    /// Makes the candidate with the least median the best, and returns that median; UINT32_MAX: no
    /// candidate has enough samples.
    std::uint32_t find_best() noexcept {
      std::uint32_t least = UINT32_MAX;
      for (const Samples& s : tried) {
        if (s.is_dropped || s.count < Samples::to_compare || s.median() >= least) continue;
        least = s.median();
        best = s.id;
      }
      return least;
    }

    /// Drops the candidates that are slower than `least`, the best's cost, and those that are no
    /// longer listed. Returns true if there are some.
    bool drop_slow(std::uint32_t least, bool is_warm) noexcept {
      bool some_were_dropped = false;
      for (Samples& s : tried) {
        if (s.id == Samples::none || s.id == best || s.is_dropped) continue;
        const bool is_unlisted = calls - s.last > unlisted_after;
        if (!is_unlisted && !s.is_slower(least, is_warm)) continue;
        s.is_dropped = some_were_dropped = true;
        s.is_far = s.median() > least + least / 2;
        s.pardons = s.median() / Samples::very_slow > least ? Samples::pardons_of_slow : 0;
      }
      return some_were_dropped;
    }

    /// Returns true if all that are listed were tried, and one is left or each that is left has
    /// all samples that are kept.
    bool has_enough(bool is_warm) const noexcept {
      int known = 0;
      int left = 0;
      bool enough = is_warm;
      for (const Samples& s : tried) {
        if (s.id == Samples::none) continue;
        ++known;
        if (s.is_dropped) continue;
        ++left;
        enough = enough && s.count >= Samples::kept;
      }
      return known >= candidates && (left <= 1 || enough);
    }

    /// Returns true if the choice is to be made again.
    bool watch(std::uint32_t evaluations) noexcept {
      if (was_given && again == 0) {
        since = evaluations;
        again = evaluations + confirmed_after;
        return false;
      }
      if (!is_confirmed && evaluations - since >= confirmed_after) {
        is_confirmed = true;
        const bool some_were_near =
            std::any_of(tried.begin(), tried.end(), [this](const Samples& s) {
              return s.id != Samples::none && s.id != best && !s.is_far;
            });
        if (some_were_near) reopen(false);
        return some_were_near;
      }
      if (!is_wide && evaluations - since >= widened_after) {
        is_wide = true;
        is_settled = was_given = false;
        return true;
      }
      Samples& s = *samples_of(best);
      if (s.count < samples_to_watch) return false;
      const std::uint32_t now = s.median();
      s.clear();
      const bool is_as_it_was = now <= cost + cost / 2 && cost <= now + now / 2;
      if (is_as_it_was || evaluations - again > UINT32_MAX / 2) return false;
      pause = std::min(2 * pause, longest_pause);
      again = evaluations + pause;
      is_wide = false;
      reopen(true);
      return true;
    }
    /// Makes the candidates that were tried compete again, without the very slow ones, or with all
    /// that were far.
    void reopen(bool with_far) noexcept {
      is_settled = was_given = false;
      candidates = 0;
      for (Samples& t : tried) {
        t.clear();
        t.last = calls;
        if (!with_far && t.is_far) continue;
        if (t.pardons == 0) {
          t.is_dropped = t.is_far = false;
        } else {
          --t.pardons;
        }
      }
    }
  };

  /// Returns true if its blocks clearly differ in size from those of its kind. Later calls then
  /// belong to that kind.
  bool is_of_other_blocks(const CallCost& cost) noexcept {
    if (cost.block_bits == 0) return false;
    const auto differ = [](unsigned a, unsigned b) { return a > b + 1 || b > a + 1; };
    const Collective c = CallKind::collective_of(cost.trial.kind);
    std::uint8_t& bits = block_bits_[static_cast<std::size_t>(c)];
    if (bits == 0 || differ(bits, cost.block_bits)) {
      bits = cost.block_bits;
      ++changes_;
    }
    return differ((cost.trial.kind & CallKind::size_bits) >> 5U, cost.block_bits);
  }

  /// Returns the position of a kind; count_ if there is none.
  std::size_t place_of(std::uint16_t key) const noexcept {
    std::size_t i = 0;
    while (i < count_ && keys_[i] != key) ++i;
    return i;
  }
  const Kind* find(std::uint16_t key) const noexcept {
    const std::size_t i = place_of(key);
    return i < count_ ? &kinds_[i] : nullptr;
  }

  /// Returns the kind of a call, which begins if it is new; null if all places are taken by kinds
  /// that were seen lately.
  Kind* find_or_begin(const CallTrial& trial) noexcept {
    std::size_t i = place_of(trial.kind);
    if (i < count_) return &kinds_[i];
    if (count_ < most_kinds) {
      ++count_;
    } else {
      for (i = 0; i < count_ && evaluations_ - kinds_[i].seen <= forgotten_after;) ++i;
      if (i == count_) return nullptr;
    }
    ++changes_;
    keys_[i] = trial.kind;
    kinds_[i] = Kind{};
    kinds_[i].seen = evaluations_ - 1;
    kinds_[i].best = trial.candidate;
    return &kinds_[i];
  }

  std::array<Kind, most_kinds> kinds_{};                       ///< the first count_ are in use
  std::array<std::uint16_t, most_kinds> keys_{};               ///< theirs
  std::array<std::uint16_t, ArrivalMonitor::period> touch_{};  ///< those with new samples
  std::array<std::uint8_t, collective_count> block_bits_{};    ///< 0: see block_bytes()
  std::size_t touched_ = 0;
  std::size_t count_ = 0;
  std::uint32_t evaluations_ = 0;  ///< or periods without one
};

}  // namespace papcoll::inline PAPCOLL_ABI
