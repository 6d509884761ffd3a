#pragma once

#include <papcoll/algorithms/arrival/block_exchange.hpp>
#include <papcoll/algorithms/arrival/tags.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/node/site.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace papcoll::inline PAPCOLL_ABI {

// BlockCopies: every rank copies the blocks meant for it
// ------------------------------------------------------
// Phases   1. Each rank shows what it has for others: in the line of its flag, if that is all of
//             40 bytes, or of 32 for one rank where counts differ; in its slot, if it is short,
//             behind the blocks' lengths where counts differ and there are several;
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
// Limits   One node. Where the pool is too small, blocks go through the slot in pieces, two of
//          each block at a time, and all ranks wait for the slowest. Counts that differ need
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
class BlockCopies::Run {
 public:
  template <Site S>
  bool step(S& s, const Call& c) {
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
  /// Where a rank shows its blocks.
  enum class Way : std::uint32_t {
    line,    ///< with its flag
    slot,    ///< in half of its chunk buffers, behind the lengths if there are any
    pool,    ///< in its pool
    lent,    ///< in its input, where peers see that
    pulled,  ///< in its input, from where the kernel copies
    pieces,  ///< of each block at a time as many as these hold
  };

  /// Where counts differ: of each rank's block, at the beginning of the chunk buffers.
  struct Entry {
    std::uint64_t at = 0;     ///< bytes from the first byte shown
    std::uint64_t bytes = 0;  ///< of the block
  };

  /// A pool is filled in parts of so many bytes, which others copy meanwhile.
  static constexpr std::size_t part_bytes = 16384;
  /// A rank copies others' blocks when it has filled so many bytes more than it has copied, or
  /// all: what was written a while ago has left its writer's own cache, and is quicker to read.
  static constexpr std::size_t ahead = std::size_t{1} << 20U;
  /// Of all blocks together, at most so many go through the slot: longer ones are quicker through
  /// the pool, whose places calls use in turns.
  static constexpr std::size_t slot_most = 4096;
  /// Of all blocks together from here on a rank lends its input.
  static constexpr std::size_t lent_from = 8192;
  /// Of a block in the mean, from here on the kernel may copy it: one copy, not two.
  static constexpr std::size_t pulled_from = 4096;
  static constexpr std::uint32_t all = std::numeric_limits<std::uint32_t>::max();
  /// The stamp of a rank whose block's length is with its flag: the block is behind it, or else
  /// the first in its slot.
  static constexpr std::uint32_t with_length = all - 1;
  static constexpr std::size_t length_bytes = sizeof(std::uint64_t);
  static constexpr std::size_t inline_bytes = NodeBoard::inline_bytes;

  template <Site S>
  void begin(S& s, const Call& c) {
    begun_ = true;
    blocks_ = detail::ExchangedBlocks{c, s.rank(), s.size()};
    uneven_ = c.counts != nullptr && c.collective != Collective::allgather;  // where all know all
    for_one_ = uneven_ && (c.collective == Collective::gather || s.size() == 2);
    std::fill_n(s.pending(), s.size(), 0);
    for (int r = 0; r < s.size(); ++r) {
      if (r == s.rank()) continue;
      if (blocks_.gives(r, s.rank())) ++to_take_;
      if (blocks_.gives(s.rank(), r)) ++takers_;
    }
    in_line_ = !uneven_ && line_bytes(c, s.rank(), s.size()) <= inline_bytes;
    piece_ = s.chunk_bytes() /
             static_cast<std::size_t>(blocks_.shares_one() ? 1 : std::max(1, s.size() - 1));
    show(s, c);
  }

  /// All that rank r shows, where all know the lengths.
  static std::size_t line_bytes(const Call& c, int r, int ranks) noexcept {
    if (c.counts != nullptr) return c.counts[r] * c.reducer.size;
    const bool one = c.collective == Collective::allgather || c.collective == Collective::gather;
    return c.bytes() * static_cast<std::size_t>(one ? 1 : ranks - 1);
  }
  /// Are rank r's blocks with its flag?
  template <Site S>
  bool in_line(const S& s, const Call& c, int r) const noexcept {
    if (c.counts == nullptr || uneven_) return in_line_;
    return line_bytes(c, r, s.size()) <= inline_bytes;
  }

  /// The number of a block among those that this rank shows: the next rank's is the first.
  template <Site S>
  static int turn(const S& s, int giver, int taker) noexcept {
    return (taker - giver - 1 + s.size()) % s.size();
  }
  template <Site S>
  static int taker(const S& s, int i) noexcept {
    return (s.rank() + 1 + i) % s.size();
  }

  template <Site S>
  void show(S& s, const Call& c) {
    shown_bytes_ = 0;
    if (takers_ == 0) {
      way_ = in_line_ ? Way::line : Way::slot;  // as what others have is expected to come
      return s.announce(nullptr, 0, all);
    }
    if (blocks_.shares_one()) shown_bytes_ = blocks_.given(s.rank()).n;
    for (int i = 0; !blocks_.shares_one() && i + 1 < s.size(); ++i) {
      shown_bytes_ += blocks_.given(taker(s, i)).n;
    }
    if (in_line_) return show_in_line(s, c);
    if (for_one_ && shown_bytes_ <= std::min(slot_most, window(s) * s.chunk_bytes())) {
      return show_with_length(s, c);
    }
    BufferDescriptor offer;  // of what it shows, with the way where an output would be
    way_ = choose_way(s, c, offer.in);
    offer.out.at = static_cast<std::uint64_t>(way_);
    if (uneven_) write_table(s);
    std::uint32_t at_once = 0;
    if (way_ == Way::slot) {
      area_ = s.slot(s.rank(), slot_chunk(s)) + table_bytes(s);
      fill(s, c, area_, 0, shown_bytes_);
      filled_ = shown_bytes_;
      at_once = all;
      const std::size_t from = slot_chunk(s) * s.chunk_bytes();
      s.expect_again(from, table_bytes(s) + shown_bytes_);
    } else if (lends(way_)) {
      filled_ = shown_bytes_;
      at_once = all;
    } else if (way_ == Way::pieces) {
      static_cast<void>(s.slot(s.rank(), window(s)));  // takes its pages, or throws
    }
    s.offer(offer, at_once);
  }

  /// Shows it with its flag.
  template <Site S>
  void show_in_line(S& s, const Call& c) {
    std::byte line[inline_bytes];
    if (shown_bytes_ != 0) fill(s, c, line, 0, shown_bytes_);
    filled_ = shown_bytes_;
    s.announce(line, shown_bytes_, 1);
  }

  /// Shows the one block, whose length only this rank and the taker know.
  template <Site S>
  void show_with_length(S& s, const Call& c) {
    std::byte line[inline_bytes];
    const std::uint64_t length = shown_bytes_;
    std::memcpy(line, &length, length_bytes);
    const bool fits = fits_behind_length(shown_bytes_);
    if (shown_bytes_ != 0) {
      fill(s, c, fits ? line + length_bytes : s.slot(s.rank(), 0), 0, shown_bytes_);
    }
    filled_ = shown_bytes_;
    if (!fits) s.expect_again(0, shown_bytes_);
    s.announce(line, length_bytes + (fits ? shown_bytes_ : 0), with_length);
  }
  static bool fits_behind_length(std::size_t bytes) noexcept {
    return length_bytes + bytes <= inline_bytes;
  }

  template <Site S>
  Way choose_way(S& s, const Call& c, BufferPlace& place) {
    const bool is_long = shown_bytes_ > std::min(lent_from, 2 * s.chunk_bytes());
    const bool stays = is_long && !blocks_in_place(c);
    const BufferPlace input = stays ? s.peers().place(c.in, extent(s)) : BufferPlace{};
    const bool may_pull = stays && s.peers().pulls() && mean_block() >= pulled_from;
    if (input.mapped != 0) {
      place = input;
      return Way::lent;
    }
    if (may_pull && pulls_first(s, c)) {
      place = input;
      return Way::pulled;
    }
    if (c.reach == PeerReach::chunked && shown_bytes_ >= chunked_from) return Way::pieces;
    const std::size_t room = window(s) * s.chunk_bytes();
    if (shown_bytes_ <= slot_most && table_bytes(s) + shown_bytes_ <= room) return Way::slot;
    if (std::byte* const pool = s.shared_pool(shown_bytes_)) {
      place = s.peers().place(pool, shown_bytes_);
      area_ = pool;
      return Way::pool;
    }
    if (!may_pull) return Way::pieces;
    place = input;
    return Way::pulled;
  }

  std::size_t mean_block() const noexcept {
    return shown_bytes_ / static_cast<std::size_t>(blocks_.shares_one() ? 1 : takers_);
  }

  /// Chunk buffers for blocks that go in pieces: the second half of a slot's. Where counts
  /// differ, the first has the lengths.
  template <Site S>
  static std::uint32_t window(const S& s) noexcept {
    return s.buffers() / 2;
  }
  /// The first chunk buffer of blocks that fit the slot.
  template <Site S>
  std::uint32_t slot_chunk(const S& s) const noexcept {
    return uneven_ ? 0 : window(s);
  }
  template <Site S>
  std::size_t table_bytes(const S& s) const noexcept {
    return uneven_ ? static_cast<std::size_t>(s.size()) * sizeof(Entry) : 0;
  }

  /// Is a rank's input read where it is?
  static bool lends(Way way) noexcept { return way == Way::lent || way == Way::pulled; }

  /// Would blocks that come be written over those that have to go?
  static bool blocks_in_place(const Call& c) noexcept {
    return c.collective == Collective::alltoall && c.in_place();
  }

  /// Bytes from the beginning of the input to the end of the last block for others.
  template <Site S>
  std::size_t extent(const S& s) const noexcept {
    if (blocks_.shares_one()) return blocks_.given(s.rank()).n;
    std::size_t end = 0;
    for (int r = 0; r < s.size(); ++r) {
      const auto b = blocks_.given(r);
      if (r != s.rank()) end = std::max(end, b.at + b.n);
    }
    return end;
  }

  template <Site S>
  void write_table(S& s) {
    std::byte* const table = s.slot(s.rank(), 0);
    std::size_t at = 0;
    for (int i = 0; i + 1 < s.size(); ++i) {
      const int r = taker(s, i);
      const auto b = blocks_.given(r);
      const Entry e{lends(way_) ? b.at : at, b.n};
      if (!blocks_.shares_one()) at += b.n;
      s.write(table + static_cast<std::size_t>(r) * sizeof e,
              reinterpret_cast<const std::byte*>(&e), sizeof e);
    }
  }

  /// Copies bytes [from, to) of what this rank shows, its blocks one after the other.
  template <Site S>
  void fill(S& s, const Call& c, std::byte* area, std::size_t from, std::size_t to) {
    if (blocks_.shares_one()) return s.write(area + from, c.in + from, to - from);
    std::size_t at = 0;
    for (int i = 0; at < to; ++i) {
      const auto b = blocks_.given(taker(s, i));
      const std::size_t lo = std::max(at, from);
      const std::size_t hi = std::min(at + b.n, to);
      if (lo < hi) s.write(area + lo, c.in + b.at + (lo - at), hi - lo);
      at += b.n;
    }
  }

  /// Shows the next part of this rank's blocks. False if there is nothing to do now.
  template <Site S>
  bool give_next(S& s, const Call& c) {
    if (filled_ == shown_bytes_) return false;
    if (way_ == Way::pieces) return give_piece(s, c);
    if (filled_ == 0 && !s.use_pool()) return false;
    const std::size_t to = std::min(filled_ + part_bytes, shown_bytes_);
    fill(s, c, area_, filled_, to);
    filled_ = to;
    const auto parts = static_cast<std::uint32_t>((to + part_bytes - 1) / part_bytes);
    s.publish(to == shown_bytes_ ? all : parts, everyone);
    return true;
  }

  /// The next piece of every block, where all have copied the one before the last.
  template <Site S>
  bool give_piece(S& s, const Call& c) {
    if (given_ >= window(s)) {
      for (; next_taker_ < s.size(); ++next_taker_) {
        if (next_taker_ == s.rank() || !blocks_.gives(s.rank(), next_taker_)) continue;
        if (!s.stage(next_taker_, given_ - window(s) + 1)) return false;
      }
      next_taker_ = 0;
    }
    std::byte* const buffer = s.slot(s.rank(), window(s) + given_ % window(s));
    const std::size_t from = given_ * piece_;
    const int n = blocks_.shares_one() ? 1 : s.size() - 1;
    for (int i = 0; i < n; ++i) {
      const auto b = blocks_.given(taker(s, i));
      if (b.n <= from) continue;
      const std::size_t bytes = std::min(piece_, b.n - from);
      s.write(buffer + static_cast<std::size_t>(i) * piece_, c.in + b.at + from, bytes);
      filled_ += bytes;
    }
    ++given_;
    s.publish(filled_ == shown_bytes_ ? all : given_, everyone);
    return true;
  }

  // --- taking. pending()[r]: 0, r has not been met; else 1 and the parts of its block that are
  // here, or −1, all of it.

  template <Site S>
  bool take_next(S& s, const Call& c) {
    bool took = false;
    for (int i = 0; to_take_ != taken_ && i + 1 < s.size(); ++i) {
      const int r = taker(s, i);
      if (s.pending()[r] < 0 || !blocks_.gives(r, s.rank())) continue;
      const bool is_new = s.pending()[r] == 0;
      if (is_new && uneven_ && is_with_length(s, r)) {
        if (blocks_in_place(c) && filled_ != shown_bytes_) continue;
        if (!take_with_length(s, c, r)) return false;
        took = true;
        continue;
      }
      if (is_new && !meet(s, c, r)) {
        if (failed_) return false;
        if ((way_ == Way::slot || for_one_) && !in_line(s, c, r)) expect(s, r);
        continue;
      }
      while (s.pending()[r] > 0 && take_part(s, c, r)) took = true;
      if (failed_) return false;
    }
    return took;
  }

  /// False if it had been copied before.
  template <Site S>
  bool copy_own(S& s, const Call& c) {
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
  template <Site S>
  bool meet(S& s, const Call& c, int r) {
    const bool line = in_line(s, c, r);
    if (!s.arrived(r, line ? 1 : 0)) return false;
    if (!s.matches(r)) return fail(s, r);
    if (uneven_ && is_with_length(s, r)) return false;  // it has come just now
    if (!line && !s.arrived(r, 1)) {
      // A rank whose earlier call did not match comes with equal words, and shows nothing: what
      // is in its header is of another call. Only these ways begin with no part.
      const Way way = way_of(s, c, r);
      if (way != Way::pool && way != Way::pieces) return false;
    }
    const Way way = way_of(s, c, r);
    if (uneven_) {
      const std::uint64_t bytes = entry_of(s, r).bytes;
      if (bytes != blocks_.taken(r).n) return fail_of_counts(s, c, r, bytes);
    }
    s.pending()[r] = 1;
    borrows_ = borrows_ || lends(way);
    in_pieces_ = in_pieces_ || way == Way::pieces;
    if (in_pieces_) tell_pieces(s, c);
    if (++met_ + 1 == s.size()) s.all_arrived();
    return true;
  }

  /// Is rank r there, with the one block's length in the line of its flag?
  template <Site S>
  static bool is_with_length(const S& s, int r) {
    return s.arrived(r, with_length) && !s.arrived(r, all);
  }

  /// Copies that block. False: the call has failed.
  template <Site S>
  bool take_with_length(S& s, const Call& c, int r) {
    if (!s.matches(r)) return fail(s, r);
    const auto block = blocks_.taken(r);
    std::uint64_t bytes = 0;
    s.read(reinterpret_cast<std::byte*>(&bytes), s.small(r), length_bytes);
    if (bytes != block.n) return fail_of_counts(s, c, r, bytes);
    if (bytes != 0) {
      const bool fits = fits_behind_length(bytes);
      s.read(c.out + block.at, fits ? s.small(r) + length_bytes : s.slot(r, 0), bytes);
    }
    if (++met_ + 1 == s.size()) s.all_arrived();
    return take(s, c, r);
  }

  /// Rank r, which is not there yet, will show its block in its slot, perhaps behind others of
  /// the same length.
  template <Site S>
  void expect(S& s, int r) const {
    const std::size_t n = blocks_.taken(r).n;
    if (for_one_) {
      if (!fits_behind_length(n) && n <= slot_most) s.expect(r, 0, 0, n);
      return;
    }
    const std::size_t entry = static_cast<std::size_t>(s.rank()) * sizeof(Entry);
    const auto before = static_cast<std::size_t>(turn(s, r, s.rank()));
    if (uneven_) s.expect(r, 0, entry, sizeof(Entry));
    const std::size_t at = blocks_.shares_one() ? 0 : before * n;
    if (at + n <= slot_most) s.expect(r, slot_chunk(s), table_bytes(s) + at, n);
  }

  template <Site S>
  bool fail(S& s, int r) {
    s.fail(r);
    failed_ = true;
    return false;
  }
  template <Site S>
  [[gnu::cold, gnu::noinline]] bool fail_of_counts(S& s, const Call& c, int r,
                                                   std::uint64_t bytes) {
    s.fail_with(detail::joined(
        {"the ranks' counts do not match in ", Called{c.collective, false, true}.name(), ": rank ",
         r, " has ", bytes / c.reducer.size, " elements for rank ", s.rank(), ", which expects ",
         blocks_.taken(r).n / c.reducer.size, " of it: both must pass the same number"}));
    failed_ = true;
    return false;
  }

  /// Of a rank that has been met.
  template <Site S>
  Way way_of(const S& s, const Call& c, int r) const {
    return in_line(s, c, r) ? Way::line : static_cast<Way>(s.offer_of(r).out.at);
  }
  template <Site S>
  Entry entry_of(S& s, int r) {
    Entry e;
    s.read(reinterpret_cast<std::byte*>(&e),
           s.slot(r, 0) + static_cast<std::size_t>(s.rank()) * sizeof e, sizeof e);
    return e;
  }

  /// Where this rank's block begins in what rank r shows.
  template <Site S>
  std::size_t first_byte(S& s, int r, Way way, std::size_t n) {
    if (uneven_) return entry_of(s, r).at;
    if (blocks_.shares_one()) return 0;
    return static_cast<std::size_t>(lends(way) ? s.rank() : turn(s, r, s.rank())) * n;
  }

  /// Copies the next part of rank r's block. False: it is not there yet, or the call has failed.
  template <Site S>
  bool take_part(S& s, const Call& c, int r) {
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
    const bool guarded = lends(way);
    if (guarded && !s.begin_reading()) return failed_ = true, false;
    if (way == Way::pulled) {
      s.peers().pull(c.out + block.at, r, s.offer_of(r).in.at + from, n);
    } else {
      s.read(c.out + block.at + done, area_of(s, r, way) + from, n);
    }
    if (guarded && !s.end_reading()) return failed_ = true, false;
    taken_bytes_ += n;
    return done + n == block.n ? take(s, c, r) : (++s.pending()[r], true);
  }

  template <Site S>
  const std::byte* area_of(S& s, int r, Way way) {
    if (way == Way::line) return s.small(r);
    if (way == Way::slot) return s.slot(r, slot_chunk(s)) + table_bytes(s);
    return s.peers().see(s.offer_of(r).in);
  }

  template <Site S>
  bool take_piece(S& s, const Call& c, int r, const detail::ExchangedBlocks::Bytes& block) {
    const auto k = static_cast<std::uint32_t>(s.pending()[r] - 1);
    if (blocks_in_place(c) && given_ <= k && filled_ != shown_bytes_) return false;
    if (!s.arrived(r, k + 1)) return false;
    const std::size_t from = k * piece_;
    const std::size_t n = std::min(piece_, block.n - from);
    const std::size_t at =
        blocks_.shares_one() ? 0 : static_cast<std::size_t>(turn(s, r, s.rank())) * piece_;
    s.read(c.out + block.at + from, s.slot(r, window(s) + k % window(s)) + at, n);
    if (from + n == block.n) return take(s, c, r);
    ++s.pending()[r];
    tell_pieces(s, c);
    return true;
  }

  /// Rank r's block is here.
  template <Site S>
  bool take(S& s, const Call& c, int r) {
    s.pending()[r] = -1;
    ++taken_;
    if (taken_ == to_take_) {
      if (borrows_ || in_pieces_) s.finish_stage(all);
    } else if (in_pieces_) {
      tell_pieces(s, c);
    }
    return true;
  }

  /// Tells how many pieces of each block are here, of those that come in pieces; none, as long
  /// as some rank has not been met.
  template <Site S>
  void tell_pieces(S& s, const Call& c) {
    std::uint32_t least = all - 1;  // all: those who lend their input may go
    for (int r = 0; r < s.size(); ++r) {
      if (r == s.rank() || s.pending()[r] < 0 || !blocks_.gives(r, s.rank())) continue;
      if (s.pending()[r] == 0) return;
      if (way_of(s, c, r) != Way::pieces) continue;
      least = std::min(least, static_cast<std::uint32_t>(s.pending()[r] - 1));
    }
    if (least <= told_) return;
    told_ = least;
    s.finish_stage(least);
  }

  template <Site S>
  bool is_done(S& s) {
    if (taken_ != to_take_ || filled_ != shown_bytes_ || !own_is_there_) return false;
    if (!lends(way_)) return true;
    for (; next_taker_ < s.size(); ++next_taker_) {
      if (next_taker_ == s.rank() || !blocks_.gives(s.rank(), next_taker_)) continue;
      if (!s.stage(next_taker_, all)) return false;
    }
    return true;
  }

  detail::ExchangedBlocks blocks_;
  std::byte* area_ = nullptr;    ///< slot, pool: where this rank shows its blocks
  std::size_t shown_bytes_ = 0;  ///< of its blocks for others
  std::size_t filled_ = 0;       ///< of them, those that it has shown
  std::size_t taken_bytes_ = 0;  ///< of others' blocks, those that it has copied
  std::size_t piece_ = 0;        ///< bytes of a block's part that goes in pieces
  std::uint32_t given_ = 0;      ///< pieces that it has shown
  std::uint32_t told_ = 0;       ///< pieces of all blocks that it has told it has
  int to_take_ = 0;              ///< ranks that give to this one
  int taken_ = 0;                ///< of them, those whose block is here
  int takers_ = 0;               ///< ranks that this one gives to
  int met_ = 0;
  int next_taker_ = 0;
  Way way_ = Way::line;
  bool begun_ = false;
  bool uneven_ = false;
  bool for_one_ = false;  ///< uneven, and whoever gives to others gives to one
  bool in_line_ = false;
  bool own_is_there_ = false;
  bool borrows_ = false;    ///< some rank lends its input
  bool in_pieces_ = false;  ///< some rank's blocks come in pieces
  bool failed_ = false;
};

namespace detail {
PAPCOLL_COMPILE_ONCE(void run_arrival<BlockCopies::Run>(void*, Waiter&, const Call&))
PAPCOLL_COMPILE_ONCE(
    const ArrivalAlgorithm& algorithm_under<StaticOrder, BlockCopies, NodeSite>() noexcept)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
