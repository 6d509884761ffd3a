// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/arrival/exchange.hpp>
#include <papcoll/algorithms/arrival/shared_steps.hpp>
#include <papcoll/algorithms/arrival/tags.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/node/call_context.hpp>

#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// One call of one rank by LeaderFan: one rank of the node gathers, combines and releases.
///
/// Phases: 1. One rank leads: the first to arrive (DynamicLeader), or always the same
///      (StaticLeader). The others copy their contribution to their chunk buffers and raise a
///      flag.
///   2. The leader combines each contribution once its flag is up (StaticLeader: when all
///      are), writes the result to shared memory and releases all ranks.
///   3. All ranks copy the result. Messages longer than a chunk go through in chunks, with a
///      few in flight.
/// Cost: After the last arrival: one contribution read, one combination, one release, one result
///   read, however many ranks there are. P·n bytes combined by one rank.
/// Prefer: For small messages under imbalanced arrivals: all but the last combination are done
///   while the last rank is awaited.
/// Limits: One node; never non-blocking (a leader that goes off to compute would stall all ranks).
///   Balanced and large, one rank does all the work: MultiLeader is faster.
/// Contract: RankConsistent (one rank computes the result); in rank order, hence Reproducible, when
///   the contract or the operator asks for it, at the price of combining only what has come
///   in order.
///
///     rank 2 first        1 comes             0 comes                 released
///     [leader: c]    →    c∘b             →   a∘(c∘b)            →    all read a∘b∘c
///     waits               buffer 1 read       buffer 0 read
///
/// Source: P. Alizadeh, "Efficient Process Arrival Pattern Aware Collective Communication for HPC
///   and Deep Learning", MASc thesis, Queen's University 2021, ch. 4, algorithm 4.1; the
///   static leader is MVAPICH's two-level shared-memory allreduce, its reference.
///
/// A bcast is FanOut's.
class LeaderFanRun {
 public:
  /// `dynamic`: the first to arrive leads.
  explicit LeaderFanRun(bool dynamic) noexcept : dynamic_(dynamic) {}

  bool step(CallContext auto& ctx, const Call& c) {
    // Only the root of a bcast has the data, so it leads, whichever rank arrives first.
    if (c.collective == Collective::bcast) return fan_out_.step(ctx, c);
    if (!begun_) begin(ctx, c);
    if (c.collective == Collective::allgather) return gather(ctx, c);
    return leads_ ? lead(ctx, c) : follow(ctx, c);
  }

 private:
  /// A contribution of at most this many bytes is copied to the chunk buffer before it is known if
  /// this rank leads and could do without: otherwise the leader would wait while the others find
  /// out who leads.
  static constexpr std::size_t copied_before_claim = 2048;

  void begin(CallContext auto& ctx, const Call& c) {
    begun_ = true;
    chunks_ = Chunks{c.count, c.reducer.size, ctx.chunk_bytes()};
    small_ = c.bytes() <= NodeControlBlock::inline_bytes;
    gathers_ = is_reduction(c.collective);
    const bool contributes = c.bytes() != 0;
    if (small_ && contributes) {
      ctx.announce(c.in, c.bytes(), 1);
      written_ = 1;
    } else if (dynamic_ && gathers_ && contributes && chunks_.count == 1 &&
               c.bytes() <= copied_before_claim) {
      write_chunk(ctx, c, everyone);
    }
    if (dynamic_) {
      leads_ = ctx.claim();
      leader_ = leads_ ? ctx.rank() : ctx.leader();
    } else {
      leader_ = is_rooted(c.collective) ? c.root : 0;  // the root wants the result
      leads_ = ctx.rank() == leader_;
    }
    if (!contributes) {
      ctx.announce(nullptr, 0, 1);  // the flag alone is the contribution
      written_ = chunks_.count;
    } else if (written_ == 0 && leads_ && gathers_) {
      ctx.announce(nullptr, 0, 0);  // a leader that combines needs no chunk buffer
    }
    if (leads_) reset_pending(ctx);
    takes_ = c.collective != Collective::reduce || ctx.rank() == c.root;
  }

  // --- the leader

  void reset_pending(CallContext auto& ctx) {
    left_ = 0;
    for (int r = 0; r < ctx.size(); ++r) {
      if (r != ctx.rank()) ctx.pending()[left_++] = r;
    }
    position_ = 0;
    sum_ = nullptr;
  }

  bool lead(CallContext auto& ctx, const Call& c) {
    while (taken_ < chunks_.count) {
      const bool in_order = c.rank_order || !dynamic_;
      if (!(in_order ? collect_in_order(ctx, c) : collect(ctx, c))) return false;
      ctx.note_all_arrived();
      const std::size_t n = is_shared(ctx, c) ? chunks_.bytes(taken_) : 0;
      if (!small_ && n != 0) ctx.write(ctx.result_buffer(taken_), sum_, n);
      ctx.release(taken_ + 1, sum_, small_ ? n : 0);
      ++taken_;
      reset_pending(ctx);
    }
    return true;
  }

  /// Returns true if any other rank wants the result.
  bool is_shared(CallContext auto& ctx, const Call& c) const {
    return ctx.size() != 1 && !(c.collective == Collective::reduce && takes_);
  }

  /// Combines the contributions that are there, in the order of arrival.
  bool collect(CallContext auto& ctx, const Call& c) {
    int i = 0;
    while (i < left_) {
      const int r = ctx.pending()[i];
      if (!ctx.arrived(r, taken_ + 1)) {
        ++i;
        continue;
      }
      if (!accept(ctx, r)) return false;
      if (gathers_) combine(ctx, c, own(c), r, left_ == 1);
      ctx.pending()[i] = ctx.pending()[--left_];
    }
    if (left_ == 0 && ctx.size() == 1) alone(ctx, c);
    return left_ == 0;
  }

  /// Combines in rank order; a static leader waits for all before it starts.
  bool collect_in_order(CallContext auto& ctx, const Call& c) {
    if (!dynamic_) {
      for (; left_ != 0; --left_) {
        if (!has_chunk(ctx, ctx.pending()[left_ - 1], taken_)) return false;
      }
    }
    for (; position_ < ctx.size(); ++position_) {
      const int r = position_;
      if (!has_chunk(ctx, r, taken_)) return false;
      if (!gathers_) continue;
      const std::byte* const mine = r == ctx.rank() ? own(c) : source(ctx, r);
      if (sum_ == nullptr) {
        sum_ = mine;
      } else {
        std::byte* const to = target(ctx, c, r + 1 == ctx.size());
        ctx.reduce(to, sum_, mine, chunks_.length(taken_));
        sum_ = to;
      }
    }
    if (ctx.size() == 1) alone(ctx, c);
    return true;
  }

  void alone(CallContext auto& ctx, const Call& c) {
    if (c.collective != Collective::barrier) {
      ctx.read(c.out + chunks_.offset(taken_), own(c), chunks_.bytes(taken_));
    }
  }

  /// False, and all ranks throw, if r's call is not the same as this rank's.
  bool accept(CallContext auto& ctx, int r) { return taken_ != 0 || matched(ctx, r); }

  void combine(CallContext auto& ctx, const Call& c, const std::byte* mine, int r, bool last) {
    if (sum_ == nullptr) sum_ = mine;
    std::byte* const to = target(ctx, c, last);
    const bool lower = r < ctx.rank();
    ctx.reduce(to, lower ? source(ctx, r) : sum_, lower ? sum_ : source(ctx, r),
               chunks_.length(taken_));
    sum_ = to;
  }

  /// Partial results stay in the leader's own chunk buffers, which no rank reads. Only the last
  /// combination writes the leader's output: in place, its input is then not needed any more. From
  /// there the result is copied for the others; that all have published this chunk says that they
  /// have taken the one whose buffer that reuses.
  std::byte* target(CallContext auto& ctx, const Call& c, bool last) {
    if (last && takes_) return c.out + chunks_.offset(taken_);
    return small_ ? partial_ : ctx.chunk_buffer(ctx.rank(), taken_);
  }

  const std::byte* own(const Call& c) const { return c.in + chunks_.offset(taken_); }
  const std::byte* source(CallContext auto& ctx, int r) const {
    return small_ ? ctx.small(r) : ctx.chunk_buffer(r, taken_);
  }

  // --- the others

  bool follow(CallContext auto& ctx, const Call& c) {
    for (;;) {
      bool moved = write_next(ctx, c);
      if (!takes_ && written_ == chunks_.count) return true;
      if (taken_ < chunks_.count && ctx.released(taken_ + 1)) {
        ctx.note_all_arrived();                      // says the leader
        if (takes_ && chunks_.bytes(taken_) != 0) {  // else there may be no buffer of a result
          ctx.read(c.out + chunks_.offset(taken_),
                   small_ ? ctx.small_result() : ctx.result_buffer(taken_), chunks_.bytes(taken_));
        }
        ++taken_;
        moved = true;
      }
      if (taken_ == chunks_.count) return true;
      if (!moved) return false;
    }
  }

  bool write_next(CallContext auto& ctx, const Call& c) {
    if (written_ == chunks_.count || written_ >= taken_ + ctx.buffers()) return false;
    write_chunk(ctx, c, leader_);
    return true;
  }

  void write_chunk(CallContext auto& ctx, const Call& c, int audience) {
    ctx.write(ctx.chunk_buffer(ctx.rank(), written_), c.in + chunks_.offset(written_),
              chunks_.bytes(written_));
    show_chunks(ctx, ++written_, audience);
  }

  // --- allgather: the leader only counts the flags, all ranks read the chunk buffers

  bool gather(CallContext auto& ctx, const Call& c) {
    for (;;) {
      bool moved = false;
      // A release of chunk t means that all have published it, so all had read those below t + 1 −
      // buffers/2: what chunk written_ overwrites has been read by all.
      if (written_ < chunks_.count && written_ < taken_ + ctx.buffers() / 2) {
        write_chunk(ctx, c, leader_);
        moved = true;
      }
      if (leads_ && counted_ < chunks_.count && counted_ < written_) {
        while (left_ != 0 && ctx.arrived(ctx.pending()[left_ - 1], counted_ + 1)) {
          if (counted_ == 0 && !matched(ctx, ctx.pending()[left_ - 1])) return false;
          --left_;
        }
        if (left_ == 0) {
          ctx.note_all_arrived();
          ctx.release(++counted_, nullptr, 0);
          reset_pending(ctx);
          moved = true;
        }
      }
      if (taken_ < chunks_.count && ctx.released(taken_ + 1)) {
        ctx.note_all_arrived();  // says the leader
        read_all(ctx, c);
        ++taken_;
        moved = true;
      }
      if (taken_ == chunks_.count) return true;
      if (!moved) return false;
    }
  }

  void read_all(CallContext auto& ctx, const Call& c) {
    for (int r = 0; r < ctx.size(); ++r) {
      std::byte* const to = c.out + static_cast<std::size_t>(r) * c.bytes();
      const bool is_own = r == ctx.rank();
      if (is_own && c.in == to) continue;
      ctx.read(to + chunks_.offset(taken_), is_own ? own(c) : source(ctx, r),
               chunks_.bytes(taken_));
    }
  }

  FanOut fan_out_;
  Chunks chunks_;
  std::uint32_t written_ = 0;  ///< chunks in this rank's chunk buffers so far
  std::uint32_t taken_ = 0;    ///< chunks whose result this rank is done with
  std::uint32_t counted_ = 0;  ///< allgather, leader: chunks released
  int leader_ = 0;
  int left_ = 0;      ///< leader: how many of pending() are awaited for this chunk
  int position_ = 0;  ///< leader, in rank order: who is next
  const std::byte* sum_ = nullptr;
  bool dynamic_;
  bool begun_ = false;
  bool leads_ = false;
  bool small_ = false;
  bool takes_ = true;    ///< this rank wants the result
  bool gathers_ = true;  ///< there is something to combine
  alignas(16) std::byte partial_[NodeControlBlock::inline_bytes];
};

}  // namespace detail

template <bool Dynamic> class LeaderFan::Run : public detail::LeaderFanRun {
 public:
  Run() noexcept : LeaderFanRun(Dynamic) {}
};

namespace detail {
PAPCOLL_ARRIVAL_ALGORITHM(DynamicLeader, LeaderFan)
PAPCOLL_ARRIVAL_ALGORITHM(StaticLeader, LeaderFan)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
