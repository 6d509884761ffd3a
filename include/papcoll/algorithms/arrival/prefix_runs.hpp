// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/arrival/shared_steps.hpp>
#include <papcoll/algorithms/arrival/tags.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/node/call_context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace papcoll::inline PAPCOLL_ABI {

/// One call of one rank by PrefixRuns: every rank combines what is there, downwards from itself.
///
/// Phases: 1. Each rank shows its contribution: in the line of its flag, its chunk buffers, its
///      pool, or its input, where peers see that, or where the kernel is to copy from it:
///      PeerReach.
///   2. Chunk by chunk, rank r combines the contributions of r−1, r−2, … as far as ranks are
///      there, until it reaches rank 0, or a rank that has its result: that holds all the
///      rest. It shows its own result to the ranks above.
///   3. A rank whose buffers are read waits until the ranks above have their results.
/// Cost: One flag. Of n bytes, rank r combines between n (the rank below was ready) and r·n
///   (none was). After the last arrival, of rank l, at most two combinations: its own, and
///   one by each rank above, which has combined what lies between before.
/// Prefer: Always on one node, for scan and exscan.
/// Limits: One node. Ranks above do not matter to a rank, and a late one delays only those. Where
///   the pool is too small, long vectors go through the chunk buffers two chunks at a time,
///   and then a rank waits for those above.
/// Contract: None: the runs depend on the arrivals. Where Reproducible is asked for, each rank
///   combines from rank 0 upwards, or goes on from the result of the rank below, which has
///   the same bits.
///
///     scan      rank 0     1 (late)     2          3
///     shown     a                       c          d
///     runs      a                       c          c∘d
///     1 comes   a          a∘b          a∘b∘c      a∘b∘c∘d
///
/// Source: papcoll's own; runs of those present are the partial results of arrival-aware
///   reductions, in the order that a scan needs.
class PrefixRuns::Run {
 public:
  bool step(CallContext auto& ctx, const Call& c) {
    if (!begun_) begin(ctx, c);
    for (;;) {
      bool gave = false;
      while (given_ - done_ <= ahead && give_next(ctx, c)) gave = true;
      const bool combined = combine_next(ctx, c);
      if (failed_) return false;
      if (is_done(ctx)) return true;
      if (!gave && !combined) return false;
    }
  }

 private:
  /// Where a rank shows its contribution and its result.
  enum class Way : std::uint32_t {
    line,          ///< with its flag; no result
    chunk_buffer,  ///< in chunk buffers, the contribution's chunk k in 2k, the result's in 2k + 1
    pool,          ///< in its pool, first the contribution
    exposed,       ///< in its buffers, which peers see
    pulled,        ///< in its buffers, from where the kernel copies
  };
  enum class What { contribution, result };

  /// A chunk stays in a near cache, and a rank works on one while the next is written. For long
  /// vectors it has more bytes, since each copy by the kernel has a fixed cost.
  static constexpr std::size_t least_chunk = 16384;
  static constexpr std::size_t most_chunk = 65536;
  /// Up to here they go through the chunk buffers: longer ones are quicker through the pool, whose
  /// places calls use in turns.
  static constexpr std::size_t chunk_buffer_most = 4096;
  /// From here on the kernel may copy what private buffers have.
  static constexpr std::size_t pulled_from = 4096;
  /// A rank shows so many chunks more than it has results before it combines.
  static constexpr std::uint32_t ahead = 16;
  /// From here on results are shown: a copy of a short one costs more than combining again.
  static constexpr std::size_t results_from = 2048;
  static constexpr std::uint32_t all = std::numeric_limits<std::uint32_t>::max();

  void begin(CallContext auto& ctx, const Call& c) {
    begun_ = true;
    std::fill_n(ctx.pending(), ctx.size(), 0);
    exclusive_ = c.collective == Collective::exscan;
    const std::size_t chunk = std::clamp(c.bytes() / 2, least_chunk, most_chunk);
    chunks_ = Chunks{c.count, c.reducer.size,
                     std::max(std::min(chunk, ctx.chunk_bytes()), c.reducer.size)};
    is_last_ = ctx.rank() + 1 == ctx.size();
    in_line_ = c.bytes() <= NodeControlBlock::inline_bytes;
    results_shown_ = c.bytes() >= std::min(results_from, ctx.chunk_bytes());
    shows_results_ = results_shown_ && ctx.rank() > 0 && !is_last_;
    wants_ = !exclusive_ || ctx.rank() > 0;
    fits_chunk_buffer_ = c.bytes() <= std::min(chunk_buffer_most, ctx.chunk_bytes());
    if (in_line_) {
      ctx.announce(c.in, c.bytes(), 1);
      given_ = chunks_.count;
    } else if (fits_chunk_buffer_) {
      way_ = Way::chunk_buffer;
      for (; given_ < chunks_.count && !is_last_; ++given_) write_to_chunk_buffer(ctx, c, given_);
      given_ = chunks_.count;
      if (!is_last_) ctx.expect_again(0, c.bytes());
      ctx.announce(nullptr, 0, given_);
    } else {
      show(ctx, c);
    }
    start_chunk(ctx);
  }

  void show(CallContext auto& ctx, const Call& c) {
    BufferDescriptor exposed;
    way_ = is_last_ ? Way::chunk_buffer : choose_way(ctx, c, exposed);
    exposed.out.mapped |= static_cast<std::uint32_t>(way_) << 8U;
    if (way_ == Way::chunk_buffer && !is_last_) static_cast<void>(ctx.chunk_buffer(ctx.rank(), 0));
    const bool ready = exposes(way_) || is_last_;
    if (ready) given_ = chunks_.count;
    ctx.expose(exposed, ready ? all : 0);
  }

  void write_to_chunk_buffer(CallContext auto& ctx, const Call& c, std::uint32_t k) {
    ctx.write(ctx.chunk_buffer(ctx.rank(), 2 * k), c.in + chunks_.offset(k), chunks_.bytes(k));
  }

  Way choose_way(CallContext auto& ctx, const Call& c, BufferDescriptor& exposed) {
    const bool separate = !c.in_place();
    const BufferPlace in = ctx.peers().place(c.in, c.bytes());
    const BufferPlace out = ctx.peers().place(c.out, c.bytes());
    if (separate && in.mapped != 0 && (out.mapped != 0 || !wants_)) {
      exposed = {in, out};
      return Way::exposed;
    }
    const bool may_pull = separate && ctx.peers().pulls() && c.bytes() >= pulled_from;
    if (may_pull && pulls_first(ctx, c)) {
      exposed = {{reinterpret_cast<std::uintptr_t>(c.in), 0},
                 {reinterpret_cast<std::uintptr_t>(c.out), 0}};
      return Way::pulled;
    }
    pool_ = ctx.shared_pool(2 * c.bytes());
    if (pool_ == nullptr) return Way::chunk_buffer;
    exposed.in = ctx.peers().place(pool_, 2 * c.bytes());
    return Way::pool;
  }

  /// Returns true if peers read a rank's buffers in place.
  static bool exposes(Way way) noexcept { return way == Way::exposed || way == Way::pulled; }

  // --- giving

  /// Shows the next chunk of this rank's contribution. False if there is nothing to do now.
  bool give_next(CallContext auto& ctx, const Call& c) {
    if (given_ == chunks_.count) return false;
    if (way_ == Way::pool) {
      if (!ctx.use_pool()) return false;
      const std::size_t offset = chunks_.offset(given_);
      ctx.write(pool_ + offset, c.in + offset, chunks_.bytes(given_));
    } else {
      if (!has_room(ctx, given_)) return false;
      write_to_chunk_buffer(ctx, c, given_);
    }
    ctx.publish(++given_, everyone);
    return true;
  }

  /// Returns true if the ranks above have read the results that chunk k overwrites.
  bool has_room(CallContext auto& ctx, std::uint32_t k) {
    const std::uint32_t window = ctx.buffers() / 2;
    if (k < window) return true;
    return all_above(ctx, k - window + 1);
  }

  // --- combining

  void start_chunk(const CallContext auto& ctx) {
    low_ = ctx.rank();
    up_ = 0;
    is_empty_ = exclusive_;
  }

  /// Combines one more contribution, or a result, into this rank's chunk. False if none is there.
  bool combine_next(CallContext auto& ctx, const Call& c) {
    if (done_ == chunks_.count) return false;
    // In place, the chunk is written over this rank's contribution.
    if (given_ <= done_) return false;
    if (!wants_) return finish_chunk(ctx, c);
    bool moved = false;
    while (!c.by_arrivals() ? up_ < ctx.rank() : low_ > 0) {
      const bool went = !c.by_arrivals() ? go_up(ctx, c) : go_down(ctx, c);
      if (failed_) return false;
      if (!went) return moved;
      moved = true;
    }
    return finish_chunk(ctx, c);
  }

  /// acc = x[low−1] ∘ acc, or with the result of rank low−1 in place of what is below.
  bool go_down(CallContext auto& ctx, const Call& c) {
    const int p = low_ - 1;
    if (!has(ctx, p, What::contribution)) return false;
    const bool finishes = p > 0 && results_shown_ && has(ctx, p, What::result);
    if (!finishes || exclusive_) {
      if (!prepend(ctx, c, p, What::contribution)) return false;
    }
    if (finishes && !prepend(ctx, c, p, What::result)) return false;
    low_ = finishes ? 0 : p;
    return true;
  }

  /// acc = acc ∘ x[up], from rank 0 on; the result of the rank below has the same bits.
  bool go_up(CallContext auto& ctx, const Call& c) {
    const int below = ctx.rank() - 1;
    if (up_ == 0 && below > 0 && results_shown_ && has(ctx, below, What::result)) {
      if (!has(ctx, below, What::contribution)) return false;
      is_empty_ = true;
      if (!append(ctx, c, below, What::result)) return false;
      if (exclusive_ && !append(ctx, c, below, What::contribution)) return false;
      up_ = ctx.rank();
    } else {
      if (!has(ctx, up_, What::contribution)) return false;
      if (up_ == 0) is_empty_ = true;
      if (!append(ctx, c, up_, What::contribution)) return false;
      ++up_;
    }
    return true;
  }

  /// Checks rank p's call first, then returns true if its chunk is published.
  bool has(CallContext auto& ctx, int p, What what) {
    if (!ctx.arrived(p, done_ + 1)) {
      if (fits_chunk_buffer_ && !in_line_) ctx.expect(p, 2 * done_, 0, chunks_.bytes(done_));
      return false;
    }
    if (ctx.pending()[p] == 0 && !meet(ctx, p)) return false;
    return what == What::contribution || ctx.stage_reached(p, done_ + 1);
  }

  /// Looks at the call of rank p; pending()[p]: it has been looked at, and is the same.
  bool meet(CallContext auto& ctx, int p) {
    if (!detail::matched(ctx, p)) return failed_ = true, false;
    ctx.pending()[p] = 1;
    if (++met_ + 1 == ctx.size()) ctx.note_all_arrived();
    return true;
  }

  Way way_of(const CallContext auto& ctx, int p) const {
    if (in_line_) return Way::line;
    if (fits_chunk_buffer_) return Way::chunk_buffer;
    return static_cast<Way>(ctx.exposed_by(p).out.mapped >> 8U);
  }

  bool prepend(CallContext auto& ctx, const Call& c, int p, What what) {
    return take(ctx, c, p, what, true);
  }
  bool append(CallContext auto& ctx, const Call& c, int p, What what) {
    return take(ctx, c, p, what, false);
  }

  /// Combines the chunk of rank p with this rank's, as the first operand or the second.
  bool take(CallContext auto& ctx, const Call& c, int p, What what, bool is_low) {
    const Way way = way_of(ctx, p);
    const bool guarded = exposes(way);
    if (guarded && !ctx.begin_reading()) return failed_ = true, false;
    combine(ctx, c, p, way, what, is_low);
    if (guarded && !ctx.end_reading()) return failed_ = true, false;
    return true;
  }

  void combine(CallContext auto& ctx, const Call& c, int p, Way way, What what, bool is_low) {
    std::byte* const to = target(ctx, c);
    if (is_empty_ && way == Way::pulled) {
      pull(ctx, p, what, to);
    } else if (is_empty_) {
      ctx.read(to, shown(ctx, p, way, what), chunks_.bytes(done_));
    } else {
      const bool is_first = is_low && !exclusive_ && !has_begun_;
      const std::byte* const mine = is_first ? c.in + chunks_.offset(done_) : to;
      const std::byte* const theirs = shown(ctx, p, way, what);
      ctx.reduce(to, is_low ? theirs : mine, is_low ? mine : theirs, chunks_.length(done_));
    }
    is_empty_ = false;
    has_begun_ = true;
  }

  /// Returns where this rank combines the chunk: in its output, unless its own contribution, which
  /// in place stands there, comes last.
  std::byte* target(CallContext auto& ctx, const Call& c) {
    return !c.by_arrivals() && !exclusive_ ? ctx.scratch(0) : c.out + chunks_.offset(done_);
  }

  /// Copies the current chunk of rank p by the kernel.
  void pull(CallContext auto& ctx, int p, What what, std::byte* to) {
    const BufferDescriptor theirs = ctx.exposed_by(p);
    const std::uint64_t from = what == What::result ? theirs.out.at : theirs.in.at;
    ctx.peers().pull(to, p, from + chunks_.offset(done_), chunks_.bytes(done_));
  }

  /// Returns where the current chunk of rank p is; copied from where no rank sees it.
  const std::byte* shown(CallContext auto& ctx, int p, Way way, What what) {
    const bool result = what == What::result;
    const std::size_t offset = chunks_.offset(done_);
    if (way == Way::line) return ctx.small(p);
    if (way == Way::chunk_buffer) return ctx.chunk_buffer(p, 2 * done_ + (result ? 1 : 0));
    if (way == Way::pulled) {
      pull(ctx, p, what, ctx.scratch(1));
      return ctx.scratch(1);
    }
    const BufferDescriptor theirs = ctx.exposed_by(p);
    const BufferPlace& place = way == Way::exposed && result ? theirs.out : theirs.in;
    const std::size_t before = way == Way::pool && result ? chunks_.elements * chunks_.size : 0;
    return ctx.peers().see(place) + before + offset;
  }

  /// Ends a chunk, which this rank has.
  bool finish_chunk(CallContext auto& ctx, const Call& c) {
    std::byte* const out = c.out + chunks_.offset(done_);
    const std::byte* const own = c.in + chunks_.offset(done_);
    const std::size_t n = chunks_.bytes(done_);
    if (wants_ && !exclusive_) {
      if (ctx.rank() == 0) {
        if (out != own) ctx.read(out, own, n);
      } else if (!c.by_arrivals()) {
        ctx.reduce(out, ctx.scratch(0), own, n / chunks_.size);
      }
    }
    if (shows_results_ && !exposes(way_)) {
      std::byte* const to = way_ == Way::pool
                                ? pool_ + chunks_.elements * chunks_.size + chunks_.offset(done_)
                                : ctx.chunk_buffer(ctx.rank(), 2 * done_ + 1);
      ctx.write(to, out, n);
    }
    ++done_;
    has_begun_ = false;
    const bool ends = done_ == chunks_.count;
    // Where vectors do not fit the chunk buffers, ranks below may wait for this one.
    if (shows_results_ || !fits_chunk_buffer_) ctx.publish_stage(ends ? all : done_);
    if (!ends) start_chunk(ctx);
    return true;
  }

  bool is_done(CallContext auto& ctx) {
    if (done_ != chunks_.count || given_ != chunks_.count) return false;
    if (!exposes(way_)) return true;
    return all_above(ctx, all);
  }

  /// Returns true if all ranks above have read that many chunks of their results.
  bool all_above(CallContext auto& ctx, std::uint32_t chunks) {
    return detail::all_pass(next_above_, ctx.size(),
                            [&](int r) { return r <= ctx.rank() || ctx.stage_reached(r, chunks); });
  }

  Chunks chunks_;
  std::byte* pool_ = nullptr;
  std::uint32_t given_ = 0;  ///< chunks of this rank's contribution that it has shown
  std::uint32_t done_ = 0;   ///< chunks of its result
  int low_ = 0;              ///< of the current chunk, it has combined ranks from here on
  int up_ = 0;               ///< the same upwards: ranks below this
  int met_ = 0;              ///< ranks whose calls it has looked at
  int next_above_ = 0;
  Way way_ = Way::line;
  bool begun_ = false;
  bool exclusive_ = false;
  bool wants_ = true;  ///< a result: rank 0 of an exscan has none
  bool is_last_ = false;
  bool in_line_ = false;
  bool shows_results_ = false;      ///< this rank does
  bool results_shown_ = false;      ///< ranks show their results to those above
  bool fits_chunk_buffer_ = false;  ///< all chunks of all ranks do
  bool is_empty_ = false;           ///< nothing is combined in the current chunk
  bool has_begun_ = false;          ///< something is
  bool failed_ = false;
};

namespace detail {
PAPCOLL_ARRIVAL_ALGORITHM(StaticOrder, PrefixRuns)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
