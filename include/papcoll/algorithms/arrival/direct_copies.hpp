// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/arrival/shared_steps.hpp>
#include <papcoll/node/call_context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// One bcast or allgather of one rank, by arrival, from buffer to buffer.
///
/// Phases: What a rank is to receive is cut in up to 16 pieces: parts of a bcast's message, or the
///   contributions of an allgather. A piece is copied as soon as those whose data it is and
///   its receiver are there, by the receiver or by a rank that waits anyway and sees the
///   receiver's output; whoever takes up the piece's work word does it.
///   An allgather's rank leaves when it has all pieces and all have its own. A bcast's root
///   leaves when all have the message, or when those who have arrived do and it has copied
///   the message to its pool, for those who arrive later.
/// Cost: After the last arrival, where outputs are seen by all: an allgather's (P−1)·n bytes for
///   the last one are copied by all ranks together, besides n bytes of its own to each; else
///   by it alone. A bcast's late rank copies n bytes, and delays no other.
/// Limits: One node. Needs contributions that peers reach: see unreachable(). With more than 16
///   ranks a piece of an allgather is that of several neighbours, and waits for all of them.
///
///     receiver     0          1          2          contributions a b c; rank 2 arrives last:
///     pieces     [a b ·]    [a b ·]    (absent)     0 and 1 have copied from each other
///                [a b c]    [a b c]    [a b c]      each takes up pieces, those of 2 included
///
/// Source: PAP-aware bcast: P. Patarasuk, X. Yuan, "Efficient MPI_Bcast across different process
///   arrival patterns", IPDPS 2008. Sharing a late rank's copies is papcoll's own.
class DirectCopies {
 public:
  /// Announces this rank. `pulls`: the kernel's copies serve where a peer's data are not seen.
  void begin(CallContext auto& s, const Call& c, bool pulls) {
    pulls_ = pulls;
    bcast_ = c.collective == Collective::bcast;
    gives_ = !bcast_ || s.rank() == c.root;
    takes_ = !bcast_ || s.rank() != c.root;
    const auto ranks = static_cast<std::uint32_t>(s.size());
    if (bcast_) {
      parts_ = Chunks::at_most(words, 2 * s.chunk_bytes(), c.count, c.reducer.size);
      pieces_ = parts_.count;
    } else {
      givers_ = (ranks + words - 1) / words;
      pieces_ = (ranks + givers_ - 1) / givers_;
    }
    if (gives_) mine_.in = s.peers().place(c.in, c.bytes());
    if (takes_) mine_.out = s.peers().place(c.out, bcast_ ? c.bytes() : c.bytes() * ranks);
    std::fill_n(s.pending(), s.size(), 0);
    s.expose(mine_, 0);
  }

  /// False, too, if the call has failed, or must go another way.
  bool step(CallContext auto& s, const Call& c) {
    for (;;) {
      if (!meet(s, c)) return false;
      const Outcome o = copy_next(s, c);
      if (o == Outcome::failed) return false;
      if (o == Outcome::moved) continue;
      if (is_done(s, c)) return true;
      if (!bcast_ || !gives_ || !pool_next(s, c)) return false;
    }
  }

  /// A contribution was met that cannot be reached where it is. All ranks find that, and none
  /// completes the call here.
  bool unreachable() const noexcept { return unreachable_; }

 private:
  static constexpr std::uint32_t words = NodeControlBlock::work_chunks;
  // States of a work word.
  static constexpr WorkTag tag{"DirectCopies"};
  static constexpr std::uint32_t busy = tag.state(1);
  static constexpr std::uint32_t copied = tag.state(2);
  static constexpr std::uint32_t closed = tag.state(3);  ///< to be copied from the root's pool

  enum class Outcome { idle, moved, failed };

  static std::uint32_t word(int receiver, std::uint32_t piece) noexcept {
    return static_cast<std::uint32_t>(receiver) * words + piece;
  }
  bool is_there(CallContext auto& s, int r) const { return s.pending()[r] != 0; }

  /// Looks who has arrived. False if a rank's call is not the same, or its data cannot be reached.
  bool meet(CallContext auto& s, const Call& c) {
    for (int r = 0; r < s.size() && met_ < s.size(); ++r) {
      // A bcast's readers have to do with the root only.
      if (is_there(s, r) || (!gives_ && r != c.root && r != s.rank())) continue;
      if (!s.arrived(r, 0)) continue;
      if (!matched(s, r)) return false;
      s.pending()[r] = 1;
      if (++met_ == s.size()) s.note_all_arrived();
      const bool its_data_count = !bcast_ || r == c.root;
      if (its_data_count && s.exposed_by(r).in.mapped == 0 && !pulls_) unreachable_ = true;
    }
    return !unreachable_;
  }

  /// Copies a piece that is there and that no rank has taken up: to this rank, or, while it waits,
  /// to one whose output it sees.
  Outcome copy_next(CallContext auto& s, const Call& c) {
    if (kept_) return Outcome::idle;
    for (int i = 0; i < s.size(); ++i) {
      const int receiver = (s.rank() + i) % s.size();
      if (i == 0 ? !takes_ : !gives_ || !helps(s, c, receiver)) continue;
      // Ranks begin at pieces far from each other.
      const std::uint32_t start =
          static_cast<std::uint32_t>(s.rank()) * pieces_ / static_cast<std::uint32_t>(s.size());
      for (std::uint32_t j = 0; j < pieces_; ++j) {
        const std::uint32_t piece = (start + j) % pieces_;
        const std::uint32_t w = word(receiver, piece);
        const std::uint32_t before = s.work(w);
        const bool is_free = before == 0 || before == closed;
        if (!is_free || !has_come(s, c, piece) || !s.try_claim(w, before, busy)) continue;
        if (!s.begin_reading()) {
          s.unclaim(w, before);
          return Outcome::failed;
        }
        copy(s, c, receiver, piece);
        if (!s.end_reading()) {
          s.unclaim(w, before);
          return Outcome::failed;
        }
        s.complete(w, copied);
        return Outcome::moved;
      }
    }
    return Outcome::idle;
  }

  bool helps(CallContext auto& s, const Call& c, int receiver) const {
    return is_there(s, receiver) && (!bcast_ || receiver != c.root) &&
           s.exposed_by(receiver).out.mapped != 0;
  }

  int first_giver(std::uint32_t piece) const noexcept { return static_cast<int>(piece * givers_); }
  int last_giver(const CallContext auto& s, std::uint32_t piece) const noexcept {
    return std::min(s.size(), static_cast<int>((piece + 1) * givers_)) - 1;
  }

  /// Returns true if the ranks whose data the piece holds have arrived.
  bool has_come(CallContext auto& s, const Call& c, std::uint32_t piece) const {
    if (bcast_) return is_there(s, c.root);
    for (int r = first_giver(piece); r <= last_giver(s, piece); ++r) {
      if (!is_there(s, r)) return false;
    }
    return true;
  }

  void copy(CallContext auto& s, const Call& c, int receiver, std::uint32_t piece) {
    std::byte* const out = receiver == s.rank() ? c.out : s.peers().see(s.exposed_by(receiver).out);
    if (bcast_) {
      BufferPlace from = s.rank() == c.root ? mine_.in : s.exposed_by(c.root).in;
      // If the root has closed the piece, this rank sees the pool: it took up the same word.
      if (s.rank() != c.root && s.stage_reached(c.root, 1)) {
        std::byte place[NodeControlBlock::inline_bytes];
        s.read(place, s.chunk_buffer(c.root, 0), sizeof from);
        std::memcpy(&from, place, sizeof from);
      }
      const std::size_t at = parts_.offset(piece);
      copy_from(s, c, receiver, out + at, c.root, from, at, parts_.bytes(piece));
      return;
    }
    for (int r = first_giver(piece); r <= last_giver(s, piece); ++r) {
      std::byte* const to = out + static_cast<std::size_t>(r) * c.bytes();
      copy_from(s, c, receiver, to, r, r == s.rank() ? mine_.in : s.exposed_by(r).in, 0, c.bytes());
    }
  }

  /// Copies to a receiver: n bytes of rank r, `at` bytes into the buffer at `place`.
  static void copy_from(CallContext auto& s, const Call& c, int receiver, std::byte* to, int r,
                        const BufferPlace& place, std::size_t at, std::size_t n) {
    const std::byte* const from = r == s.rank() ? c.in + at : reach(s, r, place, at, n, to);
    if (from == to) return;
    if (receiver == s.rank()) return s.read(to, from, n);
    s.write(to, from, n);
  }

  bool is_done(CallContext auto& s, const Call& c) const {
    if (kept_) return none_busy(s);
    if (bcast_ && gives_) return met_ == s.size() && all_have_all(s, c);
    if (!has_all(s, s.rank())) return false;
    if (bcast_) return true;
    const std::uint32_t mine = static_cast<std::uint32_t>(s.rank()) / givers_;
    for (int r = 0; r < s.size(); ++r) {
      if (s.work(word(r, mine)) != copied) return false;
    }
    return true;
  }

  bool has_all(CallContext auto& s, int receiver) const {
    for (std::uint32_t p = 0; p < pieces_; ++p) {
      if (s.work(word(receiver, p)) != copied) return false;
    }
    return true;
  }

  // --- the root of a bcast

  /// Returns true if every rank that has arrived has the whole message.
  bool all_have_all(CallContext auto& s, const Call& c) const {
    for (int r = 0; r < s.size(); ++r) {
      if (r != c.root && is_there(s, r) && !has_all(s, r)) return false;
    }
    return true;
  }

  bool none_busy(CallContext auto& s) const {
    for (int r = 0; r < s.size(); ++r) {
      for (std::uint32_t p = 0; p < pieces_; ++p) {
        if (s.work(word(r, p)) == busy) return false;
      }
    }
    return true;
  }

  /// Copies the next piece to the pool, for those who have not arrived. False if there is nothing
  /// to do now, or no pool that they could reach.
  bool pool_next(CallContext auto& s, const Call& c) {
    if (kept_ || !all_have_all(s, c)) return false;
    if (pooled_ == 0) {
      pool_ = s.pool(c.bytes());
      place_ = s.peers().place(pool_, c.bytes());
      if ((place_.mapped == 0 && !s.peers().pulls()) || !s.use_pool()) return false;
    }
    s.write(pool_ + parts_.offset(pooled_), c.in + parts_.offset(pooled_), parts_.bytes(pooled_));
    if (++pooled_ == pieces_) {
      s.write(s.chunk_buffer(s.rank(), 0), reinterpret_cast<const std::byte*>(&place_),
              sizeof place_);
      s.publish_stage(1);
      kept_ = true;
      close(s);
    }
    return true;
  }

  /// Once the pool is told of: whoever has taken a piece up before may read the root's buffer, for
  /// which the root waits, and whoever does after it sees the pool, since both change one word.
  /// Only to look which are busy would not do: another rank may take one up while what tells of the
  /// pool is on its way.
  void close(CallContext auto& s) const {
    for (int r = 0; r < s.size(); ++r) {
      if (r == s.rank()) continue;
      for (std::uint32_t p = 0; p < pieces_; ++p) s.try_claim(word(r, p), 0, closed);
    }
  }

  Chunks parts_;               ///< bcast: the pieces
  BufferDescriptor mine_;      ///< this rank's buffers
  BufferPlace place_;          ///< of the pool
  std::byte* pool_ = nullptr;  ///< root: where the message is kept for late ranks
  std::uint32_t pieces_ = 1;   ///< of each receiver
  std::uint32_t givers_ = 1;   ///< allgather: ranks whose contributions make a piece
  std::uint32_t pooled_ = 0;   ///< root: pieces in the pool
  int met_ = 0;                ///< ranks that have arrived; pending() says which
  bool bcast_ = false;
  bool gives_ = false;  ///< others copy from this rank
  bool takes_ = false;
  bool pulls_ = false;
  bool kept_ = false;  ///< root: a rank that comes finds the message in the pool
  bool unreachable_ = false;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
