// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/waiting/doorbells.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

/// The invalid non-blocking calls of a node's ranks. No rank waits in such a call, so each rank
/// stores in the control block which calls it has refused, and ranks that have started theirs look
/// there while they wait for it. One rank's view.
///
/// A rank may refuse many before another looks, so the control block has rows of numbers at equal
/// distances (calls in a loop make one), and with each row how many numbers came before it and a
/// hash of them: whoever finds rows overwritten has missed nothing if its own first numbers are the
/// same.
class RefusedRequests {
 public:
  RefusedRequests(NodeControlBlock control, int rank)
      : control_(control), rank_(rank), peers_(static_cast<std::size_t>(control.ranks())) {}

  /// This rank refuses its request of that number, higher than those before.
  [[gnu::cold]] void refuse(std::uint32_t number) {
    auto& left = control_.left(rank_);
    const std::uint64_t before = before_next();
    here_.push_back({number, before});
    if (rows_ != 0 && last_.append(number)) {
      left.refused[(rows_ - 1) % NodeControlBlock::refusals].store(last_.word(),
                                                                   std::memory_order_release);
      return;
    }
    last_ = Row{number};
    const std::uint32_t slot = rows_ % NodeControlBlock::refusals;
    left.refused_before[slot].store(before, std::memory_order_release);
    left.refused[slot].store(last_.word(), std::memory_order_release);
    left.refused_rows.store(++rows_, std::memory_order_release);
  }

  /// A peer that has refused a request that this rank has started, of a number up to `last`; or of
  /// which too many rows are lost to know. −1: none has.
  int find(std::uint32_t last) {
    for (int r = 0; r < control_.ranks(); ++r) {
      if (r == rank_) continue;
      Peer& peer = peers_[static_cast<std::size_t>(r)];
      if (!observe(r, peer) || refused_what_was_started(peer, last)) return r;
    }
    return -1;
  }

 private:
  /// count numbers: first, first + step, ...
  struct Row {
    Row() noexcept = default;
    explicit Row(std::uint32_t number) noexcept : first(number) {}

    static Row of(std::uint64_t word) noexcept {
      Row row{static_cast<std::uint32_t>(word >> 32)};
      row.step = static_cast<std::uint32_t>(word) >> 24;
      row.count = static_cast<std::uint32_t>(word) & most;
      return row;
    }
    std::uint64_t word() const noexcept {
      return (std::uint64_t{first} << 32) | (step << 24) | count;
    }
    std::uint32_t at(std::uint32_t i) const noexcept { return first + i * step; }

    /// False: the number begins another row.
    bool append(std::uint32_t number) noexcept {
      const std::uint32_t distance = number - at(count - 1);
      if (distance > longest_step || (count > 1 && distance != step) || count == most) return false;
      step = distance;
      ++count;
      return true;
    }

    static constexpr std::uint32_t longest_step = 0xff;
    static constexpr std::uint32_t most = 0xffffff;
    std::uint32_t first = 0;
    std::uint32_t step = 0;
    std::uint32_t count = 1;
  };

  struct Own {
    std::uint32_t number;
    std::uint64_t before;  ///< (how many, hash of them)
  };

  struct Peer {
    detail::Vector<Row> rows;  ///< those seen whose numbers this rank has not come to
    std::uint32_t last = 0;    ///< rows.back() is its row of that number, and may grow
    std::uint32_t taken = 0;   ///< of rows.front()
    std::size_t own = 0;       ///< of here_: those below the numbers taken
  };

  std::uint64_t before_next() const noexcept {
    if (here_.empty()) return 0;
    const Own& own = here_.back();
    auto hash = (static_cast<std::uint32_t>(own.before) ^ own.number) * 0x9e3779b1U;
    hash ^= hash >> 15;
    return (std::uint64_t{here_.size()} << 32) | hash;
  }

  /// Returns true if this rank has refused the same calls before.
  bool has_refused(std::uint64_t before) const noexcept {
    const auto count = static_cast<std::size_t>(before >> 32);
    if (count > here_.size()) return false;
    return before == (count == here_.size() ? before_next() : here_[count].before);
  }

  /// False: some numbers are lost.
  bool observe(int r, Peer& peer) {
    constexpr std::uint32_t kept =
        NodeControlBlock::refusals - 1;  // the next row may be being written
    const auto& left = control_.left(r);
    for (;;) {
      const std::uint32_t rows = left.refused_rows.load(std::memory_order_acquire);
      if (rows == 0) return true;
      std::uint32_t begin = peer.last;
      const bool missed = rows - begin > kept;
      if (missed) begin = rows - kept;
      const std::uint64_t before =
          left.refused_before[begin % NodeControlBlock::refusals].load(std::memory_order_acquire);
      std::array<std::uint64_t, kept> words{};
      for (std::uint32_t i = begin; i != rows; ++i) {
        words[i - begin] =
            left.refused[i % NodeControlBlock::refusals].load(std::memory_order_acquire);
      }
      // Some may have been overwritten while they were read.
      if (left.refused_rows.load(std::memory_order_acquire) - begin > kept) continue;
      if (missed) {
        if (!has_refused(before)) return false;
        peer.taken = 0;
        peer.own = static_cast<std::size_t>(before >> 32);
        peer.rows.clear();
      } else if (!peer.rows.empty()) {
        peer.rows.pop_back();  // comes again
      }
      for (std::uint32_t i = begin; i != rows; ++i) peer.rows.push_back(Row::of(words[i - begin]));
      peer.last = rows - 1;
      return true;
    }
  }

  /// Goes through a peer's numbers up to `last`. The first that this rank has not refused stays
  /// where it is.
  bool refused_what_was_started(Peer& peer, std::uint32_t last) {
    while (!peer.rows.empty()) {
      const Row& row = peer.rows.front();
      for (; peer.taken != row.count; ++peer.taken) {
        const std::uint32_t number = row.at(peer.taken);
        if (!epoch_reached(last, number)) return false;
        while (peer.own != here_.size() && !epoch_reached(here_[peer.own].number, number)) {
          ++peer.own;
        }
        if (peer.own == here_.size() || here_[peer.own].number != number) return true;
      }
      if (peer.rows.size() == 1) return false;  // it may grow
      peer.rows.erase(peer.rows.begin());
      peer.taken = 0;
    }
    return false;
  }

  NodeControlBlock control_;
  int rank_;
  detail::Vector<Own> here_;  ///< by number
  std::uint32_t rows_ = 0;    ///< of here_
  Row last_;                  ///< of them
  detail::Vector<Peer> peers_;
};

/// Where the ranks of a node wait for each other before something that blocks in MPI until all are
/// there: a rank that waits in papcoll does what late ranks still need of it, and none that cannot
/// go on leaves the others alone in MPI. One rank's view.
class NodeRendezvous {
 public:
  /// The rendezvous of a node's ranks. Used for the first time when the control block is new.
  NodeRendezvous(NodeControlBlock control, Doorbells bells) noexcept
      : control_(control), bells_(bells) {}

  /// This rank is there.
  void arrive() noexcept {
    all_ += static_cast<std::uint32_t>(control_.ranks());
    if (word().fetch_add(1, std::memory_order_seq_cst) + 1 == all_) bells_.ring_all();
  }

  /// Returns true if every rank of the node has arrived, and none has closed the rendezvous.
  bool is_open() const noexcept {
    const std::uint32_t came = word().load(std::memory_order_seq_cst);
    return (came & closed) == 0 && came >= all_;
  }

  /// Returns true if a rank has closed it.
  bool is_closed() const noexcept { return (word().load(std::memory_order_seq_cst) & closed) != 0; }

  /// This rank cannot go on. False: too late, all are there, and this one has to go with them.
  bool close() noexcept {
    std::uint32_t came = word().load(std::memory_order_seq_cst);
    while (came < all_) {  // what is closed is above
      if (word().compare_exchange_weak(came, came | closed, std::memory_order_seq_cst)) return true;
    }
    return (came & closed) != 0;
  }

 private:
  static constexpr std::uint32_t closed = NodeControlBlock::Abort::closed;

  NodeControlBlock::Atomic<std::uint32_t>& word() const noexcept { return control_.abort().gate; }

  NodeControlBlock control_;
  Doorbells bells_;
  std::uint32_t all_ = 0;  ///< what it shows when all are there
};

}  // namespace papcoll::inline PAPCOLL_ABI
