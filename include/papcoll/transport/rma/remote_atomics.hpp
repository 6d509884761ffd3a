// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/topology/options.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>

namespace papcoll::inline PAPCOLL_ABI {

/// Words of 64 bits in the memory of every rank of a team, zero at the beginning, which any rank
/// changes by atomic operations. One rank's view. A word knows one kind of change only, adding or
/// replacing, besides being read.
class RemoteAtomics : Pinned {
 public:
  enum class Change : unsigned char { none, add, replace };

  virtual ~RemoteAtomics() = default;

  /// Begins an operation on a rank's word. One is under way at a time. Never waits.
  virtual void start(int rank, std::size_t word, Change change, std::int64_t operand) = 0;

  /// Returns true if the operation is complete. Never waits.
  virtual bool progress() = 0;

  /// The word before the operation that is complete.
  virtual std::int64_t before() const noexcept = 0;

  /// This rank's own word as it stands in memory, without an operation: for waiting. While another
  /// rank changes it, this may show a part of the change, so what counts is found out by start().
  virtual std::int64_t own(std::size_t word) const = 0;

  /// Called when the team ends. Returns true if all ranks will free the words; all get the same
  /// answer. Some may come much later than others, or never, so a rank gives up after waiting for
  /// `patience`.
  virtual bool part(std::chrono::nanoseconds patience) noexcept = 0;

  /// Frees the words, after part() on all ranks, for which it waits.
  virtual void free() noexcept = 0;
};

/// Ranks that are about to do something together that none may do alone, and that none may wait for
/// either: all do it, or none does.
///
/// Each rank counts itself in, by one word of rank 0 that all change. A rank whose patience is over
/// cancels. The last to arrive finds whether any has cancelled, and stores which. So a rank that
/// sees that some are missing and that it is cancelled knows the outcome; whoever sees that all
/// came waits for what the last one says, which it is about to.
///
/// Where rank 0 has to be inside MPI to answer, what is asked of it before it has come happens when
/// it comes, and then the asker may have gone. So others count themselves in only after they have
/// seen that rank 0 has: until then they only look, and may leave without a word.
class AllOrNone {
 public:
  /// `word` of rank 0 is zero, and used for nothing else.
  AllOrNone(RemoteAtomics& words, std::size_t word, int rank, int size) noexcept
      : words_(words),
        word_(word),
        size_(size),
        next_(rank == 0 ? 1 + home : 0),
        counted_(rank == 0) {}

  enum class Outcome : unsigned char { open, together, not_at_all };

  /// Does what can be done without waiting. `impatient`: this rank would rather not wait longer.
  Outcome step(bool impatient) {
    if (outcome_ != Outcome::open) return outcome_;
    if (!under_way_) {
      words_.start(0, word_, next_ == 0 ? RemoteAtomics::Change::none : RemoteAtomics::Change::add,
                   next_);
      under_way_ = true;
    }
    if (!words_.progress()) {
      if (impatient && !counted_) outcome_ = Outcome::not_at_all;
      return outcome_;
    }
    under_way_ = false;
    look(words_.before(), impatient);
    return outcome_;
  }

 private:
  static constexpr std::int64_t cancel = std::int64_t{1} << 24;
  static constexpr std::int64_t go = std::int64_t{1} << 48;
  static constexpr std::int64_t stay = std::int64_t{1} << 49;
  static constexpr std::int64_t home = std::int64_t{1} << 50;  ///< rank 0 has arrived

  void look(std::int64_t before, bool impatient) noexcept {
    const std::int64_t added = next_;
    next_ = 0;
    const bool cancelled = (before & (go - 1)) >= cancel;
    if (!counted_) {
      counted_ = (before & home) != 0 && !cancelled;
      next_ = counted_ ? 1 : 0;
      if (cancelled || (impatient && !counted_)) outcome_ = Outcome::not_at_all;
      return;
    }
    const bool comes = (added & (cancel - 1)) == 1;
    const auto came = static_cast<int>(before & (cancel - 1)) + (comes ? 1 : 0);
    if (added == go || added == stay) {
      outcome_ = added == go ? Outcome::together : Outcome::not_at_all;
    } else if (comes && came == size_) {
      next_ = cancelled ? stay : go;
    } else if ((before & go) != 0) {
      outcome_ = Outcome::together;
    } else if ((before & stay) != 0 || (came < size_ && (cancelled || added == cancel))) {
      outcome_ = Outcome::not_at_all;
    } else if (impatient && came < size_) {
      next_ = cancel;
    }
  }

  RemoteAtomics& words_;
  std::size_t word_;
  int size_;
  std::int64_t next_;  ///< what this rank adds next; 0: it looks only
  bool counted_;       ///< it has counted itself in, or is about to
  bool under_way_ = false;
  Outcome outcome_ = Outcome::open;
};

/// Words in the memory that the ranks of a node share, which end with it. Opening them is local: no
/// rank waits, and MPI takes no part.
class SharedWords final : public RemoteAtomics {
 public:
  /// Bytes of n words on each of so many ranks. Those of a rank begin with a cache line.
  static constexpr std::size_t bytes(int ranks, std::size_t n) noexcept {
    return static_cast<std::size_t>(ranks) * stride(n) * sizeof(Word);
  }

  /// `n` words on each of the node's ranks, in Node::ticket_words. Throws system_error where there
  /// are no pages for them.
  SharedWords(const Node& node, std::size_t n)
      : words_(std::launder(reinterpret_cast<Word*>(node.ticket_words))),
        stride_(stride(n)),
        mine_(static_cast<std::size_t>(node.rank) * stride_) {
    node.reserve(node.ticket_words, bytes(node.size, n));
  }

  void start(int rank, std::size_t word, Change change, std::int64_t operand) override {
    Word& at = words_[static_cast<std::size_t>(rank) * stride_ + word];
    before_ = change == Change::none  ? at.load(std::memory_order_acquire)
              : change == Change::add ? at.fetch_add(operand, std::memory_order_acq_rel)
                                      : at.exchange(operand, std::memory_order_acq_rel);
  }
  bool progress() override { return true; }
  std::int64_t before() const noexcept override { return before_; }
  /// Relaxed: what counts is found out by start().
  std::int64_t own(std::size_t word) const override {
    return words_[mine_ + word].load(std::memory_order_relaxed);
  }

  /// Nothing is left to free.
  bool part(std::chrono::nanoseconds) noexcept override { return false; }
  void free() noexcept override {}

 private:
  /// Stored with release and loaded with acquire by every rank: what a rank read or changed in
  /// other words before comes before all that the reader does to them afterwards, by which
  /// RemoteTicketCounter reuses slots.
  using Word = std::atomic<std::int64_t>;
  static_assert(Word::is_always_lock_free);

  static constexpr std::size_t stride(std::size_t n) noexcept {
    constexpr std::size_t line = cache_line / sizeof(Word);
    return (n + line - 1) / line * line;
  }

  Word* words_;
  std::size_t stride_;
  std::size_t mine_;
  std::int64_t before_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI
