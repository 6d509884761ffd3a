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

// BlockCopies: every rank copies the blocks meant for it
// ------------------------------------------------------
// Phases   1. Each rank shows what it has for others: in the line of its flag, if that is all of
//             40 bytes, or of 32 for one rank where counts differ; in its chunk buffers, if it is
//             short, behind the blocks' lengths where counts differ and there are several;
//             where peers see its buffer, there; else in its pool, part by part; or in its buffer,
//             from where the kernel copies long blocks, if that is asked for: PeerReach.
//          2. Each rank copies its own block, and then those of the others, of whoever is there; it
//             fills up to 1 MB of its pool before.
//          3. A rank whose buffer is read waits until all have read their blocks. All others leave
//             when they have theirs.
// Cost     One flag each way. Of n bytes that a rank gives and gets: 2n read and 2n written, or n
//          and n where buffers are seen. After the last arrival, its 2n bytes, and 1/P of that by
//          each of the others, at the same time.
// Prefer   Always on one node, for alltoall, gather and scatter, and wherever counts differ; for
//          allgather with equal counts Exchange and PeerSlices share the work of a late rank.
// Limits   One node. Where the pool is too small, blocks go through the chunk buffers in pieces,
//          two of each block at a time, and all ranks wait for the slowest. Counts that differ need
//          chunks of 8 bytes for each rank.
//
//        alltoall       rank 0         rank 1         rank 2
//        shown        a0 a1 a2       b0 b1 b2       (absent)
//        copied       a0 b0 ·        a1 b1 ·                       rank 2 comes:  a2 b2 c2
//        then         a0 b0 c0       a1 b1 c1
//
// Source   Folklore of shared-memory MPI libraries; the pools, which let ranks leave before their
//          blocks are read, are papcoll's own.

/// One call of one rank.
class BlockCopies::Run : detail::ShownBlocks {
 public:
  bool step(CallContext auto& s, const Call& c) {
    if (!begun_) begin(s, c);
    for (;;) {
      const bool gave = give_next(s, c);
      while (gave && filled_ < taken_bytes_ + ahead && give_next(s, c)) continue;
      if (filled_ == shown_bytes_) copy_own(s, c);
      const bool took = take_next(s, c);
      if (failed_) return false;
      if (is_done(s)) return true;
      if (gave || took) continue;
      if (!copy_own(s, c)) return false;
    }
  }

 private:
  // pending()[r]: 0, r has not been met; else 1 and the parts of its block that are here, or −1,
  // all of it.

  /// A rank copies others' blocks when it has filled so many bytes more than it has copied, or
  /// all: what was written a while ago has left its writer's own cache, and is quicker to read.
  static constexpr std::size_t ahead = std::size_t{1} << 20U;

  bool take_next(CallContext auto& s, const Call& c) {
    bool took = false;
    for (int i = 0; to_take_ != taken_ && i + 1 < s.size(); ++i) {
      const int r = taker(s, i);
      if (s.pending()[r] < 0 || !blocks_.gives(r, s.rank())) continue;
      const bool is_new = s.pending()[r] == 0;
      if (is_new && irregular_ && is_with_length(s, r)) {
        if (blocks_in_place(c) && filled_ != shown_bytes_) continue;
        if (!take_with_length(s, c, r)) return false;
        took = true;
        continue;
      }
      if (is_new && !meet(s, c, r)) {
        if (failed_) return false;
        if ((way_ == Way::chunk_buffer || for_one_) && !in_line(s, c, r)) expect(s, r);
        continue;
      }
      while (s.pending()[r] > 0 && take_part(s, c, r)) took = true;
      if (failed_) return false;
    }
    return took;
  }

  /// False if it had been copied before.
  bool copy_own(CallContext auto& s, const Call& c) {
    if (own_is_there_) return false;
    own_is_there_ = true;
    if (!blocks_.gives(s.rank(), s.rank()) || blocks_in_place(c)) return true;
    if (c.collective == Collective::scatter && c.in_place()) return true;
    const auto from = blocks_.given(s.rank());
    const auto to = blocks_.taken(s.rank());
    if (from.n != 0 && c.out + to.at != c.in + from.at) {
      s.read(c.out + to.at, c.in + from.at, from.n);
    }
    return true;
  }

  /// Looks if rank r is there, and whether its call is the same. False: not yet, or the call has
  /// failed.
  bool meet(CallContext auto& s, const Call& c, int r) {
    const bool line = in_line(s, c, r);
    if (!s.arrived(r, line ? 1 : 0)) return false;
    if (!s.matches(r)) return fail(s, r);
    if (irregular_ && is_with_length(s, r)) return false;  // it has come just now
    if (!line && !s.arrived(r, 1)) {
      // A rank whose earlier call did not match comes with equal words, and shows nothing: what
      // is in its header is of another call. Only these ways begin with no part.
      const Way way = way_of(s, c, r);
      if (way != Way::pool && way != Way::pieces) return false;
    }
    const Way way = way_of(s, c, r);
    if (irregular_) {
      const std::uint64_t bytes = entry_of(s, r).bytes;
      if (bytes != blocks_.taken(r).n) return fail_of_counts(s, c, r, bytes);
    }
    s.pending()[r] = 1;
    borrows_ = borrows_ || exposes(way);
    in_pieces_ = in_pieces_ || way == Way::pieces;
    if (in_pieces_) tell_pieces(s, c);
    if (++met_ + 1 == s.size()) s.note_all_arrived();
    return true;
  }

  /// Returns true if rank r has arrived and published the length of its one block beside its flag.
  static bool is_with_length(const CallContext auto& s, int r) {
    return s.arrived(r, with_length) && !s.arrived(r, all);
  }

  /// Copies that block. False: the call has failed.
  bool take_with_length(CallContext auto& s, const Call& c, int r) {
    if (!s.matches(r)) return fail(s, r);
    const auto block = blocks_.taken(r);
    std::uint64_t bytes = 0;
    s.read(reinterpret_cast<std::byte*>(&bytes), s.small(r), length_bytes);
    if (bytes != block.n) return fail_of_counts(s, c, r, bytes);
    if (bytes != 0) {
      const bool fits = fits_behind_length(bytes);
      s.read(c.out + block.at, fits ? s.small(r) + length_bytes : s.chunk_buffer(r, 0), bytes);
    }
    if (++met_ + 1 == s.size()) s.note_all_arrived();
    return take(s, c, r);
  }

  /// Rank r, which is not there yet, will show its block in its chunk buffers, perhaps behind
  /// others of the same length.
  void expect(CallContext auto& s, int r) const {
    const std::size_t n = blocks_.taken(r).n;
    if (for_one_) {
      if (!fits_behind_length(n) && n <= chunk_buffer_most) s.expect(r, 0, 0, n);
      return;
    }
    const std::size_t entry = static_cast<std::size_t>(s.rank()) * sizeof(Entry);
    const auto before = static_cast<std::size_t>(turn(s, r, s.rank()));
    if (irregular_) s.expect(r, 0, entry, sizeof(Entry));
    const std::size_t at = blocks_.shares_one() ? 0 : before * n;
    if (at + n <= chunk_buffer_most) s.expect(r, first_chunk_buffer(s), table_bytes(s) + at, n);
  }

  bool fail(CallContext auto& s, int r) {
    s.fail(r);
    failed_ = true;
    return false;
  }
  [[gnu::cold, gnu::noinline]] bool fail_of_counts(CallContext auto& s, const Call& c, int r,
                                                   std::uint64_t bytes) {
    s.fail_with(detail::joined({"the ranks' counts do not match in ",
                                CallLabel{c.collective, false, true}.name(), ": rank ", r, " has ",
                                bytes / c.reducer.size, " elements for rank ", s.rank(),
                                ", which expects ", blocks_.taken(r).n / c.reducer.size,
                                " of it: both must pass the same number"}));
    failed_ = true;
    return false;
  }

  /// Returns how rank r, whose call was checked, exposes its blocks.
  Way way_of(const CallContext auto& s, const Call& c, int r) const {
    return in_line(s, c, r) ? Way::line : static_cast<Way>(s.exposed_by(r).out.at);
  }
  Entry entry_of(CallContext auto& s, int r) {
    Entry e;
    s.read(reinterpret_cast<std::byte*>(&e),
           s.chunk_buffer(r, 0) + static_cast<std::size_t>(s.rank()) * sizeof e, sizeof e);
    return e;
  }

  /// Where this rank's block begins in what rank r shows.
  std::size_t first_byte(CallContext auto& s, int r, Way way, std::size_t n) {
    if (irregular_) return entry_of(s, r).at;
    if (blocks_.shares_one()) return 0;
    return static_cast<std::size_t>(exposes(way) ? s.rank() : turn(s, r, s.rank())) * n;
  }

  /// Copies the next part of rank r's block. False: it is not there yet, or the call has failed.
  bool take_part(CallContext auto& s, const Call& c, int r) {
    const auto block = blocks_.taken(r);
    if (block.n == 0) return take(s, c, r);
    const Way way = way_of(s, c, r);
    // In place, what comes would be written over what has still to go.
    const bool piece_by_piece = way == Way::pieces && way_ == Way::pieces;
    if (blocks_in_place(c) && filled_ != shown_bytes_ && !piece_by_piece) return false;
    if (way == Way::pieces) return take_piece(s, c, r, block);
    const std::size_t done = static_cast<std::size_t>(s.pending()[r] - 1) * part_bytes;
    const std::size_t n = way == Way::pulled ? block.n : std::min(part_bytes, block.n - done);
    const std::size_t from = first_byte(s, r, way, block.n) + done;
    if (way == Way::pool) {
      const std::size_t parts = (from + n + part_bytes - 1) / part_bytes;
      if (!s.arrived(r, static_cast<std::uint32_t>(parts))) return false;
    }
    const bool guarded = exposes(way);
    if (guarded && !s.begin_reading()) return failed_ = true, false;
    if (way == Way::pulled) {
      s.peers().pull(c.out + block.at, r, s.exposed_by(r).in.at + from, n);
    } else {
      s.read(c.out + block.at + done, area_of(s, r, way) + from, n);
    }
    if (guarded && !s.end_reading()) return failed_ = true, false;
    taken_bytes_ += n;
    return done + n == block.n ? take(s, c, r) : (++s.pending()[r], true);
  }

  const std::byte* area_of(CallContext auto& s, int r, Way way) {
    if (way == Way::line) return s.small(r);
    if (way == Way::chunk_buffer) return s.chunk_buffer(r, first_chunk_buffer(s)) + table_bytes(s);
    return s.peers().see(s.exposed_by(r).in);
  }

  bool take_piece(CallContext auto& s, const Call& c, int r,
                  const detail::ExchangedBlocks::Bytes& block) {
    const auto k = static_cast<std::uint32_t>(s.pending()[r] - 1);
    if (blocks_in_place(c) && given_ <= k && filled_ != shown_bytes_) return false;
    if (!s.arrived(r, k + 1)) return false;
    const std::size_t from = k * piece_;
    const std::size_t n = std::min(piece_, block.n - from);
    const std::size_t at =
        blocks_.shares_one() ? 0 : static_cast<std::size_t>(turn(s, r, s.rank())) * piece_;
    s.read(c.out + block.at + from, s.chunk_buffer(r, window(s) + k % window(s)) + at, n);
    if (from + n == block.n) return take(s, c, r);
    ++s.pending()[r];
    tell_pieces(s, c);
    return true;
  }

  /// Rank r's block is here.
  bool take(CallContext auto& s, const Call& c, int r) {
    s.pending()[r] = -1;
    ++taken_;
    if (taken_ == to_take_) {
      if (borrows_ || in_pieces_) s.publish_stage(all);
    } else if (in_pieces_) {
      tell_pieces(s, c);
    }
    return true;
  }

  /// Tells how many pieces of each block are here, of those that come in pieces; none, as long
  /// as some rank has not been met.
  void tell_pieces(CallContext auto& s, const Call& c) {
    std::uint32_t least = all - 1;  // all: those who lend their input may go
    for (int r = 0; r < s.size(); ++r) {
      if (r == s.rank() || s.pending()[r] < 0 || !blocks_.gives(r, s.rank())) continue;
      if (s.pending()[r] == 0) return;
      if (way_of(s, c, r) != Way::pieces) continue;
      least = std::min(least, static_cast<std::uint32_t>(s.pending()[r] - 1));
    }
    if (least <= told_) return;
    told_ = least;
    s.publish_stage(least);
  }

  bool is_done(CallContext auto& s) {
    if (taken_ != to_take_ || filled_ != shown_bytes_ || !own_is_there_) return false;
    if (!exposes(way_)) return true;
    return all_took(s, all);
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
