// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/arrival/shared_steps.hpp>
#include <papcoll/algorithms/arrival/tags.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/node/call_context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

/// One call of one rank by the arrival-ordered chain: Chain under ArrivalOrder.
///
/// Phases: Each arriving rank draws a ticket. Ticket t adds its contribution to the sum of tickets
///   0…t−1, chunk by chunk as ticket t−1 has it ready, and leaves: what it added lies where
///   ticket t+1 finds it. The last ticket's sum is the result: the root copies it (reduce),
///   or all do (allreduce).
/// Cost: After the last arrival: n bytes combined by the last rank alone, then n bytes copied.
///   Chunks are under way in all links at once. Sums lie in outputs that peers see, else in
///   pools, so that a link writes n bytes and the next one reads them, without the kernel;
///   the last rank then copies its own result, too, chunk by chunk from its caches.
/// Prefer: A reduce from which ranks must get away as soon as they can: each waits only for those
///   before it. SplitTail shares the last combination among all.
/// Limits: One node, commutative operators. Balanced, all links but the last wait. An allreduce
///   writes partial sums to outputs that peers see, so that a call that fails may have done
///   so. Where pools are too small, peers copy private sums by the kernel, or, if it does not
///   let them, chunk by chunk from chunk buffers.
/// Contract: RankConsistent: one rank computes the result; the order is that of the arrivals.
///
///     ticket   0          1            2              3 = last
///     rank     c    →    c∘a     →    c∘a∘d    →     c∘a∘d∘b  →  root
///              leaves    leaves       leaves
///
/// Source: P. Alizadeh, "Efficient Process Arrival Pattern Aware Collective Communication for HPC
///   and Deep Learning", MASc thesis, Queen's University 2021, ch. 5, algorithm 5.1.
class ArrivalChain::Run {
 public:
  bool step(CallContext auto& ctx, const Call& c) {
    if (!begun_) begin(ctx, c);
    if (!meet_neighbours(ctx)) return false;
    for (;;) {
      const bool moved = add_next(ctx, c);
      const bool took = take_next(ctx, c);
      if (failed_) return false;
      if (done(ctx)) return true;
      if (!moved && !took) return false;
    }
  }

 private:
  void begin(CallContext auto& ctx, const Call& c) {
    begun_ = true;
    chunks_ = Chunks{c.count, c.reducer.size, ctx.chunk_bytes()};
    rooted_ = c.collective == Collective::reduce;
    root_ = c.root;
    takes_ = !rooted_ || ctx.rank() == c.root;
    choose_place(ctx, c);
    BufferDescriptor exposed;
    if (mine_ != nullptr) exposed.out = ctx.peers().place(mine_, c.bytes());
    ctx.expose(exposed, 0);
    ticket_ = ctx.draw_ticket();
    // What the root of a reduce adds last no other rank reads.
    if (takes_ && ticket_ + 1 == ctx.size() && (rooted_ || ctx.size() == 1)) mine_ = c.out;
    exposes_output_ = takes_ && mine_ == c.out;
  }

  /// Where this rank's sums go, for its successor to reach.
  void choose_place(CallContext auto& ctx, const Call& c) {
    if (takes_ && ctx.peers().place(c.out, c.bytes()).mapped != 0) {
      mine_ = c.out;
    } else {
      mine_ = ctx.shared_pool(c.bytes());
    }
    if (mine_ == nullptr && ctx.peers().pulls()) mine_ = takes_ ? c.out : ctx.pool(c.bytes());
  }

  /// The holders of the tickets beside this rank's own, and of the last one, once they are there.
  bool meet_neighbours(CallContext auto& ctx) {
    return meet(ctx, ticket_ - 1, before_) && meet(ctx, ticket_ + 1, after_) &&
           meet(ctx, ctx.size() - 1, last_);
  }
  bool meet(CallContext auto& ctx, int ticket, int& holder) {
    if (holder >= 0 || ticket < 0 || ticket >= ctx.size()) return true;
    const int r = ctx.holder(ticket);
    if (r < 0) return true;
    if (!detail::matched(ctx, r)) return false;
    holder = r;
    return true;
  }

  /// Adds this rank's contribution to the next chunk of its predecessor's sum.
  bool add_next(CallContext auto& ctx, const Call& c) {
    if (added_ == chunks_.count) return false;
    if (ticket_ > 0 && (before_ < 0 || !ctx.stage_reached(before_, added_ + 1))) return false;
    if (!room(ctx)) return false;
    std::byte* const to =
        mine_ != nullptr ? mine_ + chunks_.offset(added_) : ctx.chunk_buffer(ctx.rank(), added_);
    const std::byte* const own = c.in + chunks_.offset(added_);
    if (ticket_ == 0) {
      if (to != own) ctx.write(to, own, chunks_.bytes(added_));
    } else {
      if (added_ == 0) find_side(ctx);
      if (!ctx.begin_reading()) return false;
      const std::size_t block = ctx.scratch_bytes() / chunks_.size * chunks_.size;
      for (std::size_t at = 0; at < chunks_.bytes(added_); at += block) {
        const std::size_t n = std::min(block, chunks_.bytes(added_) - at);
        const std::byte* const others = sum_of(ctx, before_, added_, at, n, ctx.scratch(0));
        const std::byte* const low = lowest_ ? own + at : others;
        const std::byte* const high = lowest_ ? others : own + at;
        if (exposes_output_) {
          ctx.reduce(to + at, low, high, n / chunks_.size);
        } else {
          ctx.reduce_for_peers(to + at, low, high, n / chunks_.size);
        }
      }
      if (!ctx.end_reading()) return failed_ = true, false;
    }
    ctx.publish_stage(++added_);
    return true;
  }

  /// The lower rank's contribution is the first operand. (All earlier tickets have holders by
  /// now: each link has met the one before it.)
  void find_side(CallContext auto& ctx) {
    lowest_ = true;
    for (int t = 0; t < ticket_; ++t) lowest_ = lowest_ && ctx.rank() < ctx.holder(t);
  }

  /// Returns true if there is room for the next chunk of this rank's sum.
  bool room(CallContext auto& ctx) {
    if (mine_ != nullptr) return exposes_output_ || ctx.use_pool();
    if (added_ < ctx.buffers()) return true;
    const std::uint32_t read = added_ - ctx.buffers() + 1;
    if (ticket_ + 1 < ctx.size()) return after_ >= 0 && ctx.stage_reached(after_, read);
    return rooted_ ? ctx.arrived(root_, read) : all_have_taken(ctx, read);
  }

  /// n bytes of rank r's sum, `at` bytes into chunk k; copied to `scratch` if need be.
  const std::byte* sum_of(CallContext auto& ctx, int r, std::uint32_t k, std::size_t at,
                          std::size_t n, std::byte* scratch) {
    const BufferPlace place = ctx.exposed_by(r).out;
    if (place.at == 0 && place.mapped == 0) return ctx.chunk_buffer(r, k) + at;
    return detail::reach(ctx, r, place, chunks_.offset(k) + at, n, scratch);
  }

  /// Copies the next chunk of the result, the last rank's sum.
  bool take_next(CallContext auto& ctx, const Call& c) {
    if (!takes_ || taken_ == chunks_.count || last_ < 0) return false;
    if (!ctx.stage_reached(last_, taken_ + 1)) return false;
    ctx.note_all_arrived();  // and all match: each link has compared its ends
    const std::size_t n = chunks_.bytes(taken_);
    std::byte* const to = c.out + chunks_.offset(taken_);
    if (last_ != ctx.rank() || !exposes_output_) {
      if (!ctx.begin_reading()) return false;
      const std::byte* const from = sum_of(ctx, last_, taken_, 0, n, to);
      if (from != to) ctx.read(to, from, n);
      if (!ctx.end_reading()) return failed_ = true, false;
    }
    ctx.publish(++taken_, last_);
    return true;
  }

  bool all_have_taken(CallContext auto& ctx, std::uint32_t chunks) {
    return detail::all_pass(next_taker_, ctx.size(), [&](int r) { return ctx.arrived(r, chunks); });
  }

  /// What others still need of a rank that is through lies in its pool or chunk buffers, where it
  /// may stay; only the last rank of an allreduce may have lent its output.
  bool done(CallContext auto& ctx) {
    if (added_ < chunks_.count || (takes_ && taken_ < chunks_.count)) return false;
    const bool is_read = exposes_output_ && ticket_ + 1 == ctx.size() && !rooted_;
    return !is_read || all_have_taken(ctx, chunks_.count);
  }

  Chunks chunks_;
  std::byte* mine_ = nullptr;  ///< where this rank's sums go; null: to its chunk buffers
  std::uint32_t added_ = 0;    ///< chunks this rank has added its contribution to
  std::uint32_t taken_ = 0;    ///< chunks of the result it has
  int root_ = 0;
  int ticket_ = 0;
  int before_ = -1;  ///< who holds the ticket before this rank's, once that is known
  int after_ = -1;
  int last_ = -1;
  int next_taker_ = 0;
  bool lowest_ = false;          ///< of the ranks that have arrived so far
  bool takes_ = true;            ///< this rank wants the result
  bool exposes_output_ = false;  ///< its sums are in its output
  bool rooted_ = false;
  bool failed_ = false;
  bool begun_ = false;
};

namespace detail {
PAPCOLL_ARRIVAL_ALGORITHM(ArrivalOrder, Chain)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
