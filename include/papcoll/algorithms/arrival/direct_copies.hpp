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
  void begin(CallContext auto& ctx, const Call& c, bool pulls) {
    pulls_ = pulls;
    bcast_ = c.collective == Collective::bcast;
    gives_ = !bcast_ || ctx.rank() == c.root;
    takes_ = !bcast_ || ctx.rank() != c.root;
    const auto ranks = static_cast<std::uint32_t>(ctx.size());
    if (bcast_) {
      parts_ = Chunks::at_most(words, 2 * ctx.chunk_bytes(), c.count, c.reducer.size);
      pieces_ = parts_.count;
    } else {
      givers_ = (ranks + words - 1) / words;
      pieces_ = (ranks + givers_ - 1) / givers_;
    }
    if (gives_) mine_.in = ctx.peers().place(c.in, c.bytes());
    if (takes_) mine_.out = ctx.peers().place(c.out, bcast_ ? c.bytes() : c.bytes() * ranks);
    std::fill_n(ctx.pending(), ctx.size(), 0);
    ctx.expose(mine_, 0);
  }

  /// False, too, if the call has failed, or must go another way.
  bool step(CallContext auto& ctx, const Call& c) {
    for (;;) {
      if (!meet(ctx, c)) return false;
      const Outcome o = copy_next(ctx, c);
      if (o == Outcome::failed) return false;
      if (o == Outcome::moved) continue;
      if (is_done(ctx, c)) return true;
      if (!bcast_ || !gives_ || !pool_next(ctx, c)) return false;
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
  bool is_there(CallContext auto& ctx, int r) const { return ctx.pending()[r] != 0; }

  /// Looks who has arrived. False if a rank's call is not the same, or its data cannot be reached.
  bool meet(CallContext auto& ctx, const Call& c) {
    for (int r = 0; r < ctx.size() && met_ < ctx.size(); ++r) {
      // A bcast's readers have to do with the root only.
      if (is_there(ctx, r) || (!gives_ && r != c.root && r != ctx.rank())) continue;
      if (!ctx.arrived(r, 0)) continue;
      if (!matched(ctx, r)) return false;
      ctx.pending()[r] = 1;
      if (++met_ == ctx.size()) ctx.note_all_arrived();
      const bool its_data_count = !bcast_ || r == c.root;
      if (its_data_count && ctx.exposed_by(r).in.mapped == 0 && !pulls_) unreachable_ = true;
    }
    return !unreachable_;
  }

  /// Copies a piece that is there and that no rank has taken up: to this rank, or, while it waits,
  /// to one whose output it sees.
  Outcome copy_next(CallContext auto& ctx, const Call& c) {
    if (kept_) return Outcome::idle;
    for (int i = 0; i < ctx.size(); ++i) {
      const int receiver = (ctx.rank() + i) % ctx.size();
      if (i == 0 ? !takes_ : !gives_ || !helps(ctx, c, receiver)) continue;
      // Ranks begin at pieces far from each other.
      const std::uint32_t start =
          static_cast<std::uint32_t>(ctx.rank()) * pieces_ / static_cast<std::uint32_t>(ctx.size());
      for (std::uint32_t j = 0; j < pieces_; ++j) {
        const std::uint32_t piece = (start + j) % pieces_;
        const std::uint32_t w = word(receiver, piece);
        const std::uint32_t before = ctx.work(w);
        const bool is_free = before == 0 || before == closed;
        if (!is_free || !has_come(ctx, c, piece) || !ctx.try_claim(w, before, busy)) continue;
        if (!ctx.begin_reading()) {
          ctx.unclaim(w, before);
          return Outcome::failed;
        }
        copy(ctx, c, receiver, piece);
        if (!ctx.end_reading()) {
          ctx.unclaim(w, before);
          return Outcome::failed;
        }
        ctx.complete(w, copied);
        return Outcome::moved;
      }
    }
    return Outcome::idle;
  }

  bool helps(CallContext auto& ctx, const Call& c, int receiver) const {
    return is_there(ctx, receiver) && (!bcast_ || receiver != c.root) &&
           ctx.exposed_by(receiver).out.mapped != 0;
  }

  int first_giver(std::uint32_t piece) const noexcept { return static_cast<int>(piece * givers_); }
  int last_giver(const CallContext auto& ctx, std::uint32_t piece) const noexcept {
    return std::min(ctx.size(), static_cast<int>((piece + 1) * givers_)) - 1;
  }

  /// Returns true if the ranks whose data the piece holds have arrived.
  bool has_come(CallContext auto& ctx, const Call& c, std::uint32_t piece) const {
    if (bcast_) return is_there(ctx, c.root);
    for (int r = first_giver(piece); r <= last_giver(ctx, piece); ++r) {
      if (!is_there(ctx, r)) return false;
    }
    return true;
  }

  void copy(CallContext auto& ctx, const Call& c, int receiver, std::uint32_t piece) {
    std::byte* const out =
        receiver == ctx.rank() ? c.out : ctx.peers().see(ctx.exposed_by(receiver).out);
    if (bcast_) {
      BufferPlace from = ctx.rank() == c.root ? mine_.in : ctx.exposed_by(c.root).in;
      // If the root has closed the piece, this rank sees the pool: it took up the same word.
      if (ctx.rank() != c.root && ctx.stage_reached(c.root, 1)) {
        std::byte place[NodeControlBlock::inline_bytes];
        ctx.read(place, ctx.chunk_buffer(c.root, 0), sizeof from);
        std::memcpy(&from, place, sizeof from);
      }
      const std::size_t at = parts_.offset(piece);
      copy_from(ctx, c, receiver, out + at, c.root, from, at, parts_.bytes(piece));
      return;
    }
    for (int r = first_giver(piece); r <= last_giver(ctx, piece); ++r) {
      std::byte* const to = out + static_cast<std::size_t>(r) * c.bytes();
      copy_from(ctx, c, receiver, to, r, r == ctx.rank() ? mine_.in : ctx.exposed_by(r).in, 0,
                c.bytes());
    }
  }

  /// Copies to a receiver: n bytes of rank r, `at` bytes into the buffer at `place`.
  static void copy_from(CallContext auto& ctx, const Call& c, int receiver, std::byte* to, int r,
                        const BufferPlace& place, std::size_t at, std::size_t n) {
    const std::byte* const from = r == ctx.rank() ? c.in + at : reach(ctx, r, place, at, n, to);
    if (from == to) return;
    if (receiver == ctx.rank()) return ctx.read(to, from, n);
    ctx.write(to, from, n);
  }

  bool is_done(CallContext auto& ctx, const Call& c) const {
    if (kept_) return none_busy(ctx);
    if (bcast_ && gives_) return met_ == ctx.size() && all_have_all(ctx, c);
    if (!has_all(ctx, ctx.rank())) return false;
    if (bcast_) return true;
    const std::uint32_t mine = static_cast<std::uint32_t>(ctx.rank()) / givers_;
    for (int r = 0; r < ctx.size(); ++r) {
      if (ctx.work(word(r, mine)) != copied) return false;
    }
    return true;
  }

  bool has_all(CallContext auto& ctx, int receiver) const {
    for (std::uint32_t p = 0; p < pieces_; ++p) {
      if (ctx.work(word(receiver, p)) != copied) return false;
    }
    return true;
  }

  // --- the root of a bcast

  /// Returns true if every rank that has arrived has the whole message.
  bool all_have_all(CallContext auto& ctx, const Call& c) const {
    for (int r = 0; r < ctx.size(); ++r) {
      if (r != c.root && is_there(ctx, r) && !has_all(ctx, r)) return false;
    }
    return true;
  }

  bool none_busy(CallContext auto& ctx) const {
    for (int r = 0; r < ctx.size(); ++r) {
      for (std::uint32_t p = 0; p < pieces_; ++p) {
        if (ctx.work(word(r, p)) == busy) return false;
      }
    }
    return true;
  }

  /// Copies the next piece to the pool, for those who have not arrived. False if there is nothing
  /// to do now, or no pool that they could reach.
  bool pool_next(CallContext auto& ctx, const Call& c) {
    if (kept_ || !all_have_all(ctx, c)) return false;
    if (pooled_ == 0) {
      pool_ = ctx.pool(c.bytes());
      place_ = ctx.peers().place(pool_, c.bytes());
      if ((place_.mapped == 0 && !ctx.peers().pulls()) || !ctx.use_pool()) return false;
    }
    ctx.write(pool_ + parts_.offset(pooled_), c.in + parts_.offset(pooled_), parts_.bytes(pooled_));
    if (++pooled_ == pieces_) {
      ctx.write(ctx.chunk_buffer(ctx.rank(), 0), reinterpret_cast<const std::byte*>(&place_),
                sizeof place_);
      ctx.publish_stage(1);
      kept_ = true;
      close(ctx);
    }
    return true;
  }

  /// Once the pool is told of: whoever has taken a piece up before may read the root's buffer, for
  /// which the root waits, and whoever does after it sees the pool, since both change one word.
  /// Only to look which are busy would not do: another rank may take one up while what tells of the
  /// pool is on its way.
  void close(CallContext auto& ctx) const {
    for (int r = 0; r < ctx.size(); ++r) {
      if (r == ctx.rank()) continue;
      for (std::uint32_t p = 0; p < pieces_; ++p) ctx.try_claim(word(r, p), 0, closed);
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
