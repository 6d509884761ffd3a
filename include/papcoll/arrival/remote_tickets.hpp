// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/transport/rma/remote_atomics.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

/// Tickets in the order of arrival, for ranks that share no memory: each rank's place, and the
/// ranks before and after it. One rank's view.
///
/// Rank 0 is the home of the tickets, and need not do anything for it. Call number n uses epoch
/// slot n mod `epoch_slots`, which has at home
///
///     drawn      tickets drawn, counted on from call to call
///     left       ranks that have finished with the home's words of the slot, counted on
///     holder[t]  who drew ticket t of the call: (epoch, rank + 1)
///
/// and on each rank, which waits for them by looking at its memory and not by operations
/// (RmaAtomics says why),
///
///     next       who drew the ticket after this rank's: (epoch, rank + 1)
///     last       on the root of a rooted call: who drew the last ticket
///
/// Nobody draws a ticket of call n before all ranks are through with n − epoch_slots: else a fast
/// rank would take a ticket of a call that slow ranks have yet to come to, or overwrite a holder
/// that slow ranks have yet to look up. A rank's own words are written for n + epoch_slots only
/// after it has drawn a ticket there itself.
///
/// Cost: four operations at home, of which one is waited for before the rank has its ticket and two
/// before it knows its predecessor; one more where nothing in the last `epoch_slots` calls showed
/// that all had arrived.
class RemoteTicketCounter {
 public:
  static constexpr std::uint64_t epoch_slots = 4;

  /// Words of each rank that a counter needs.
  static constexpr std::size_t words(int size) noexcept {
    return static_cast<std::size_t>(epoch_slots) * (head + static_cast<std::size_t>(size));
  }

  RemoteTicketCounter(std::unique_ptr<RemoteAtomics> words, int rank, int size,
                      std::uint32_t first_epoch)
      : words_(std::move(words)), rank_(rank), size_(size), epoch_(first_epoch - 1) {}

  /// This rank arrives in the next call. `root`: of a rooted one, else −1.
  void begin(int root) noexcept {
    call_ = next_call_++;
    ++epoch_;
    root_ = root;
    ticket_ = before_ = after_ = last_ = -1;
    pause_ = 1;
    ask(knows_epoch_slot_is_free() ? State::draw : State::enter);
  }

  /// Does what can be done without waiting; true if this rank knows more than before.
  bool step() {
    if (state_ == State::done || !words_->progress()) return false;
    const std::int64_t seen = words_->before();
    switch (state_) {
      case State::enter:
        // Some may be through with this call, too.
        seen < earlier_tickets() ? ask_later() : ask(State::draw);
        return false;
      case State::draw:
        ticket_ = static_cast<int>(seen - earlier_tickets());
        if (ticket_ == size_ - 1) last_ = rank_;
        ask(State::sign);
        return true;
      case State::sign: ask(ticket_ > 0 ? State::find_before : State::leave); return false;
      case State::find_before:
        if (!is_of_call(seen)) return ask_later(), false;
        before_ = holder_in(seen);
        ask(State::notify_before);
        return true;
      case State::notify_before:
        ask(root_must_be_notified() ? State::notify_root : State::leave);
        return false;
      case State::notify_root: ask(State::leave); return false;
      case State::leave:
        wanted_ = next;
        ask(ticket_ + 1 < size_ ? State::await : State::done);
        return false;
      case State::await:
        if (is_of_call(words_->own(word(wanted_)))) ask(State::find);
        return false;
      case State::find:
        if (!is_of_call(seen)) return ask(State::find), false;
        if (wanted_ == next) {
          after_ = holder_in(seen);
          if (ticket_ + 2 == size_) last_ = after_;
          wanted_ = last_holder;
          ask(rank_ == root_ && last_ < 0 ? State::await : State::done);
        } else {
          last_ = holder_in(seen);
          ask(State::done);
        }
        return true;
      case State::pause:
        if (--steps_to_pause_ == 0) ask(then_);
        return false;
      case State::done: break;
    }
    return false;
  }

  /// Returns true if this rank has found out all that it needs, and the others can read all that it
  /// has to publish.
  bool done() const noexcept { return state_ == State::done; }

  int ticket() const noexcept { return ticket_; }  ///< −1: not yet known, as with the others
  int before() const noexcept { return before_; }  ///< who holds the ticket before this rank's
  int after() const noexcept { return after_; }    ///< and the one after it
  int last() const noexcept { return last_; }      ///< known to the root, and to the last two

  /// The call is over on this rank. `all_came`: so it has seen that all ranks arrived in it.
  void end(bool all_came) noexcept {
    if (all_came) all_left_before_ = call_;
  }

  /// The team ends. Where ranks are missing, or it is broken, its words stay.
  void close(bool broken) noexcept {
    constexpr std::chrono::seconds patience{1};
    if (broken || state_ != State::done || !words_->part(patience)) return;
    words_->free();
  }

 private:
  enum class State : unsigned char {
    enter,
    draw,
    sign,
    find_before,
    notify_before,
    notify_root,
    leave,
    await,
    find,
    pause,
    done,
  };
  enum Head : std::size_t { drawn, left, next, last_holder, head };

  bool knows_epoch_slot_is_free() const noexcept {
    return call_ < epoch_slots || call_ - epoch_slots < all_left_before_;
  }
  bool root_must_be_notified() const noexcept {
    return root_ >= 0 && ticket_ == size_ - 1 && root_ != rank_ && root_ != before_;
  }

  /// Tickets drawn from this call's epoch slot in earlier calls.
  std::int64_t earlier_tickets() const noexcept {
    return static_cast<std::int64_t>(call_ / epoch_slots) * size_;
  }
  std::size_t word(std::size_t at) const noexcept {
    return static_cast<std::size_t>(call_ % epoch_slots) *
               (head + static_cast<std::size_t>(size_)) +
           at;
  }
  std::size_t holder(int ticket) const noexcept {
    return word(head + static_cast<std::size_t>(ticket));
  }

  // The epoch's upper bit would be the sign: it stands lower, so that all these words are positive.
  std::int64_t tagged_rank() const noexcept {
    return static_cast<std::int64_t>(epoch_) << 24 | static_cast<std::int64_t>(rank_ + 1);
  }
  bool is_of_call(std::int64_t seen) const noexcept {
    return (seen & 0xffffff) != 0 && static_cast<std::uint32_t>(seen >> 24) == epoch_;
  }
  static int holder_in(std::int64_t seen) noexcept { return static_cast<int>(seen & 0xffffff) - 1; }

  void ask(State state) {
    using Change = RemoteAtomics::Change;
    state_ = state;
    switch (state) {
      case State::enter: return words_->start(0, word(left), Change::none, 0);
      case State::draw: return words_->start(0, word(drawn), Change::add, 1);
      case State::sign: return words_->start(0, holder(ticket_), Change::replace, tagged_rank());
      case State::find_before: return words_->start(0, holder(ticket_ - 1), Change::none, 0);
      case State::notify_before:
        return words_->start(before_, word(next), Change::replace, tagged_rank());
      case State::notify_root:
        return words_->start(root_, word(last_holder), Change::replace, tagged_rank());
      case State::leave: return words_->start(0, word(left), Change::add, 1);
      case State::find: return words_->start(rank_, word(wanted_), Change::none, 0);
      case State::await:
      case State::pause:
      case State::done: return;
    }
  }

  /// Asks again after a pause, each pause longer than the last, and at most twice as long a wait in
  /// all. The awaited word is in this rank's own memory, which it has to access by remote
  /// operations, and should seldom.
  void ask_later() noexcept {
    then_ = state_;
    state_ = State::pause;
    steps_to_pause_ = pause_;
    pause_ = std::min(2 * pause_, longest_pause);
  }
  static constexpr int longest_pause = 64;  ///< steps

  std::unique_ptr<RemoteAtomics> words_;
  int rank_;
  int size_;
  std::uint32_t epoch_;          ///< of the call, for tags; wraps
  std::uint64_t next_call_ = 0;  ///< counted from the team's first one with tickets
  std::uint64_t call_ = 0;
  std::uint64_t all_left_before_ = 0;  ///< all ranks are through with calls below this one
  int root_ = -1;
  State state_ = State::done;
  State then_ = State::done;  ///< after the pause
  Head wanted_ = next;        ///< of its own words, the one that it waits for
  int pause_ = 1;             ///< steps of the next one
  int steps_to_pause_ = 0;
  int ticket_ = -1;
  int before_ = -1;
  int after_ = -1;
  int last_ = -1;
};

}  // namespace papcoll::inline PAPCOLL_ABI
