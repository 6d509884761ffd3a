// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/arrival/chunk_reduction.hpp>
#include <papcoll/algorithms/arrival/shared_steps.hpp>
#include <papcoll/algorithms/arrival/tags.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/node/call_context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

/// One call of one rank by SplitTail: a rank that is awake combines what has come, chunk by chunk.
///
/// Phases: Each arriving rank draws a ticket. A chunk of the message holds the sum of tickets
///   0…m−1. A rank that is there takes up any chunk that misses contributions which have
///   come, adds them all, and lays it down again: while others are awaited, and when the last
///   one has come. A chunk that holds all P contributions is copied by those who want it.
/// Cost: After the last arrival: n/P bytes combined by each rank, since all share the chunks, and
///   n bytes of the result read (n·(P−1)/P of them from others). While ranks are awaited,
///   each arrival costs n bytes combined, shared by those who are there.
/// Prefer: Large messages under imbalanced arrivals, on one node. Balanced, PeerSlices reads each
///   input once and in one pass.
/// Limits: One node, commutative operators; up to 1023 ranks. Partial results lie in the output of
///   whoever combined them, so that a call that fails may have written to outputs; a rank of
///   an allreduce that holds results waits until all have read them. A rank of a reduce
///   leaves when its contribution is in every chunk. Where the kernel does not let ranks copy
///   from each other, chunks go through shared memory two at a time in the first calls of a
///   size, and always where pools are too small for twice the message; what is combined
///   before the last arrival is those two.
/// Contract: RankConsistent: each element is combined once. The order depends on the arrivals.
///
///     chunk        0      1      2      3        rank c arrives last:
///     holds       a∘b    a∘b    a∘b    a∘b       a, b and c each take up chunks, add c's part,
///     lies with    b      a      b      b        and read the others'
///
/// Source: Removes the limit of the arrival-ordered chain (P. Alizadeh, MASc thesis, Queen's
///   University 2021, ch. 5): P−1 steps, one of them by each rank, however late the last one
///   is. Sharing what is left when the last one comes is papcoll's own.
class SplitTail::Run : detail::ChunkReduction<SplitTail::Run, 64> {
 public:
  bool step(CallContext auto& ctx, const Call& c) {
    if (!begun_) begin(ctx, c);
    return go_on(ctx, c, start_);
  }

 private:
  friend ChunkReduction;
  /// A chunk that holds tickets 0…count−1 lies with rank `who`.
  using Chunk = detail::ChunkWord<SplitTail, 10, 10, words>;
  static_assert(most_ranks == Chunk::most_count);

  void begin(CallContext auto& ctx, const Call& c) {
    begun_ = true;
    ChunkReduction::begin(ctx, c);
    ticket_ = ctx.draw_ticket();
    // Ranks begin at chunks far from each other.
    start_ =
        static_cast<std::uint32_t>(static_cast<std::size_t>(ctx.rank()) * buffers_.chunks().count /
                                   static_cast<std::size_t>(ctx.size()));
  }

  /// Returns false, and makes all ranks throw, if a rank's call does not match this one's.
  bool learn(CallContext auto& ctx) {
    while (known_ < ctx.size()) {
      const int r = ctx.holder(known_);
      if (r < 0) return true;
      if (!detail::matched(ctx, r)) return false;
      ctx.pending()[known_++] = r;
      if (known_ == ctx.size()) ctx.note_all_arrived();
    }
    return true;
  }
  bool looks_again(const CallContext auto& ctx) const { return known_ < ctx.size(); }

  bool is_in(const CallContext auto& ctx, std::uint32_t k) const {
    return Chunk::of(ctx.work(k % words), k).count > ticket_;
  }

  /// Takes the result of chunk k, or adds what has come, if either can be done.
  Outcome work_on(CallContext auto& ctx, const Call& c, std::uint32_t k, bool& combined) {
    const std::uint32_t state = ctx.work(k % words);
    const Chunk chunk = Chunk::of(state, k);
    if (chunk.busy) return Outcome::waiting;
    if (takes() ? chunk.count == ctx.size() : chunk.count > ticket_) {
      return !takes() || take(ctx, c, k, chunk.who) ? Outcome::done : Outcome::failed;
    }
    const int joined = mergeable(ctx, c, k, chunk);
    if (joined == chunk.count) return Outcome::waiting;
    if (!ctx.try_claim(k % words, state, Chunk{true, chunk.who, chunk.count}.state(k))) {
      return Outcome::waiting;
    }
    if (!add(ctx, c, k, chunk, joined)) {
      ctx.unclaim(k % words, chunk.state(k));
      return Outcome::failed;
    }
    ctx.complete(k % words, Chunk{false, ctx.rank(), joined}.state(k));
    combined = true;
    if (joined != ctx.size() || !takes()) return Outcome::waiting;
    keep();
    return Outcome::done;
  }

  /// Returns the ticket up to which the chunk can be completed; the one that it has reached if
  /// there is nothing to do.
  int mergeable(CallContext auto& ctx, const Call& c, std::uint32_t k, const Chunk& chunk) {
    int end = chunk.count;
    while (end < known_ && buffers_.has_input(ctx, ctx.pending()[end], k)) ++end;
    // In place, the sum is written over this rank's contribution, which must be part of it.
    // (Earlier tickets may be drawn and not show their holders, or their chunks, yet.)
    if (end <= ticket_ && c.in_place() && buffers_.exposes_output()) return chunk.count;
    const bool lonely = end == 1 && ctx.size() > 1;  // nothing to combine it with
    return lonely || (end != chunk.count && !buffers_.may_combine(ctx)) ? chunk.count : end;
  }

  /// Adds tickets chunk.count…end−1 to chunk k, in this rank's buffer.
  bool add(CallContext auto& ctx, const Call& c, std::uint32_t k, const Chunk& chunk, int end) {
    if (!ctx.begin_reading()) return false;
    std::byte* const to = buffers_.target(ctx, k);
    const std::size_t size = c.reducer.size;
    const std::size_t block = ctx.scratch_bytes() / size * size;
    const std::size_t bytes = buffers_.chunks().bytes(k);
    std::byte* const out = end == ctx.size() && takes() && !buffers_.exposes_output()
                               ? c.out + buffers_.chunks().offset(k)
                               : nullptr;  // it is the result, which this rank wants, too
    std::byte* const destination = out != nullptr ? out : to;
    int lowest_before = ctx.size();  // of the ranks in what the chunk holds
    for (int t = 0; t < chunk.count; ++t) lowest_before = std::min(lowest_before, ctx.pending()[t]);
    for (std::size_t at = 0; at < bytes; at += block) {
      const std::size_t n = std::min(block, bytes - at);
      const std::byte* acc = nullptr;
      int lowest = ctx.size();
      int parts = end - chunk.count + (chunk.count != 0 ? 1 : 0);
      const auto join = [&](const std::byte* x, int rank) {
        --parts;
        if (acc == nullptr) {
          acc = x;
        } else {
          const bool before = rank < lowest;  // the lower rank's is the first operand
          const std::byte* const low = before ? x : acc;
          const std::byte* const high = before ? acc : x;
          std::byte* const into = parts != 0 ? ctx.scratch(2) : destination + at;
          if (into == to + at) {
            buffers_.combine(ctx, into, low, high, n / size);
          } else {
            ctx.reduce(into, low, high, n / size);
          }
          acc = into;
        }
        lowest = std::min(lowest, rank);
      };
      if (chunk.count != 0) {
        join(buffers_.partial(ctx, chunk.who, k, at, n, ctx.scratch(0)), lowest_before);
      }
      for (int t = chunk.count; t < end; ++t) {
        const int r = ctx.pending()[t];
        join(buffers_.input(ctx, c, r, k, at, n, ctx.scratch(acc == nullptr ? 0 : 1)), r);
      }
      if (acc != to + at) ctx.write(to + at, acc, n);
      if (out != nullptr && acc != out + at) ctx.read(out + at, acc, n);
    }
    return ctx.end_reading();
  }

  std::uint32_t start_ = 0;  ///< the chunk where it begins to look
  int ticket_ = 0;
  int known_ = 0;  ///< tickets whose holders are in pending()
  bool begun_ = false;
};

namespace detail {
PAPCOLL_ARRIVAL_ALGORITHM(ArrivalOrder, SplitTail)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
