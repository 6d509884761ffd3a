// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/arrival/shared_steps.hpp>
#include <papcoll/algorithms/arrival/tags.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/node/call_context.hpp>
#include <papcoll/schedule/range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// Elements of a reduce_scatter's input, on every rank.
inline std::size_t elements_of_all_blocks(const Call& c, int ranks) noexcept {
  return c.counts != nullptr ? c.count : c.count * static_cast<std::size_t>(ranks);
}

/// The elements of a reduce_scatter that rank r gets.
inline Range block_of(const Call& c, int r) noexcept {
  const auto rank = static_cast<std::size_t>(r);
  if (c.counts == nullptr) return {rank * c.count, (rank + 1) * c.count};
  std::size_t first = 0;
  for (std::size_t i = 0; i < rank; ++i) first += c.counts[i];
  return {first, first + c.counts[rank]};
}

/// One bcast or scatter of one rank: what LeaderFan and Exchange have in common.
///
/// Phases: The root copies the message to its chunk buffers, chunk by chunk, and leaves. Whoever is
///   there reads it, or of a scatter its block. Only a message with more chunks than a rank
///   has buffers makes the root wait, for the slowest reader of the chunk it would overwrite.
/// Cost: One flag; n bytes written once, and read by each rank or, of a scatter, once.
/// Limits: One node. If the calls do not match, a rank that throws may hold the first chunks of a
///   message of several chunks: a reader does not wait for ranks that have not arrived.
///
///     root's buffers   [k]  [k+1]  [k+2]  [k+3]        reader r has raised its flag to j:
///     overwritten once all flags are above k           it has read all chunks below j
class FanOut {
 public:
  bool step(CallContext auto& ctx, const Call& c) {
    if (!begun_) begin(ctx, c);
    return ctx.rank() == c.root ? give(ctx, c) : accept(ctx, c);
  }

 private:
  void begin(CallContext auto& ctx, const Call& c) {
    begun_ = true;
    const bool scatters = c.collective == Collective::scatter;
    const std::size_t all = scatters ? c.count * static_cast<std::size_t>(ctx.size()) : c.count;
    chunks_ = Chunks{all, c.reducer.size, ctx.chunk_bytes()};
    wanted_ = scatters ? block_of(c, ctx.rank()) : Range{0, all};
    const std::size_t bytes = all * c.reducer.size;
    small_ = bytes <= NodeControlBlock::inline_bytes;
    if (ctx.rank() != c.root) {
      // In a scatter this rank needs none of the chunks before its block.
      done_ = static_cast<std::uint32_t>(wanted_.lo / chunks_.per_chunk);
      ctx.announce(nullptr, 0, chunks_.count > ctx.buffers() ? done_ : 0);
    } else if (small_) {
      ctx.announce(c.in, bytes, 1);
      done_ = 1;
    } else {
      ctx.announce(nullptr, 0, 0);
    }
  }

  bool give(CallContext auto& ctx, const Call& c) {
    for (; done_ < chunks_.count; ++done_) {
      if (done_ >= ctx.buffers() && !room(ctx, c)) return false;
      ctx.write(ctx.chunk_buffer(c.root, done_), c.in + chunks_.offset(done_),
                chunks_.bytes(done_));
      if (done_ == 0) ctx.expect_again(0, chunks_.bytes(0));
      ctx.publish(done_ + 1, everyone);
    }
    if (c.collective == Collective::scatter && !c.in_place()) {
      ctx.read(c.out, c.in + wanted_.lo * chunks_.size, wanted_.size() * chunks_.size);
    }
    return true;
  }

  /// Returns true if every rank has read the chunk that chunk done_ overwrites.
  bool room(CallContext auto& ctx, const Call& c) {
    return all_pass(next_, ctx.size(), [&](int r) {
      return r == c.root || (ctx.arrived(r, done_ - ctx.buffers() + 1) && matched(ctx, r));
    });
  }

  bool accept(CallContext auto& ctx, const Call& c) {
    for (; chunks_.first(done_) < wanted_.hi; ++done_) {
      if (!ctx.arrived(c.root, done_ + 1)) {
        if (!small_) ctx.expect(c.root, done_, 0, chunks_.bytes(done_));
        return false;
      }
      if (!met_ && !matched(ctx, c.root)) return false;
      met_ = true;
      const std::size_t first = chunks_.first(done_);
      const std::size_t lo = std::max(wanted_.lo, first);
      const std::size_t hi = std::min(wanted_.hi, first + chunks_.length(done_));
      const std::byte* const chunk = small_ ? ctx.small(c.root) : ctx.chunk_buffer(c.root, done_);
      ctx.read(c.out + (lo - wanted_.lo) * chunks_.size, chunk + (lo - first) * chunks_.size,
               (hi - lo) * chunks_.size);
      if (chunks_.count > ctx.buffers()) ctx.publish(done_ + 1, c.root);
    }
    if (chunks_.count > ctx.buffers() && done_ < chunks_.count) ctx.publish(chunks_.count, c.root);
    return true;
  }

  Chunks chunks_;
  Range wanted_;            ///< the elements this rank takes
  std::uint32_t done_ = 0;  ///< chunks given by the root, or that another rank needs no more
  int next_ = 0;            ///< root: the rank looked at next
  bool begun_ = false;
  bool small_ = false;
  bool met_ = false;  ///< the root's call was looked at
};

}  // namespace detail

/// One call of one rank by Exchange: all read all.
///
/// Phases: 1. Each rank writes its contribution to its chunk buffers and raises its flag.
///   2. Each rank, once all flags are up, reads all chunk buffers and computes the result
///      itself, or of a reduce_scatter its own block.
///   A chunk of a reduce_scatter has a piece of each block, so that all ranks combine at the
///   same time; what a rank wants itself it leaves where it is.
/// Cost: One flag each way: no algorithm has fewer steps after the last arrival. P·n bytes read
///   by each rank, so P² n on the node. Of a reduce_scatter with blocks of n bytes each rank
///   writes and reads (P−1)·n.
///   Of a reduce and a gather only the root reads; a bcast and a scatter are FanOut.
/// Prefer: For the smallest messages, and for two ranks up to a few KB; always for allgather.
/// Limits: One node. Above a few KB the P² n of a node's memory traffic loses to MultiLeader.
/// Contract: Reproducible: every rank combines in rank order.
///
///     buffer 0 buffer 1 buffer 2           each rank reads the whole row
///     [a]      [b]      [c]       →      rank 0: a∘b∘c   rank 1: a∘b∘c   rank 2: a∘b∘c
///
/// Source: Folklore of shared-memory MPI libraries ("flat" or "all-to-all" reduction); the flags
///   with the payload in their own cache line are those of Graham & Shipman, "MPI support for
///   multi-core architectures: optimized shared memory collectives" (2008).
class Exchange::Run {
 public:
  bool step(CallContext auto& ctx, const Call& c) {
    if (fans_out(c)) return fan_out_.step(ctx, c);
    if (!begun_) begin(ctx, c);
    const bool reads = !writes_ || !to_root(c);
    if (small_) return !reads || take_next(ctx, c);
    for (;;) {
      const bool wrote = writes_ && write_next(ctx, c);
      const bool took = reads && take_next(ctx, c);
      if (taken_ == chunks_.count || (!reads && written_ == chunks_.count)) return true;
      if (!wrote && !took) return false;
    }
  }

 private:
  static bool fans_out(const Call& c) noexcept {
    return c.collective == Collective::bcast || c.collective == Collective::scatter;
  }
  static bool to_root(const Call& c) noexcept {
    return c.collective == Collective::reduce || c.collective == Collective::gather;
  }

  void begin(CallContext auto& ctx, const Call& c) {
    begun_ = true;
    const bool scatters = c.collective == Collective::reduce_scatter;
    const std::size_t all = scatters ? detail::elements_of_all_blocks(c, ctx.size()) : c.count;
    wanted_ = scatters ? detail::block_of(c, ctx.rank()) : Range{0, all};
    const std::size_t bytes = all * c.reducer.size;
    small_ = bytes <= NodeControlBlock::inline_bytes;
    chunks_ =
        small_ ? Chunks::one(all, c.reducer.size) : Chunks{all, c.reducer.size, ctx.chunk_bytes()};
    // A root keeps its contribution to itself; its count acknowledges chunks.
    writes_ = !(to_root(c) && ctx.rank() == c.root);
    // In place, the first combination of a chunk is written over it.
    own_stays_ = !writes_ || !c.in_place() || (ctx.rank() < 2 && !scatters);
    if (scatters && !small_) cut_blocks(ctx, c);
    if (small_) {
      ctx.announce(c.in, bytes, 1);
      written_ = 1;
    } else if (!writes_) {
      ctx.announce(nullptr, 0, 0);
    }
  }

  /// Of a reduce_scatter: chunks with a piece of each block, if they hold an element of each.
  void cut_blocks(CallContext auto& ctx, const Call& c) {
    const auto ranks = static_cast<std::size_t>(ctx.size());
    const std::size_t longest =
        c.counts != nullptr ? *std::max_element(c.counts, c.counts + ranks) : c.count;
    const std::size_t line = std::max(cache_line / chunks_.size, std::size_t{1});
    piece_ = chunks_.per_chunk / ranks;
    if (piece_ > line) piece_ -= piece_ % line;
    if (piece_ == 0) return;
    piece_ = std::min(piece_, longest);
    chunks_.count = static_cast<std::uint32_t>((longest + piece_ - 1) / piece_);
  }

  /// Calls f(at, piece) for the elements of rank r's block that are in a chunk, `at` bytes into it.
  void with_piece(int r, const Range& block, std::uint32_t chunk, auto&& f) const {
    const std::size_t lo = std::min(block.lo + chunk * piece_, block.hi);
    f(static_cast<std::size_t>(r) * piece_ * chunks_.size,
      Range{lo, std::min(lo + piece_, block.hi)});
  }

  /// Returns true if the peer has room for chunk written_ in this rank's chunk buffers.
  bool may_write(CallContext auto& ctx, const Call& c) const {
    if (to_root(c)) {
      return written_ < ctx.buffers() || ctx.arrived(c.root, written_ - ctx.buffers() + 1);
    }
    // A count of k means that its rank has read all chunks below k − buffers/2, and this rank read
    // chunk t only when all counts were above t: so all have read what chunk written_ overwrites.
    return written_ < taken_ + ctx.buffers() / 2;
  }

  bool write_next(CallContext auto& ctx, const Call& c) {
    if (written_ == chunks_.count || !may_write(ctx, c)) return false;
    std::byte* const chunk = ctx.chunk_buffer(ctx.rank(), written_);
    if (piece_ != 0) {
      write_pieces(ctx, c, chunk);
    } else {
      ctx.write(chunk, c.in + chunks_.offset(written_), chunks_.bytes(written_));
    }
    if (++written_ == 1) ctx.expect_again(0, bytes_of_chunk(ctx, 0));
    detail::show_chunks(ctx, written_, to_root(c) ? c.root : everyone);
    return true;
  }

  void write_pieces(CallContext auto& ctx, const Call& c, std::byte* chunk) {
    Range block;
    for (int r = 0; r < ctx.size(); ++r) {
      block = {block.hi, block.hi + (c.counts != nullptr ? c.counts[r] : c.count)};
      if (r == ctx.rank() && own_stays_) continue;
      with_piece(r, block, written_, [&](std::size_t at, const Range& piece) {
        ctx.write(chunk + at, c.in + piece.lo * chunks_.size, piece.size() * chunks_.size);
      });
    }
  }
  std::size_t bytes_of_chunk(const CallContext auto& ctx, std::uint32_t k) const noexcept {
    if (piece_ == 0) return chunks_.bytes(k);
    return static_cast<std::size_t>(ctx.size()) * piece_ * chunks_.size;
  }

  bool take_next(CallContext auto& ctx, const Call& c) {
    if (taken_ == chunks_.count) return false;
    // Written out: with all_pass() short calls are slower.
    for (; next_ < ctx.size(); ++next_) {
      if (next_ == ctx.rank()) continue;  // its own chunk is there: writing comes first
      if (!ctx.arrived(next_, taken_ + 1)) {
        if (!small_) ctx.expect(next_, taken_, 0, bytes_of_chunk(ctx, taken_));
        return false;
      }
      if (taken_ == 0 && !detail::matched(ctx, next_)) return false;
    }
    next_ = 0;
    ctx.note_all_arrived();
    if (c.collective == Collective::allgather || c.collective == Collective::gather) {
      collect(ctx, c);
    } else if (c.collective != Collective::barrier) {
      combine(ctx, c);
    }
    ++taken_;
    if (!writes_ && chunks_.count > ctx.buffers()) ctx.publish(taken_, everyone);
    return true;
  }

  /// Returns what rank r brought to chunk taken_, from `at` bytes on. This rank's own it reads
  /// where its caller has it, from element `lo` on: a line that a peer has read may have moved to
  /// the peer.
  const std::byte* contribution(CallContext auto& ctx, const Call& c, int r, std::size_t lo,
                                std::size_t at) const {
    if (r == ctx.rank() && own_stays_) return c.in + lo * chunks_.size;
    return (small_ ? ctx.small(r) : ctx.chunk_buffer(r, taken_)) + at;
  }

  /// Combines what this rank wants of the chunk.
  void combine(CallContext auto& ctx, const Call& c) {
    if (piece_ != 0) {
      return with_piece(ctx.rank(), wanted_, taken_,
                        [&](std::size_t at, const Range& piece) { combine(ctx, c, piece, at); });
    }
    const std::size_t begin = chunks_.first(taken_);
    const std::size_t end = begin + chunks_.length(taken_);
    const Range now{std::max(wanted_.lo, begin), std::min(wanted_.hi, end)};
    combine(ctx, c, now, (now.lo - begin) * chunks_.size);
  }

  /// Combines these elements, which are `at` bytes into the chunk. In place, a reduce_scatter
  /// writes them at or below their place in the input, and so not over what has still to go to the
  /// chunk buffers: of every block, all up to that place in the block has gone there.
  void combine(CallContext auto& ctx, const Call& c, const Range& now, std::size_t at) {
    if (now.lo >= now.hi) return;
    const std::size_t n = now.size();
    std::byte* const out = c.out + (now.lo - wanted_.lo) * chunks_.size;
    const auto of = [&](int r) { return contribution(ctx, c, r, now.lo, at); };
    if (ctx.size() == 1) {
      if (of(0) != out) ctx.read(out, of(0), n * chunks_.size);
      return;
    }
    // In place, the root of a reduce still has its contribution in `out`: the others' first.
    if (!writes_ && c.in_place() && ctx.rank() > 1) {
      std::byte* const partial = ctx.chunk_buffer(ctx.rank(), taken_);
      ctx.reduce(partial, of(0), of(1), n);
      for (int r = 2; r < ctx.size(); ++r) {
        ctx.reduce(r + 1 < ctx.size() ? partial : out, partial, of(r), n);
      }
      return;
    }
    ctx.reduce(out, of(0), of(1), n);
    for (int r = 2; r < ctx.size(); ++r) ctx.reduce(out, out, of(r), n);
  }

  void collect(CallContext auto& ctx, const Call& c) {
    for (int r = 0; r < ctx.size(); ++r) {
      const bool own = r == ctx.rank();
      if (own && c.in == c.out + static_cast<std::size_t>(r) * c.bytes()) continue;
      const std::byte* const from =
          own ? c.in + chunks_.offset(taken_) : contribution(ctx, c, r, 0, 0);
      ctx.read(c.out + static_cast<std::size_t>(r) * c.bytes() + chunks_.offset(taken_), from,
               chunks_.bytes(taken_));
    }
  }

  detail::FanOut fan_out_;
  Chunks chunks_;
  Range wanted_;               ///< the elements this rank combines
  std::size_t piece_ = 0;      ///< elements of each block in a chunk; 0: chunks are of the vector
  std::uint32_t written_ = 0;  ///< chunks in this rank's chunk buffers so far
  std::uint32_t taken_ = 0;    ///< chunks this rank has its result of
  int next_ = 0;               ///< the rank looked at next
  bool begun_ = false;
  bool small_ = false;
  bool writes_ = true;
  bool own_stays_ = true;  ///< its own contribution is in its input until it has been combined
};

namespace detail {
PAPCOLL_ARRIVAL_ALGORITHM(StaticOrder, Exchange)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
