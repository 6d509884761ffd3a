// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/call_fingerprint.hpp>
#include <papcoll/node/control_block.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// The lifecycle of a call in a control block, on one of its ranks: the call's number, entering
/// and leaving its epoch slot, and how it fails. What algorithms ask of the call in between is in
/// BasicNodeContext.
template <class ControlBlock, class Bells> class CallLifecycle {
 protected:
  using Access = typename ControlBlock::Access;

 public:
  // --- for what runs algorithms

  /// Returns true if all ranks have left the call that used this epoch slot before.
  bool enter() noexcept {
    const std::uint32_t wanted = epoch_ - ControlBlock::epoch_slots;
    if (epoch_reached(all_left_, wanted)) return true;
    std::uint32_t least = epoch_ - 1;
    for (int r = 0; r < control_.ranks(); ++r) {
      const std::uint32_t left = control_.left(r).epoch.load(std::memory_order_acquire);
      if (!epoch_reached(left, wanted)) return false;
      if (!epoch_reached(left, least)) least = left;
    }
    all_left_ = least;
    check_past_calls();  // their lines are here now
    return true;
  }

  /// Returns true if the call that used this epoch slot before, and that all have left, succeeded,
  /// or if all ranks know that it failed. Otherwise some left it before its fault was found; they
  /// learn of it in this call, which then fails on all ranks: each decides so by what is in the
  /// control block.
  [[gnu::cold]] bool earlier_call_matched() noexcept {
    UncheckedCall& u = unchecked_[epoch_ % ControlBlock::epoch_slots];
    if (u.check != CheckOnReuse::none) [[unlikely]] {
      const bool knows = u.check == CheckOnReuse::all_notified;
      u.check = CheckOnReuse::none;
      if (knows ? any_rank_unaware() : earlier_call_failed()) {
        u.any = false;
        u.differs = -1;
        fail_with("");
        return false;
      }
    }
    if (u.any) check_past_calls();  // a later call told that all had left this one
    if (u.differs < 0) [[likely]]
      return true;
    report_earlier_mismatch(std::exchange(u.differs, -1), u.fingerprint);
    return false;
  }

  std::uint32_t epoch() const noexcept { return epoch_; }
  const ControlBlock& control_block() const noexcept { return control_; }
  Bells& bells() noexcept { return bells_; }

  /// The ranks' numbers in the user's communicator, for messages, where they are not those here.
  [[gnu::cold]] void set_user_ranks(std::vector<int> ranks) { user_ranks_ = std::move(ranks); }

  // --- failures

  /// Makes every rank that is still in this epoch throw peer_error with the text; the first wins,
  /// and adds the text of the call that used this epoch slot before, if that failed and some rank
  /// does not know: then all learn of it now, so that no third call has to fail for it. A rank that
  /// sees that calls differ may still complete its own, if the first is stopped before its text is
  /// there: then it hears of it when the epoch slot is used again.
  [[gnu::cold]] void fail_with(const std::string& text) {
    typename ControlBlock::Failure& f = control_.failure(epoch_);
    TaggedCount before = f.state.load(std::memory_order_acquire);
    if (says_failure(before, ControlBlock::Failure::found)) return;
    const std::uint32_t after =
        tells_of_earlier(before) && any_rank_unaware() ? ControlBlock::Failure::after_another : 0;
    if (!f.state.compare_exchange_strong(before,
                                         tagged_failure(ControlBlock::Failure::found | after),
                                         std::memory_order_acq_rel)) {
      return;
    }
    std::string kept = text;
    if (after != 0) {  // the text that this one replaces was for those who had left that call
      kept = detail::joined({text.empty() ? not_performed : text,
                             text.empty() ? ", because " : "; and ", earlier_call(),
                             ", failed: ", text_of(f)});
    }
    kept.resize(std::min(kept.size(), sizeof(f.text) - 1));
    Access::write(f.text, kept.c_str(), kept.size() + 1);
    f.state.store(tagged_failure(ControlBlock::Failure::described | after),
                  std::memory_order_seq_cst);
    bells_.ring_all();
  }

  bool failed() const noexcept {
    return says_failure(look_at(control_.failure(epoch_).state), ControlBlock::Failure::described);
  }
  /// Returns true if the call has failed, or a rank is about to write why. A rank that fails a call
  /// before it arrives in it sets that state first.
  bool is_failing() const noexcept {
    return says_failure(look_at(control_.failure(epoch_).state), ControlBlock::Failure::found);
  }
  /// Returns the text of the failure, once failed() has returned true.
  [[gnu::cold]] std::string failure_text() {
    all_known_ = has_failure_text_ = true;
    return text_of(control_.failure(epoch_));
  }

  /// Returns true if this rank is between begin and leave.
  bool under_way() const noexcept {
    return control_.left(rank_).epoch.load(std::memory_order_relaxed) != epoch_;
  }

  /// The call under way, for messages.
  [[gnu::cold, gnu::noinline]] std::string describe_call() const {
    if (fingerprint_.packed == CallFingerprint::invalid)
      return "a call that is invalid on this rank";
    // Groups count for themselves, and their numbers mean nothing to the caller.
    return fingerprint_.describe() +
           (user_ranks_.empty()
                ? detail::joined({" (blocking call ", number(epoch_), " of the communicator)"})
                : " (among the ranks of a group)");
  }

  /// Returns a sentence that names the ranks that have not arrived in the call; empty if all have.
  [[gnu::cold, gnu::noinline]] std::string missing() const {
    const auto unless = [this](auto&& fine) {
      std::vector<int> ranks;
      for (int r = 0; r < control_.ranks(); ++r) {
        if (r != rank_ && !fine(r)) ranks.push_back(user_rank(r));
      }
      return ranks;
    };
    const std::uint32_t before = epoch_ - ControlBlock::epoch_slots;
    const auto behind = unless([&](int r) {
      return epoch_reached(control_.left(r).epoch.load(std::memory_order_acquire), before);
    });
    if (!behind.empty()) {
      return detail::joined({listed(behind), " not left the call ", ControlBlock::epoch_slots,
                             " before ", describe_call()});
    }
    const auto away = unless([&](int r) { return arrived(r, 0); });
    return away.empty() ? "" : detail::joined({listed(away), " not entered ", describe_call()});
  }

  /// Compares the calls of all who are there with this rank's own; for ranks that wait long.
  void compare_calls() {
    for (int r = 0; r < size(); ++r) {
      if (arrived(r, 0) && !matches(r)) return fail(r);
    }
  }

  // --- what algorithms ask, see CallContext

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  bool arrived(int r, std::uint32_t chunks) const noexcept {
    return reached(look_at(control_.header(epoch_, r).count), epoch_, chunks);
  }
  bool matches(int r) const noexcept { return fingerprint_of(r) == fingerprint_; }

  void note_all_arrived() noexcept {
    all_left_ = epoch_ - 1;
    all_known_ = true;
  }

  [[gnu::cold]] void fail(int r) {
    const CallFingerprint theirs = fingerprint_of(r);
    fail_with(
        theirs.packed == CallFingerprint::invalid
            ? detail::joined({"rank ", rank_text(r), "'s call is invalid; its exception says why"})
            : CallFingerprint::difference(theirs, user_rank(r), fingerprint_, user_rank(rank_)));
  }

 protected:
  CallLifecycle(ControlBlock control, Bells bells, int rank, std::uint32_t first_epoch)
      : control_(control),
        bells_(bells),
        rank_(rank),
        size_(control.ranks()),
        epoch_(first_epoch - 1),
        before_first_(first_epoch - 1),
        all_left_(first_epoch - 1) {}

  void begin_epoch(const CallFingerprint& fingerprint) noexcept {
    if (++epoch_ == 0) ++epoch_wraps_;
    all_known_ = has_failure_text_ = false;
    fingerprint_ = fingerprint;
  }

  /// `may_be_awaited`: a rank may be waiting for this one to leave.
  void leave_epoch(bool may_be_awaited) noexcept {
    typename ControlBlock::Left& left = control_.left(rank_);
    const bool knows = has_failure_text_ || fingerprint_.packed == CallFingerprint::invalid;
    left.called[epoch_ % ControlBlock::records].store(
        fingerprint_.hash() | (knows ? knows_failure : 0), std::memory_order_relaxed);
    left.epoch.store(epoch_, std::memory_order_release);
    if (may_be_awaited) bells_.ring_all();
    // The next call begins with a write to a line that all others have read.
    detail::prefetch_to_write(&control_.header(epoch_ + 1, rank_));
    UncheckedCall& u = unchecked_[epoch_ % ControlBlock::epoch_slots];
    u.any = !all_known_ && fingerprint_.packed != CallFingerprint::invalid;
    if (u.any) {
      u.epoch = epoch_;
      u.fingerprint = fingerprint_;
    }
    u.check = knows                           ? CheckOnReuse::all_notified
              : fingerprint_.has_own_counts() ? CheckOnReuse::failed
                                              : CheckOnReuse::none;
  }

  /// A tagged count that others wait for with a bell. Sequentially consistent, and not only
  /// acquire: the last look of a rank that goes to sleep must not pass its word that it sleeps.
  static TaggedCount look_at(
      const typename ControlBlock::template Atomic<TaggedCount>& count) noexcept {
    return count.load(std::memory_order_seq_cst);
  }

  ControlBlock control_;
  Bells bells_;
  int rank_;
  int size_;
  std::uint32_t epoch_;  ///< the current call
  CallFingerprint fingerprint_;

 private:
  // Nobody takes a failure back, and the epoch's number returns after 2³² calls.
  TaggedCount tagged_failure(std::uint32_t state) const noexcept {
    return make_tagged(epoch_, epoch_wraps_ << ControlBlock::Failure::state_bits | state);
  }
  /// Returns true if the word says that the call in progress failed, in this state or a later one.
  bool says_failure(TaggedCount s, std::uint32_t state) const noexcept {
    s &= ~TaggedCount{ControlBlock::Failure::after_another};
    return s >= tagged_failure(state) && s <= tagged_failure(ControlBlock::Failure::described);
  }
  /// Returns true if its text says why the call failed that used this epoch slot before.
  bool tells_of_earlier(TaggedCount s) const noexcept {
    const std::uint32_t earlier = epoch_ - ControlBlock::epoch_slots;
    const std::uint32_t wraps = earlier > epoch_ ? epoch_wraps_ - 1 : epoch_wraps_;
    return (s & ~TaggedCount{ControlBlock::Failure::after_another}) ==
           make_tagged(earlier, wraps << ControlBlock::Failure::state_bits |
                                    ControlBlock::Failure::described);
  }

  /// Returns which of the communicator's blocking calls an epoch is.
  std::uint32_t number(std::uint32_t epoch) const noexcept { return epoch - before_first_; }

  /// The call that used this epoch slot before, for messages.
  [[gnu::cold]] std::string earlier_call() const {
    const std::string which =
        user_ranks_.empty()
            ? detail::joined({"blocking call ", number(epoch_ - ControlBlock::epoch_slots)})
            : "a call among the ranks of a group";
    return detail::joined({which, ", ", ControlBlock::epoch_slots, " calls ago"});
  }

  [[gnu::cold]] static std::string text_of(const typename ControlBlock::Failure& f) {
    std::array<char, sizeof(f.text)> text{};
    Access::read(text.data(), f.text, text.size());
    return text.data();
  }

  CallFingerprint fingerprint_of(int r) const noexcept {
    CallFingerprint fingerprint;
    Access::read(&fingerprint, &control_.header(epoch_, r).fingerprint, sizeof fingerprint);
    return fingerprint;
  }

  /// In ControlBlock::Left's records: the rank knows why the call failed. The rest is the call's
  /// hash.
  static constexpr std::uint32_t knows_failure = 1;
  /// Returns rank r's record of the call that used this epoch slot before. Requires that all have
  /// left that call.
  std::uint32_t earlier_record(int r) const noexcept {
    return control_.left(r)
        .called[(epoch_ - ControlBlock::epoch_slots) % ControlBlock::records]
        .load(std::memory_order_relaxed);
  }

  /// Returns true if a rank does not know that the call failed which used this epoch slot before.
  [[gnu::cold, gnu::noinline]] bool any_rank_unaware() const noexcept {
    for (int r = 0; r < size(); ++r) {
      if ((earlier_record(r) & knows_failure) == 0) return true;
    }
    return false;
  }

  /// Returns true if ranks differed in a length in the call that used this epoch slot before. Only
  /// those that were still in it know. If the call in progress has failed already, its text ends
  /// with that of the earlier one.
  [[gnu::noinline]] bool earlier_call_failed() const noexcept {
    const TaggedCount now = look_at(control_.failure(epoch_).state);
    if (says_failure(now, ControlBlock::Failure::found))
      return (now & ControlBlock::Failure::after_another) != 0;
    return tells_of_earlier(now);
  }

  /// Compares all calls in which this rank did not see all calls, and that all have left: one read
  /// of the others' lines for as many calls as it can be. A difference is reported when the
  /// epoch slot is used next, so that all ranks fail in the same call.
  void check_past_calls() noexcept {
    for (UncheckedCall& u : unchecked_) {
      if (!u.any || !epoch_reached(all_left_, u.epoch)) continue;
      u.any = false;
      const std::uint32_t mine =
          u.fingerprint.hash();  // the record of who knows of a fault differs, too
      for (int r = 0; r < size() && u.differs < 0; ++r) {
        if (control_.left(r).called[u.epoch % ControlBlock::records].load(
                std::memory_order_relaxed) != mine)
          u.differs = r;
      }
    }
  }

  [[gnu::cold, gnu::noinline]] void report_earlier_mismatch(int r, const CallFingerprint& mine) {
    // A rank that knows both calls may have reported it already, with more than their numbers.
    if (tells_of_earlier(look_at(control_.failure(epoch_).state))) return fail_with("");
    fail_with(detail::joined({not_performed, ", because the ranks' calls did not match in ",
                              earlier_call(), ": ",
                              mine.difference(user_rank(rank_), earlier_record(r) & ~knows_failure,
                                              user_rank(r), size())}));
  }

  static constexpr const char* not_performed = "this call was not performed";

  /// "ranks 1 and 2 have", of which no more than eight are named.
  [[gnu::cold]] static std::string listed(const std::vector<int>& ranks) {
    constexpr std::size_t most = 8;
    const std::size_t shown = ranks.size() <= most ? ranks.size() : most;
    std::string text = ranks.size() == 1 ? "rank" : "ranks";
    for (std::size_t i = 0; i < shown; ++i) {
      const bool last = i + 1 == ranks.size();
      text += detail::joined({(i == 0 ? " " : last ? " and " : ", "), ranks[i]});
    }
    if (shown < ranks.size()) text += detail::joined({" and ", ranks.size() - shown, " more"});
    return text + (ranks.size() == 1 ? " has" : " have");
  }

  [[gnu::cold]] int user_rank(int r) const noexcept {
    return user_ranks_.empty() ? r : user_ranks_[static_cast<std::size_t>(r)];
  }
  std::string rank_text(int r) const { return std::to_string(user_rank(r)); }

  std::uint32_t before_first_;     ///< the epoch before the first call
  std::uint32_t epoch_wraps_ = 0;  ///< how often the epoch has begun again at 0
  std::uint32_t all_left_;         ///< this rank knows that all ranks have left this epoch
  bool all_known_ = false;         ///< of this call: all matched it, or this rank knows why not
  bool has_failure_text_ = false;  ///< of this call: this rank has its text
  /// What a rank has to ask when the epoch slot of a call is used again.
  enum class CheckOnReuse : unsigned char {
    none,
    failed,        ///< ranks compared lengths one by one, and this one heard of no fault
    all_notified,  ///< it failed, as this rank knows
  };
  struct UncheckedCall {
    bool any = false;  ///< not yet compared
    CheckOnReuse check = CheckOnReuse::none;
    int differs = -1;  ///< a rank that called something else
    std::uint32_t epoch = 0;
    CallFingerprint fingerprint;
  };
  /// Calls that this rank left before all had arrived.
  std::array<UncheckedCall, ControlBlock::epoch_slots> unchecked_;
  std::vector<int> user_ranks_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
