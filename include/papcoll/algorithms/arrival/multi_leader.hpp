// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/arrival/grouped.hpp>
#include <papcoll/algorithms/arrival/shared_steps.hpp>
#include <papcoll/algorithms/arrival/tags.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/node/call_context.hpp>
#include <papcoll/schedule/range.hpp>
#include <papcoll/topology/groups.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace papcoll::inline PAPCOLL_ABI {

/// One call of one rank by MultiLeader: each rank leads for its slice of the data (DPML).
///
/// Phases: For each chunk of the message:
///   1. Each rank copies to its chunk buffers the slices that the others lead (all but its
///      own).
///   2. Each rank combines its own slice, straight from its private input and the others'
///      chunk buffers, block by block: each block goes to its output and, while it is in its
///      nearest cache, over the contribution of its successor. Then it raises its second
///      flag.
///   3. Each rank copies the other slices of the result from there.
///   A few chunks are in flight: a rank writes and combines ahead while it waits.
///   Where the call context says which ranks share a cache, in two levels:
///   GroupedLeaders.
/// Cost: Two flags each way a chunk. Each rank copies 2(P−1)/P·n bytes and combines n·(P−1)/P:
///   the work is shared evenly, which no single leader can do. Results take the place of
///   contributions that have just been read, so with two ranks a line of shared memory
///   crosses once each way, the least there is for private buffers.
/// Prefer: Balanced arrivals above a few KB on one node.
/// Limits: One node. A late rank holds up its slice until it comes.
/// Contract: Reproducible: every element is combined in rank order; in two levels, by groups.
///
///             buffer 0 buffer 1 buffer 2
///     rank 0           b0       c0        → buffer 1 gets a0∘b0∘c0 ┐
///     rank 1  a1                c1        → buffer 2 gets a1∘b1∘c1 ├ all read the others' slices
///     rank 2  a2       b2                 → buffer 0 gets a2∘b2∘c2 ┘
///
/// Source: M. Bayatpour et al., "Scalable reduction collectives with data partitioning-based
///   multi-leader design", SC 2017, with all ranks as leaders.
class MultiLeader::Run {
 public:
  bool step(CallContext auto& ctx, const Call& c) {
    if (!begun_) begin(ctx, c);
    return grouped_ ? grouped_->step(ctx, c) : step_in_one_level(ctx, c);
  }

 private:
  /// Not inlined, so that GCC compiles it as well as without groups.
  [[gnu::noinline]] bool step_in_one_level(CallContext auto& ctx, const Call& c) {
    for (;;) {
      const bool wrote = write_next(ctx, c);
      const bool combined = combine_next(ctx, c);
      const bool took = take_next(ctx, c);
      if (taken_ == chunks_.count) return true;
      if (!wrote && !combined && !took) return false;
    }
  }

  void begin(CallContext auto& ctx, const Call& c) {
    begun_ = true;
    if (ctx.groups() != nullptr) begin_in_groups(ctx, c);
    // Two ranks are faster with two buffers to a chunk; more ranks need the chunks to work ahead.
    together_ = ctx.size() == 2 ? 2 : 1;
    chunks_ = Chunks{c.count, c.reducer.size, together_ * ctx.chunk_bytes()};
    streams_ = !c.in_place() && ctx.streams(2 * c.bytes());
  }

  [[gnu::noinline]] void begin_in_groups(CallContext auto& ctx, const Call& c) {
    const Groups* const groups = detail::groups_of_two_levels(ctx, c);
    if (groups != nullptr) grouped_.emplace(*groups, ctx, c);
  }

  /// Chunks in flight. A chunk overwrites, in this rank's chunk buffers, the one that many before
  /// it, of which others have read contributions and results. With two ranks only this rank reads
  /// that result: it has taken it. With more, a rank has taken a chunk t when all have combined it,
  /// and so have published it and taken those below t − window: twice the window is needed.
  std::uint32_t window(const CallContext auto& ctx) const {
    return ctx.size() == 2 ? ctx.buffers() / together_ : ctx.buffers() / 2;
  }

  /// Rank r's memory for a chunk.
  std::byte* chunk_buffer(CallContext auto& ctx, int r, std::uint32_t chunk) const {
    return ctx.chunk_buffer(r, chunk * together_);
  }

  /// Returns the rank whose chunk buffers hold the result of rank r's slice.
  static int keeper(const CallContext auto& ctx, int r) { return r + 1 < ctx.size() ? r + 1 : 0; }

  /// Rank r's slice of a chunk, in elements of the chunk.
  Range slice(const CallContext auto& ctx, std::uint32_t chunk, int r) const {
    return detail::slice_of(chunks_.length(chunk), chunks_.size, r, ctx.size());
  }

  bool write_next(CallContext auto& ctx, const Call& c) {
    if (written_ == chunks_.count || written_ >= taken_ + window(ctx)) return false;
    const Range own = slice(ctx, written_, ctx.rank());
    detail::write_around(ctx, written_ * together_, c.in + chunks_.offset(written_),
                         chunks_.length(written_), chunks_.size, own);
    detail::show_chunks(ctx, ++written_, everyone);
    return true;
  }

  bool combine_next(CallContext auto& ctx, const Call& c) {
    if (combined_ == chunks_.count || combined_ == written_) return false;
    const auto is_there = [&](int r) { return detail::has_chunk(ctx, r, combined_); };
    if (!detail::all_pass(next_, ctx.size(), is_there)) return false;
    ctx.note_all_arrived();
    detail::for_each_block(slice(ctx, combined_, ctx.rank()), chunks_.size,
                           [&](std::size_t at, std::size_t n) { combine_block(ctx, c, at, n); });
    ctx.publish_stage(++combined_);
    return true;
  }

  /// Combines n elements, `at` bytes into the chunk, in rank order. Only the last combination
  /// writes to this rank's output: in place, it is one of the inputs.
  void combine_block(CallContext auto& ctx, const Call& c, std::size_t at, std::size_t n) {
    const std::size_t offset = chunks_.offset(combined_) + at;
    if (ctx.size() == 1) {
      if (c.in != c.out) ctx.read(c.out + offset, c.in + offset, n * chunks_.size);
      return;
    }
    std::byte* const to = streams_ ? ctx.scratch(0) : c.out + offset;
    detail::combine_in_order(ctx, to, ctx.size(), n, [&](int r) {
      return r == ctx.rank() ? c.in + offset : chunk_buffer(ctx, r, combined_) + at;
    });
    if (streams_) ctx.stream(c.out + offset, to, n * chunks_.size);
    ctx.write(chunk_buffer(ctx, keeper(ctx, ctx.rank()), combined_) + at, to, n * chunks_.size);
  }

  bool take_next(CallContext auto& ctx, const Call& c) {
    if (taken_ == combined_) return false;
    const auto is_there = [&](int r) {
      return r == ctx.rank() || ctx.stage_reached(r, taken_ + 1);
    };
    if (!detail::all_pass(next_to_take_, ctx.size(), is_there)) return false;
    for (int r = 0; r < ctx.size(); ++r) {
      if (r == ctx.rank()) continue;
      const Range theirs = slice(ctx, taken_, r);
      if (theirs.empty()) continue;  // its keeper's buffer has not been written
      const std::size_t at = theirs.lo * chunks_.size;
      std::byte* const to = c.out + chunks_.offset(taken_) + at;
      const std::byte* const from = chunk_buffer(ctx, keeper(ctx, r), taken_) + at;
      const std::size_t n = theirs.size() * chunks_.size;
      streams_ ? ctx.stream(to, from, n) : ctx.read(to, from, n);
    }
    ++taken_;
    return true;
  }

  Chunks chunks_;
  std::uint32_t together_ = 1;  ///< buffers to a chunk
  std::uint32_t written_ = 0;   ///< chunks in this rank's chunk buffers so far
  std::uint32_t combined_ = 0;  ///< chunks this rank has combined its slice of
  std::uint32_t taken_ = 0;     ///< chunks this rank has the whole result of
  int next_ = 0;
  int next_to_take_ = 0;
  bool streams_ = false;  ///< its output goes past the caches
  bool begun_ = false;
  std::optional<detail::GroupedLeaders> grouped_;  ///< in two levels
};

namespace detail {
PAPCOLL_ARRIVAL_ALGORITHM(StaticOrder, MultiLeader)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
