// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/arrival/shown_blocks.hpp>
#include <papcoll/algorithms/arrival/tags.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/call_context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

/// One call of one rank by BlockCopies: every rank copies the blocks meant for it.
///
/// Phases: 1. Each rank shows what it has for others: in the line of its flag, if that is all of
///      40 bytes, or of 32 for one rank where counts differ; in its chunk buffers, if it is
///      short, behind the blocks' lengths where counts differ and there are several;
///      where peers see its buffer, there; else in its pool, part by part; or in its buffer,
///      from where the kernel copies long blocks, if that is asked for: PeerReach.
///   2. Each rank copies its own block, and then those of the others, of whoever is there; it
///      fills up to 1 MB of its pool before.
///   3. A rank whose buffer is read waits until all have read their blocks. All others leave
///      when they have theirs.
/// Cost: One flag each way. Of n bytes that a rank gives and gets: 2n read and 2n written, or n
///   and n where buffers are seen. After the last arrival, its 2n bytes, and 1/P of that by
///   each of the others, at the same time.
/// Prefer: Always on one node, for alltoall, gather and scatter, and wherever counts differ; for
///   allgather with equal counts Exchange and PeerSlices share the work of a late rank.
/// Limits: One node. Where the pool is too small, blocks go through the chunk buffers in pieces,
///   two of each block at a time, and all ranks wait for the slowest. Counts that differ need
///   chunks of 8 bytes for each rank.
///
///     alltoall       rank 0         rank 1         rank 2
///     shown        a0 a1 a2       b0 b1 b2       (absent)
///     copied       a0 b0 ·        a1 b1 ·                       rank 2 comes:  a2 b2 c2
///     then         a0 b0 c0       a1 b1 c1
///
/// Source: Folklore of shared-memory MPI libraries; the pools, which let ranks leave before their
///   blocks are read, are papcoll's own.
class BlockCopies::Run : detail::ShownBlocks {
 public:
  bool step(CallContext auto& ctx, const Call& c) {
    if (!begun_) begin(ctx, c);
    for (;;) {
      const bool gave = give_next(ctx, c);
      while (gave && filled_ < taken_bytes_ + ahead && give_next(ctx, c)) continue;
      if (filled_ == shown_bytes_) copy_own(ctx, c);
      const bool took = take_next(ctx, c);
      if (failed_) return false;
      if (is_done(ctx)) return true;
      if (gave || took) continue;
      if (!copy_own(ctx, c)) return false;
    }
  }

 private:
  // pending()[r]: 0, r has not been met; else 1 and the parts of its block that are here, or −1,
  // all of it.

  /// A rank copies others' blocks when it has filled so many bytes more than it has copied, or
  /// all: what was written a while ago has left its writer's own cache, and is quicker to read.
  static constexpr std::size_t ahead = std::size_t{1} << 20U;

  bool take_next(CallContext auto& ctx, const Call& c) {
    bool took = false;
    for (int i = 0; to_take_ != taken_ && i + 1 < ctx.size(); ++i) {
      const int r = taker(ctx, i);
      if (ctx.pending()[r] < 0 || !blocks_.gives(r, ctx.rank())) continue;
      const bool is_new = ctx.pending()[r] == 0;
      if (is_new && irregular_ && is_with_length(ctx, r)) {
        if (blocks_in_place(c) && filled_ != shown_bytes_) continue;
        if (!take_with_length(ctx, c, r)) return false;
        took = true;
        continue;
      }
      if (is_new && !meet(ctx, c, r)) {
        if (failed_) return false;
        if ((way_ == Way::chunk_buffer || for_one_) && !in_line(ctx, c, r)) expect(ctx, r);
        continue;
      }
      while (ctx.pending()[r] > 0 && take_part(ctx, c, r)) took = true;
      if (failed_) return false;
    }
    return took;
  }

  /// False if it had been copied before.
  bool copy_own(CallContext auto& ctx, const Call& c) {
    if (own_is_there_) return false;
    own_is_there_ = true;
    if (!blocks_.gives(ctx.rank(), ctx.rank()) || blocks_in_place(c)) return true;
    if (c.collective == Collective::scatter && c.in_place()) return true;
    const auto from = blocks_.given(ctx.rank());
    const auto to = blocks_.taken(ctx.rank());
    if (from.n != 0 && c.out + to.at != c.in + from.at) {
      ctx.read(c.out + to.at, c.in + from.at, from.n);
    }
    return true;
  }

  /// Looks if rank r is there, and whether its call is the same. False: not yet, or the call has
  /// failed.
  bool meet(CallContext auto& ctx, const Call& c, int r) {
    const bool line = in_line(ctx, c, r);
    if (!ctx.arrived(r, line ? 1 : 0)) return false;
    if (!ctx.matches(r)) return fail(ctx, r);
    if (irregular_ && is_with_length(ctx, r)) return false;  // it has come just now
    if (!line && !ctx.arrived(r, 1)) {
      // A rank whose earlier call did not match comes with equal words, and shows nothing: what
      // is in its header is of another call. Only these ways begin with no part.
      const Way way = way_of(ctx, c, r);
      if (way != Way::pool && way != Way::pieces) return false;
    }
    const Way way = way_of(ctx, c, r);
    if (irregular_) {
      const std::uint64_t bytes = entry_of(ctx, r).bytes;
      if (bytes != blocks_.taken(r).n) return fail_of_counts(ctx, c, r, bytes);
    }
    ctx.pending()[r] = 1;
    borrows_ = borrows_ || exposes(way);
    in_pieces_ = in_pieces_ || way == Way::pieces;
    if (in_pieces_) tell_pieces(ctx, c);
    if (++met_ + 1 == ctx.size()) ctx.note_all_arrived();
    return true;
  }

  /// Returns true if rank r has arrived and published the length of its one block beside its flag.
  static bool is_with_length(const CallContext auto& ctx, int r) {
    return ctx.arrived(r, with_length) && !ctx.arrived(r, all);
  }

  /// Copies that block. False: the call has failed.
  bool take_with_length(CallContext auto& ctx, const Call& c, int r) {
    if (!ctx.matches(r)) return fail(ctx, r);
    const auto block = blocks_.taken(r);
    std::uint64_t bytes = 0;
    ctx.read(reinterpret_cast<std::byte*>(&bytes), ctx.small(r), length_bytes);
    if (bytes != block.n) return fail_of_counts(ctx, c, r, bytes);
    if (bytes != 0) {
      const bool fits = fits_behind_length(bytes);
      ctx.read(c.out + block.at, fits ? ctx.small(r) + length_bytes : ctx.chunk_buffer(r, 0),
               bytes);
    }
    if (++met_ + 1 == ctx.size()) ctx.note_all_arrived();
    return take(ctx, c, r);
  }

  /// Rank r, which is not there yet, will show its block in its chunk buffers, perhaps behind
  /// others of the same length.
  void expect(CallContext auto& ctx, int r) const {
    const std::size_t n = blocks_.taken(r).n;
    if (for_one_) {
      if (!fits_behind_length(n) && n <= chunk_buffer_most) ctx.expect(r, 0, 0, n);
      return;
    }
    const std::size_t entry = static_cast<std::size_t>(ctx.rank()) * sizeof(Entry);
    const auto before = static_cast<std::size_t>(turn(ctx, r, ctx.rank()));
    if (irregular_) ctx.expect(r, 0, entry, sizeof(Entry));
    const std::size_t at = blocks_.shares_one() ? 0 : before * n;
    if (at + n <= chunk_buffer_most)
      ctx.expect(r, first_chunk_buffer(ctx), table_bytes(ctx) + at, n);
  }

  bool fail(CallContext auto& ctx, int r) {
    ctx.fail(r);
    failed_ = true;
    return false;
  }
  [[gnu::cold, gnu::noinline]] bool fail_of_counts(CallContext auto& ctx, const Call& c, int r,
                                                   std::uint64_t bytes) {
    ctx.fail_with(detail::joined(
        {"the ranks' counts do not match in ", CallLabel{c.collective, false, true}.name(),
         ": rank ", r, " has ", bytes / c.reducer.size, " elements for rank ", ctx.rank(),
         ", which expects ", blocks_.taken(r).n / c.reducer.size,
         " of it: both must pass the same number"}));
    failed_ = true;
    return false;
  }

  /// Returns how rank r, whose call was checked, exposes its blocks.
  Way way_of(const CallContext auto& ctx, const Call& c, int r) const {
    return in_line(ctx, c, r) ? Way::line : static_cast<Way>(ctx.exposed_by(r).out.at);
  }
  Entry entry_of(CallContext auto& ctx, int r) {
    Entry e;
    ctx.read(reinterpret_cast<std::byte*>(&e),
             ctx.chunk_buffer(r, 0) + static_cast<std::size_t>(ctx.rank()) * sizeof e, sizeof e);
    return e;
  }

  /// Returns where this rank's block begins in what rank r shows.
  std::size_t first_byte(CallContext auto& ctx, int r, Way way, std::size_t n) {
    if (irregular_) return entry_of(ctx, r).at;
    if (blocks_.shares_one()) return 0;
    return static_cast<std::size_t>(exposes(way) ? ctx.rank() : turn(ctx, r, ctx.rank())) * n;
  }

  /// Copies the next part of rank r's block. False: it is not there yet, or the call has failed.
  bool take_part(CallContext auto& ctx, const Call& c, int r) {
    const auto block = blocks_.taken(r);
    if (block.n == 0) return take(ctx, c, r);
    const Way way = way_of(ctx, c, r);
    // In place, what comes would be written over what has still to go.
    const bool piece_by_piece = way == Way::pieces && way_ == Way::pieces;
    if (blocks_in_place(c) && filled_ != shown_bytes_ && !piece_by_piece) return false;
    if (way == Way::pieces) return take_piece(ctx, c, r, block);
    const std::size_t done = static_cast<std::size_t>(ctx.pending()[r] - 1) * part_bytes;
    const std::size_t n = way == Way::pulled ? block.n : std::min(part_bytes, block.n - done);
    const std::size_t from = first_byte(ctx, r, way, block.n) + done;
    if (way == Way::pool) {
      const std::size_t parts = (from + n + part_bytes - 1) / part_bytes;
      if (!ctx.arrived(r, static_cast<std::uint32_t>(parts))) return false;
    }
    const bool guarded = exposes(way);
    if (guarded && !ctx.begin_reading()) return failed_ = true, false;
    if (way == Way::pulled) {
      ctx.peers().pull(c.out + block.at, r, ctx.exposed_by(r).in.at + from, n);
    } else {
      ctx.read(c.out + block.at + done, area_of(ctx, r, way) + from, n);
    }
    if (guarded && !ctx.end_reading()) return failed_ = true, false;
    taken_bytes_ += n;
    return done + n == block.n ? take(ctx, c, r) : (++ctx.pending()[r], true);
  }

  const std::byte* area_of(CallContext auto& ctx, int r, Way way) {
    if (way == Way::line) return ctx.small(r);
    if (way == Way::chunk_buffer)
      return ctx.chunk_buffer(r, first_chunk_buffer(ctx)) + table_bytes(ctx);
    return ctx.peers().see(ctx.exposed_by(r).in);
  }

  bool take_piece(CallContext auto& ctx, const Call& c, int r,
                  const detail::ExchangedBlocks::Bytes& block) {
    const auto k = static_cast<std::uint32_t>(ctx.pending()[r] - 1);
    if (blocks_in_place(c) && given_ <= k && filled_ != shown_bytes_) return false;
    if (!ctx.arrived(r, k + 1)) return false;
    const std::size_t from = k * piece_;
    const std::size_t n = std::min(piece_, block.n - from);
    const std::size_t at =
        blocks_.shares_one() ? 0 : static_cast<std::size_t>(turn(ctx, r, ctx.rank())) * piece_;
    ctx.read(c.out + block.at + from, ctx.chunk_buffer(r, window(ctx) + k % window(ctx)) + at, n);
    if (from + n == block.n) return take(ctx, c, r);
    ++ctx.pending()[r];
    tell_pieces(ctx, c);
    return true;
  }

  /// Rank r's block is here.
  bool take(CallContext auto& ctx, const Call& c, int r) {
    ctx.pending()[r] = -1;
    ++taken_;
    if (taken_ == to_take_) {
      if (borrows_ || in_pieces_) ctx.publish_stage(all);
    } else if (in_pieces_) {
      tell_pieces(ctx, c);
    }
    return true;
  }

  /// Tells how many pieces of each block are here, of those that come in pieces; none, as long
  /// as some rank has not been met.
  void tell_pieces(CallContext auto& ctx, const Call& c) {
    std::uint32_t least = all - 1;  // all: those who lend their input may go
    for (int r = 0; r < ctx.size(); ++r) {
      if (r == ctx.rank() || ctx.pending()[r] < 0 || !blocks_.gives(r, ctx.rank())) continue;
      if (ctx.pending()[r] == 0) return;
      if (way_of(ctx, c, r) != Way::pieces) continue;
      least = std::min(least, static_cast<std::uint32_t>(ctx.pending()[r] - 1));
    }
    if (least <= told_) return;
    told_ = least;
    ctx.publish_stage(least);
  }

  bool is_done(CallContext auto& ctx) {
    if (taken_ != to_take_ || filled_ != shown_bytes_ || !own_is_there_) return false;
    if (!exposes(way_)) return true;
    return all_took(ctx, all);
  }

  std::size_t taken_bytes_ = 0;  ///< of others' blocks, those that it has copied
  std::uint32_t told_ = 0;       ///< pieces of all blocks that it has announced
  int taken_ = 0;                ///< of the ranks that give to it, those whose block is here
  int met_ = 0;
  bool own_is_there_ = false;
  bool borrows_ = false;    ///< some rank lends its input
  bool in_pieces_ = false;  ///< some rank's blocks come in pieces
  bool failed_ = false;
};

namespace detail {
PAPCOLL_ARRIVAL_ALGORITHM(StaticOrder, BlockCopies)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
