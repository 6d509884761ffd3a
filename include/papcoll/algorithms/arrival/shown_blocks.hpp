// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/arrival/shared_steps.hpp>
#include <papcoll/algorithms/arrival/tags.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/node/call_context.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

// What a rank shows in BlockCopies.

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Of a call that combines nothing, what each rank has for each other one, and where that lies in
/// its buffers. One of the ranks asks; where counts differ, it knows its own blocks only.
class ExchangedBlocks {
 public:
  /// Bytes that lie together.
  struct Bytes {
    std::size_t at = 0;  ///< in the buffer
    std::size_t n = 0;
  };

  ExchangedBlocks() = default;
  ExchangedBlocks(const Call& c, int rank, int size) noexcept
      : call_(&c), rank_(rank), size_(size), has_root_(is_rooted(c.collective)) {}

  /// Returns true if this rank has one block for all, false if it has one for each rank.
  bool shares_one() const noexcept {
    return call_->collective == Collective::allgather || call_->collective == Collective::gather;
  }

  /// Returns true if rank `from` has a block for rank `to`. A rank's own block counts, too, except
  /// in place.
  bool gives(int from, int to) const noexcept {
    if (!has_root_) return true;
    return (call_->collective == Collective::gather ? to : from) == call_->root;
  }

  /// Returns what this rank has for rank r, in the input.
  Bytes given(int r) const noexcept {
    if (shares_one()) return {0, elements(rank_) * call_->reducer.size};
    return block(r, 0);
  }
  /// Returns what it gets from rank r, in the output.
  Bytes taken(int r) const noexcept {
    switch (call_->collective) {
      case Collective::alltoall: return block(r, call_->counts != nullptr ? size_ : 0);
      case Collective::scatter: return {0, elements(rank_) * call_->reducer.size};
      default: return block(r, 0);
    }
  }

 private:
  std::size_t elements(int i) const noexcept {
    return call_->counts != nullptr ? call_->counts[i] : call_->count;
  }
  Bytes block(int r, int first) const noexcept {
    const std::size_t size = call_->reducer.size;
    const std::size_t n = elements(first + r) * size;
    if (call_->displacements != nullptr) return {call_->displacements[first + r] * size, n};
    return {static_cast<std::size_t>(r) * n, n};
  }

  const Call* call_ = nullptr;
  int rank_ = 0;
  int size_ = 0;
  bool has_root_ = false;
};

/// The blocks that one rank has for others in one call: where and how it shows them.
class ShownBlocks {
 protected:
  /// Where a rank shows its blocks.
  enum class Way : std::uint32_t {
    line,          ///< with its flag
    chunk_buffer,  ///< in half of its chunk buffers, behind the lengths if there are any
    pool,          ///< in its pool
    exposed,       ///< in its input, where peers see that
    pulled,        ///< in its input, from where the kernel copies
    pieces,        ///< of each block at a time as many as these hold
  };

  /// Where counts differ: of each rank's block, at the beginning of the chunk buffers.
  struct Entry {
    std::uint64_t at = 0;     ///< bytes from the first byte shown
    std::uint64_t bytes = 0;  ///< of the block
  };

  /// A pool is filled in parts of so many bytes, which others copy meanwhile.
  static constexpr std::size_t part_bytes = 16384;
  /// The most bytes, of all blocks together, that go through the chunk buffers: longer ones are
  /// quicker through the pool, whose places calls use in turns.
  static constexpr std::size_t chunk_buffer_most = 4096;
  /// The bytes, of all blocks together, from which on a rank exposes its input.
  static constexpr std::size_t exposed_from = 8192;
  /// The mean bytes of a block from which on the kernel may copy it: one copy, not two.
  static constexpr std::size_t pulled_from = 4096;
  static constexpr std::uint32_t all = std::numeric_limits<std::uint32_t>::max();
  /// The count of a rank whose block's length is with its flag: the block is behind it, or else
  /// the first in its chunk buffers.
  static constexpr std::uint32_t with_length = all - 1;
  static constexpr std::size_t length_bytes = sizeof(std::uint64_t);
  static constexpr std::size_t inline_bytes = NodeControlBlock::inline_bytes;

  /// Shows this rank's blocks, or begins to.
  void begin(CallContext auto& ctx, const Call& c) {
    begun_ = true;
    blocks_ = ExchangedBlocks{c, ctx.rank(), ctx.size()};
    irregular_ =
        c.counts != nullptr && c.collective != Collective::allgather;  // where all know all
    for_one_ = irregular_ && (c.collective == Collective::gather || ctx.size() == 2);
    std::fill_n(ctx.pending(), ctx.size(), 0);
    for (int r = 0; r < ctx.size(); ++r) {
      if (r == ctx.rank()) continue;
      if (blocks_.gives(r, ctx.rank())) ++to_take_;
      if (blocks_.gives(ctx.rank(), r)) ++takers_;
    }
    in_line_ = !irregular_ && line_bytes(c, ctx.rank(), ctx.size()) <= inline_bytes;
    piece_ = ctx.chunk_bytes() /
             static_cast<std::size_t>(blocks_.shares_one() ? 1 : std::max(1, ctx.size() - 1));
    show(ctx, c);
  }

  /// All that rank r shows, where all know the lengths.
  static std::size_t line_bytes(const Call& c, int r, int ranks) noexcept {
    if (c.counts != nullptr) return c.counts[r] * c.reducer.size;
    const bool one = c.collective == Collective::allgather || c.collective == Collective::gather;
    return c.bytes() * static_cast<std::size_t>(one ? 1 : ranks - 1);
  }
  /// Returns true if rank r's blocks are in the cache line of its flag.
  bool in_line(const CallContext auto& ctx, const Call& c, int r) const noexcept {
    if (c.counts == nullptr || irregular_) return in_line_;
    return line_bytes(c, r, ctx.size()) <= inline_bytes;
  }

  /// The number of a block among those that this rank shows: the next rank's is the first.
  static int turn(const CallContext auto& ctx, int giver, int taker) noexcept {
    return (taker - giver - 1 + ctx.size()) % ctx.size();
  }
  static int taker(const CallContext auto& ctx, int i) noexcept {
    return (ctx.rank() + 1 + i) % ctx.size();
  }

  void show(CallContext auto& ctx, const Call& c) {
    shown_bytes_ = 0;
    if (takers_ == 0) {
      way_ = in_line_ ? Way::line : Way::chunk_buffer;  // as what others have is expected to come
      return ctx.announce(nullptr, 0, all);
    }
    if (blocks_.shares_one()) shown_bytes_ = blocks_.given(ctx.rank()).n;
    for (int i = 0; !blocks_.shares_one() && i + 1 < ctx.size(); ++i) {
      shown_bytes_ += blocks_.given(taker(ctx, i)).n;
    }
    if (in_line_) return show_in_line(ctx, c);
    if (for_one_ && shown_bytes_ <= std::min(chunk_buffer_most, window(ctx) * ctx.chunk_bytes())) {
      return show_with_length(ctx, c);
    }
    BufferDescriptor exposed;  // of what it shows, with the way where an output would be
    way_ = choose_way(ctx, c, exposed.in);
    exposed.out.at = static_cast<std::uint64_t>(way_);
    if (irregular_) write_table(ctx);
    std::uint32_t at_once = 0;
    if (way_ == Way::chunk_buffer) {
      area_ = ctx.chunk_buffer(ctx.rank(), first_chunk_buffer(ctx)) + table_bytes(ctx);
      fill(ctx, c, area_, 0, shown_bytes_);
      filled_ = shown_bytes_;
      at_once = all;
      const std::size_t from = first_chunk_buffer(ctx) * ctx.chunk_bytes();
      ctx.expect_again(from, table_bytes(ctx) + shown_bytes_);
    } else if (exposes(way_)) {
      filled_ = shown_bytes_;
      at_once = all;
    } else if (way_ == Way::pieces) {
      static_cast<void>(ctx.chunk_buffer(ctx.rank(), window(ctx)));  // takes its pages, or throws
    }
    ctx.expose(exposed, at_once);
  }

  /// Shows it with its flag.
  void show_in_line(CallContext auto& ctx, const Call& c) {
    std::byte line[inline_bytes];
    if (shown_bytes_ != 0) fill(ctx, c, line, 0, shown_bytes_);
    filled_ = shown_bytes_;
    ctx.announce(line, shown_bytes_, 1);
  }

  /// Shows the one block, whose length only this rank and the taker know.
  void show_with_length(CallContext auto& ctx, const Call& c) {
    std::byte line[inline_bytes];
    const std::uint64_t length = shown_bytes_;
    std::memcpy(line, &length, length_bytes);
    const bool fits = fits_behind_length(shown_bytes_);
    if (shown_bytes_ != 0) {
      fill(ctx, c, fits ? line + length_bytes : ctx.chunk_buffer(ctx.rank(), 0), 0, shown_bytes_);
    }
    filled_ = shown_bytes_;
    if (!fits) ctx.expect_again(0, shown_bytes_);
    ctx.announce(line, length_bytes + (fits ? shown_bytes_ : 0), with_length);
  }
  static bool fits_behind_length(std::size_t bytes) noexcept {
    return length_bytes + bytes <= inline_bytes;
  }

  Way choose_way(CallContext auto& ctx, const Call& c, BufferPlace& place) {
    const bool is_long = shown_bytes_ > std::min(exposed_from, 2 * ctx.chunk_bytes());
    const bool stays = is_long && !blocks_in_place(c);
    const BufferPlace input = stays ? ctx.peers().place(c.in, extent(ctx)) : BufferPlace{};
    const bool may_pull = stays && ctx.peers().pulls() && mean_block() >= pulled_from;
    if (input.mapped != 0) {
      place = input;
      return Way::exposed;
    }
    if (may_pull && pulls_first(ctx, c)) {
      place = input;
      return Way::pulled;
    }
    if (c.reach == PeerReach::chunked && shown_bytes_ >= BlockCopies::chunked_from)
      return Way::pieces;
    const std::size_t room = window(ctx) * ctx.chunk_bytes();
    if (shown_bytes_ <= chunk_buffer_most && table_bytes(ctx) + shown_bytes_ <= room)
      return Way::chunk_buffer;
    if (std::byte* const pool = ctx.shared_pool(shown_bytes_)) {
      place = ctx.peers().place(pool, shown_bytes_);
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

  /// Chunk buffers for blocks that go in pieces: the second half of a rank's. Where counts
  /// differ, the first has the lengths.
  static std::uint32_t window(const CallContext auto& ctx) noexcept { return ctx.buffers() / 2; }
  /// The first chunk buffer of blocks that fit a rank's.
  std::uint32_t first_chunk_buffer(const CallContext auto& ctx) const noexcept {
    return irregular_ ? 0 : window(ctx);
  }
  std::size_t table_bytes(const CallContext auto& ctx) const noexcept {
    return irregular_ ? static_cast<std::size_t>(ctx.size()) * sizeof(Entry) : 0;
  }

  /// Returns true if peers read a rank's input in place.
  static bool exposes(Way way) noexcept { return way == Way::exposed || way == Way::pulled; }

  /// Returns true if received blocks overwrite blocks that are still to be sent.
  static bool blocks_in_place(const Call& c) noexcept {
    return c.collective == Collective::alltoall && c.in_place();
  }

  /// Bytes from the beginning of the input to the end of the last block for others.
  std::size_t extent(const CallContext auto& ctx) const noexcept {
    if (blocks_.shares_one()) return blocks_.given(ctx.rank()).n;
    std::size_t end = 0;
    for (int r = 0; r < ctx.size(); ++r) {
      const auto b = blocks_.given(r);
      if (r != ctx.rank()) end = std::max(end, b.at + b.n);
    }
    return end;
  }

  void write_table(CallContext auto& ctx) {
    std::byte* const table = ctx.chunk_buffer(ctx.rank(), 0);
    std::size_t at = 0;
    for (int i = 0; i + 1 < ctx.size(); ++i) {
      const int r = taker(ctx, i);
      const auto b = blocks_.given(r);
      const Entry e{exposes(way_) ? b.at : at, b.n};
      if (!blocks_.shares_one()) at += b.n;
      ctx.write(table + static_cast<std::size_t>(r) * sizeof e,
                reinterpret_cast<const std::byte*>(&e), sizeof e);
    }
  }

  /// Copies bytes [from, to) of what this rank shows, its blocks one after the other.
  void fill(CallContext auto& ctx, const Call& c, std::byte* area, std::size_t from,
            std::size_t to) {
    if (blocks_.shares_one()) return ctx.write(area + from, c.in + from, to - from);
    std::size_t at = 0;
    for (int i = 0; at < to; ++i) {
      const auto b = blocks_.given(taker(ctx, i));
      const std::size_t lo = std::max(at, from);
      const std::size_t hi = std::min(at + b.n, to);
      if (lo < hi) ctx.write(area + lo, c.in + b.at + (lo - at), hi - lo);
      at += b.n;
    }
  }

  /// Shows the next part of this rank's blocks. False if there is nothing to do now.
  bool give_next(CallContext auto& ctx, const Call& c) {
    if (filled_ == shown_bytes_) return false;
    if (way_ == Way::pieces) return give_piece(ctx, c);
    if (filled_ == 0 && !ctx.use_pool()) return false;
    const std::size_t to = std::min(filled_ + part_bytes, shown_bytes_);
    fill(ctx, c, area_, filled_, to);
    filled_ = to;
    const auto parts = static_cast<std::uint32_t>((to + part_bytes - 1) / part_bytes);
    ctx.publish(to == shown_bytes_ ? all : parts, everyone);
    return true;
  }

  /// The next piece of every block, where all have copied the one before the last.
  bool give_piece(CallContext auto& ctx, const Call& c) {
    if (given_ >= window(ctx)) {
      if (!all_took(ctx, given_ - window(ctx) + 1)) return false;
    }
    std::byte* const buffer = ctx.chunk_buffer(ctx.rank(), window(ctx) + given_ % window(ctx));
    const std::size_t from = given_ * piece_;
    const int n = blocks_.shares_one() ? 1 : ctx.size() - 1;
    for (int i = 0; i < n; ++i) {
      const auto b = blocks_.given(taker(ctx, i));
      if (b.n <= from) continue;
      const std::size_t bytes = std::min(piece_, b.n - from);
      ctx.write(buffer + static_cast<std::size_t>(i) * piece_, c.in + b.at + from, bytes);
      filled_ += bytes;
    }
    ++given_;
    ctx.publish(filled_ == shown_bytes_ ? all : given_, everyone);
    return true;
  }

  /// Returns true if every receiver has copied that many pieces of its blocks.
  bool all_took(CallContext auto& ctx, std::uint32_t pieces) {
    return all_pass(next_taker_, ctx.size(), [&](int r) {
      return r == ctx.rank() || !blocks_.gives(ctx.rank(), r) || ctx.stage_reached(r, pieces);
    });
  }

  ExchangedBlocks blocks_;
  std::byte* area_ = nullptr;    ///< chunk buffers, pool: where this rank shows its blocks
  std::size_t shown_bytes_ = 0;  ///< of its blocks for others
  std::size_t filled_ = 0;       ///< of them, those that it has shown
  std::size_t piece_ = 0;        ///< bytes of a block's part that goes in pieces
  std::uint32_t given_ = 0;      ///< pieces that it has shown
  int to_take_ = 0;              ///< ranks that give to this one
  int takers_ = 0;               ///< ranks that this one gives to
  int next_taker_ = 0;
  Way way_ = Way::line;
  bool begun_ = false;
  bool irregular_ = false;
  bool for_one_ = false;  ///< irregular, and a rank sends to one other at most
  bool in_line_ = false;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
