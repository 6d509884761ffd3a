// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/imbalance.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/node/control_block.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

/// Calls whose imbalance is watched apart: an application may be late for its small calls and
/// punctual for its large ones, and where data come from one rank, as in the last phase of a
/// hierarchy, the others may be waiting for it by design.
struct ArrivalClass {
  enum Size : std::uint8_t { small, medium, large };
  static constexpr std::size_t count = 6;

  std::uint8_t index = 0;

  static constexpr ArrivalClass of(Collective c, std::size_t bytes) noexcept {
    const Size size = bytes <= 1024 ? small : bytes < 65536 ? medium : large;
    const bool inward = (traits_of(c).flags & CollectiveTraits::inward) != 0;
    return {static_cast<std::uint8_t>(size + (inward ? 0 : 3))};
  }
  constexpr bool is_small() const noexcept { return index % 3 == small; }
  constexpr bool is_large() const noexcept { return index % 3 == large; }
};

/// What a call cost in the mean over its ranks, in nanoseconds, as all of them have agreed.
struct CallCost {
  CallTrial trial;
  std::uint64_t in_call = 0;     ///< from its arrival to its end
  std::uint64_t after_last = 0;  ///< from the last arrival to its end; 0 of a rank that left before
  /// For a call whose ranks know their own blocks only, the bits of the largest mean length of a
  /// block that any of them knows; else 0.
  std::uint8_t block_bits = 0;
};

/// Is notified of what calls cost, in the same calls on all ranks.
class CostListener {
 public:
  virtual void add(const CallCost& cost) noexcept = 0;
  /// Called when all that is known by now was added; so many periods have gone since the last time.
  virtual void evaluate(std::uint32_t periods) noexcept = 0;
  /// Returns true if the next calls are to try a candidate.
  bool is_trying() const noexcept { return is_trying_; }
  /// Returns how often that has led to another choice.
  std::uint32_t changes() const noexcept { return changes_; }

 protected:
  CostListener() = default;
  CostListener(const CostListener&) = default;
  CostListener& operator=(const CostListener&) = default;
  ~CostListener() = default;

  bool is_trying_ = false;
  std::uint32_t changes_ = 0;
};

/// Watches the arrivals of ranks that share a control block, and comes to the same view on all of
/// them.
///
///     call      …  e         …    t          t+1 …          t, t′: multiples of `period`
///     rank 0       notes 0:17     looks      acts on it
///     rank 1       notes 0:19     looks      acts on it
///
/// Nothing is sent and no rank waits. In some calls each rank records in the control block when it
/// arrived. In every period-th call t each rank looks at what all have noted in the `period` calls
/// up to t − epoch_slots. It may enter t, so all have left t − epoch_slots: what they noted until
/// then is final, and by the acquiring that enter() did, seen. It is read before anybody writes it
/// again: who writes in call w has entered w, so all have left w − epoch_slots, and whoever still
/// looks does so in a later call, at calls after w − 2·epoch_slots − period; what is overwritten is
/// that of w − remembered. So all ranks read the same words, and what they make of them is a
/// function of these words and of what they made before, in integers: they agree on everything,
/// however far one of them runs ahead. What a rank notes of itself may be anything, as after calls
/// that did not match.
///
/// A reading of the clock costs a short call some percent of its time: so one short call in 8 is
/// recorded, which one of the 8 is drawn so that no period of the application hides from it, and
/// every large call. A look reads much that caches no longer hold, and costs the time of several
/// calls: once nothing has changed for 64 looks, only one in four is made, at what was recorded
/// just before it, until something changes.
template <class ControlBlock, std::uint32_t Period = 16> class BasicArrivalMonitor {
 public:
  static constexpr std::uint32_t period = Period;
  static constexpr std::uint32_t noted_one_in = Period < 8 ? 1 : 8;
  static_assert(ControlBlock::remembered > 2 * ControlBlock::epoch_slots + Period - 2);
  static_assert((ControlBlock::remembered & (ControlBlock::remembered - 1)) == 0, "epochs wrap");

  BasicArrivalMonitor(ControlBlock control, int rank) noexcept : control_(control), rank_(rank) {}

  /// Returns true if this call may be recorded. What is recorded of other calls is never read.
  bool watches(std::uint32_t epoch) const noexcept {
    return (epoch + static_cast<std::uint32_t>(ControlBlock::epoch_slots) - 1) / period % stride_ ==
           stride_ - 1;
  }
  /// Returns n: one in n of such calls, whose choice is made, is timed, as often as if all were
  /// watched.
  std::uint32_t timed_one_in() const noexcept { return 256 / stride_; }
  /// Returns true if a call of this kind is to be recorded.
  static constexpr bool notes(std::uint32_t epoch, ArrivalClass kind) noexcept {
    if (kind.is_large()) return true;
    const std::uint32_t group = epoch / noted_one_in;
    const std::uint32_t drawn = (group * 0x9e3779b9U >> 16U) % noted_one_in;
    return epoch % noted_one_in == drawn;
  }

  /// Records that this rank arrived at `ns`, nanoseconds from any origin that is the same for all
  /// ranks. Called in the call, after it was entered.
  void note(std::uint32_t epoch, std::uint64_t ns, ArrivalClass kind, bool in_arena) noexcept {
    noted_ |= bit(epoch);
    const Word w{epoch, ns, kind.index, in_arena};
    control_.arrivals(rank_).at[epoch % ControlBlock::remembered].store(w.packed(),
                                                                        std::memory_order_relaxed);
  }

  /// Records that the call took this rank `ns` nanoseconds. Called after note(), before the rank
  /// leaves the call. `block_bits`: as far as this rank knows, see CallCost.
  void note_cost(std::uint32_t epoch, CallTrial trial, std::uint64_t ns,
                 std::uint8_t block_bits = 0) noexcept {
    control_.arrivals(rank_).cost[epoch % ControlBlock::remembered].store(
        CostWord{epoch, trial, ns, block_bits}.packed(), std::memory_order_relaxed);
  }

  bool evaluates_at(std::uint32_t epoch) const noexcept { return epoch % (period * stride_) == 0; }

  /// Called in such a call, after it could be entered. `costs`, unless null, is notified of what
  /// calls cost.
  [[gnu::noinline]] void evaluate(std::uint32_t epoch, CostListener* costs = nullptr) noexcept {
    const auto changes = [&] { return generation_ + (costs != nullptr ? costs->changes() : 0); };
    const std::uint32_t before = changes();
    const std::uint32_t end = epoch - static_cast<std::uint32_t>(ControlBlock::epoch_slots);
    for (std::uint32_t e = end - period + 1; e != end + 1; ++e) {
      if ((noted_ & bit(e)) == 0) continue;
      noted_ &= ~bit(e);
      learn(e, costs);
    }
    for (detail::RecentCalls& r : recent_) {
      if (r.update()) ++generation_;
    }
    if (costs != nullptr) costs->evaluate(stride_);
    ++evaluations_;
    // What was changed elsewhere does not count: not all ranks need have come to that.
    if (changes() != before || (costs != nullptr && costs->is_trying()))
      calm_from_ = evaluations_ + 64;
    stride_ = evaluations_ - calm_from_ < UINT32_MAX / 2 ? 4 : 1;
  }

  /// Returns what the ranks have agreed on for calls of a kind.
  const Imbalance& of(ArrivalClass kind) const noexcept { return recent_[kind.index].agreed(); }
  std::uint32_t evaluations() const noexcept { return evaluations_; }
  /// Returns true if a call has been seen whose cost all ranks have recorded. All ranks agree on
  /// it, too.
  bool has_costs() const noexcept { return has_costs_; }
  /// Changes whenever an evaluation has led to another view.
  std::uint32_t generation() const noexcept { return generation_; }
  /// Returns how many calls were watched that are not small. All ranks agree on it, too.
  std::uint32_t longer_calls() const noexcept { return longer_calls_; }

 private:
  /// A field of a word: `Bits` bits, from bit `At` on.
  template <unsigned At, unsigned Bits> struct Field {
    static constexpr unsigned at = At;
    static constexpr unsigned bits = Bits;
    static constexpr std::uint64_t most = (std::uint64_t{1} << Bits) - 1;
    /// Requires value ≤ most.
    static constexpr std::uint64_t put(std::uint64_t value) noexcept { return value << At; }
    static constexpr std::uint64_t of(std::uint64_t word) noexcept { return word >> At & most; }
  };

  /// Returns the tag in the words of a call.
  template <class Tag> static std::uint64_t tag_of(std::uint32_t epoch) noexcept {
    return epoch / ControlBlock::remembered & Tag::most;
  }

  /// What a rank notes of its arrival; 0: nothing. From the highest bit:
  ///
  ///     tag 16 | time 43 | kind 3 | in the arena 1 | noted 1
  struct Word {
    using Noted = Field<0, 1>;
    using InArena = Field<1, 1>;
    using Kind = Field<2, 3>;
    using Time = Field<5, 43>;  ///< ns, which wrap after 2.4 hours
    using Tag = Field<48, 16>;

    std::uint32_t epoch;
    std::uint64_t ns;
    std::uint8_t kind;
    bool in_arena;

    std::uint64_t packed() const noexcept {
      return Tag::put(tag_of<Tag>(epoch)) | Time::put(ns & Time::most) | Kind::put(kind) |
             InArena::put(in_arena) | Noted::put(1);
    }
    static bool is_of(std::uint64_t word, std::uint32_t epoch) noexcept {
      return Noted::of(word) != 0 && Tag::of(word) == tag_of<Tag>(epoch);
    }
    static std::size_t kind_of(std::uint64_t word) noexcept { return Kind::of(word); }
    static bool arena_of(std::uint64_t word) noexcept { return InArena::of(word) != 0; }
    /// Nanoseconds from a to b, negative if b was first.
    static std::int64_t between(std::uint64_t a, std::uint64_t b) noexcept {
      constexpr unsigned above = 64 - Time::bits;  // the tag is there, and is shifted out
      return static_cast<std::int64_t>(((b >> Time::at) - (a >> Time::at)) << above) >> above;
    }
  };

  /// What a rank notes of the cost of a call; 0: nothing. From the highest bit:
  ///
  ///     tag 8 | kind of call 16 | candidate 4 | candidates 3 | block 5 | time 28
  struct CostWord {
    using Time = Field<0, 28>;   ///< ns
    using Block = Field<28, 5>;  ///< see CallCost::block_bits
    using Candidates = Field<33, 3>;
    using Candidate = Field<36, 4>;
    using Kind = Field<40, 16>;
    using Tag = Field<56, 8>;
    static constexpr std::uint64_t own = Candidates::put(1) - 1;  ///< bits of a rank alone

    std::uint32_t epoch;
    CallTrial trial;
    std::uint64_t ns;
    std::uint8_t block_bits;

    std::uint64_t packed() const noexcept {
      return Tag::put(tag_of<Tag>(epoch)) | Kind::put(trial.kind) |
             Candidate::put(trial.candidate) | Candidates::put(trial.candidates) |
             Block::put(std::min<std::uint64_t>(block_bits, Block::most)) |
             Time::put(std::min(ns, Time::most));
    }
    static CostWord of(std::uint64_t word, std::uint32_t epoch) noexcept {
      CallTrial trial;
      trial.kind = static_cast<std::uint16_t>(Kind::of(word));
      trial.candidate = static_cast<std::uint8_t>(Candidate::of(word));
      trial.candidates = static_cast<std::uint8_t>(Candidates::of(word));
      return {epoch, trial, Time::of(word), static_cast<std::uint8_t>(Block::of(word))};
    }
  };

  /// Learns the cost of one call, if all ranks have recorded it alike. `arrival(r)` is when rank r
  /// arrived, from any origin.
  void learn_cost(std::uint32_t epoch, CostListener* costs, auto&& arrival) noexcept {
    const auto word = [&](int r) {
      return control_.arrivals(r).cost[epoch % ControlBlock::remembered].load(
          std::memory_order_relaxed);
    };
    const std::uint64_t mine = word(rank_);
    const CallTrial trial = CostWord::of(mine, epoch).trial;
    if (trial.kind == 0 || CostWord::Tag::of(mine) != tag_of<typename CostWord::Tag>(epoch)) return;
    std::int64_t last = arrival(0);
    for (int r = 0; r < control_.ranks(); ++r) {
      if ((word(r) ^ mine) > CostWord::own) return;
      last = std::max(last, arrival(r));
    }
    has_costs_ = true;
    if (costs == nullptr) return;
    CallCost all;
    for (int r = 0; r < control_.ranks(); ++r) {
      const CostWord of_rank = CostWord::of(word(r), epoch);
      const auto ns = static_cast<std::int64_t>(of_rank.ns);
      all.block_bits = std::max(all.block_bits, of_rank.block_bits);
      all.in_call += static_cast<std::uint64_t>(ns);
      all.after_last +=
          static_cast<std::uint64_t>(std::max<std::int64_t>(arrival(r) + ns - last, 0));
    }
    const auto ranks = static_cast<std::uint64_t>(control_.ranks());
    costs->add({trial, all.in_call / ranks, all.after_last / ranks, all.block_bits});
  }

  /// Learns from one call, if all ranks have recorded it alike.
  void learn(std::uint32_t epoch, CostListener* costs) noexcept {
    const auto word = [&](int r) {
      return control_.arrivals(r).at[epoch % ControlBlock::remembered].load(
          std::memory_order_relaxed);
    };
    const std::uint64_t mine = word(rank_);
    if (!Word::is_of(mine, epoch)) return;
    bool in_arena = true;
    for (int r = 0; r < control_.ranks(); ++r) {
      const std::uint64_t w = word(r);
      if (!Word::is_of(w, epoch) || Word::kind_of(w) != Word::kind_of(mine)) return;
      in_arena = in_arena && Word::arena_of(w);
    }
    const auto arrival = [&, origin = word(0)](int r) { return Word::between(origin, word(r)); };
    learn_cost(epoch, costs, arrival);
    Imbalance call = detail::imbalance_of(control_.ranks(), arrival);
    call.in_arena = in_arena;
    recent_[Word::kind_of(mine)].add(call);
    if (!ArrivalClass{static_cast<std::uint8_t>(Word::kind_of(mine))}.is_small()) ++longer_calls_;
  }

  static_assert(ControlBlock::remembered <= 64);
  static constexpr std::uint64_t bit(std::uint32_t epoch) noexcept {
    return std::uint64_t{1} << epoch % ControlBlock::remembered;
  }

  ControlBlock control_;
  int rank_;
  std::uint64_t noted_ = 0;  ///< the calls that this rank has noted, and not learnt from
  bool has_costs_ = false;
  std::uint32_t evaluations_ = 0;
  std::uint32_t generation_ = 0;
  std::uint32_t longer_calls_ = 0;
  std::uint32_t calm_from_ = 64;                 ///< if nothing changes until that evaluation
  std::uint32_t stride_ = 1;                     ///< periods between evaluations
  std::array<detail::RecentCalls, 8> recent_{};  ///< as many as a word can name
};
using ArrivalMonitor = BasicArrivalMonitor<NodeControlBlock>;

}  // namespace papcoll::inline PAPCOLL_ABI
