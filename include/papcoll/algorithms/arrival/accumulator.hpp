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

/// One call of one rank by Accumulator: each rank adds its contribution to one shared sum, as it
/// comes.
///
/// Phases: The message is cut in chunks, each with an accumulator in shared memory. Whoever is
///   there takes up a chunk that no other rank is at, adds its own contribution, and lays it
///   down again; the first copies it there, the last writes the result to its output, too.
///   Then all copy the result (allreduce), or the root does.
///   Accumulators are used again for later chunks when all have taken their results.
/// Cost: A rank reads its input once, and reads and writes n bytes of accumulators; then it reads
///   n bytes of results: two passes, where MultiLeader and SplitTail have three, as no rank
///   copies a contribution for others to combine. After the last arrival: n bytes combined by
///   the last rank, which the others copy meanwhile, chunk by chunk.
/// Prefer: More ranks than processors, from 1 KB on; a rank needs two turns for as many
///   chunks as there are accumulators. Late ranks with private buffers: their contribution
///   must be read by themselves, whoever combines it.
/// Limits: One node, commutative operators; up to 1023 ranks. Buffers that peers see are not read
///   where they are: SplitTail and PeerSlices do that.
/// Contract: RankConsistent: each element is combined once. The order depends on the arrivals.
///
///     chunk          0       1       2       3        rank c arrives last:
///     accumulator   a∘b     a∘b     a∘b     a∘b       c adds to 0 and then to 1, while a and b
///                                                     copy the result from 0
///
/// Source: Reductions under a lock in shared memory are folklore; chunks in any order, each by
///   arrival, are papcoll's own.
class Accumulator::Run {
 public:
  bool step(CallContext auto& ctx, const Call& c) {
    if (!begun_) begin(ctx, c);
    for (;;) {
      bool moved = false;
      const std::uint32_t low = low_;
      const std::uint32_t end = std::min(chunks_.count, low + window_);
      const std::uint32_t from = low + start_ % (end - low);
      for (std::uint32_t i = 0; i < end - low; ++i) {
        const std::uint32_t k = from + i < end ? from + i : from + i - (end - low);
        const Outcome o = work_on(ctx, c, k);
        if (o == Outcome::failed) return false;
        moved |= o == Outcome::moved;
      }
      if (low_ == chunks_.count) return true;
      if (!moved) return false;
    }
  }

 private:
  static constexpr std::uint32_t words = 64;
  static constexpr std::uint32_t most_accumulators = 32;
  static_assert(most_accumulators <= words);
  /// Chunks of a message, if its bytes allow: so that ranks seldom want the same one.
  static constexpr std::uint32_t wanted_chunks = 8;
  static constexpr std::size_t least_chunk = 8192;
  /// With the accumulator and an output a block stays in a nearest cache of 32 KB.
  static constexpr std::size_t block_bytes = 8192;

  enum class Outcome { idle, moved, failed };

  /// How many contributions a chunk's accumulator holds, and the lowest rank of those.
  using Held = detail::ChunkWord<Accumulator, 10, 10, words>;
  static_assert(most_ranks == Held::most_count);

  void begin(CallContext auto& ctx, const Call& c) {
    begun_ = true;
    chunks_ = Chunks::at_most(wanted_chunks, least_chunk, c.count, c.reducer.size);
    if (chunks_.per_chunk * chunks_.size > ctx.chunk_bytes()) {
      chunks_ = Chunks{c.count, c.reducer.size, ctx.chunk_bytes()};
    }
    // The result buffers and all chunk buffers.
    const std::uint32_t all =
        ctx.results() + ctx.buffers() * static_cast<std::uint32_t>(ctx.size());
    window_ = std::min(all, most_accumulators);
    start_ = static_cast<std::uint32_t>(static_cast<std::size_t>(ctx.rank()) *
                                        std::min(window_, chunks_.count) /
                                        static_cast<std::size_t>(ctx.size()));
    takes_ = c.collective != Collective::reduce || ctx.rank() == c.root;
    streams_ = takes_ && !c.in_place() && ctx.streams(2 * c.bytes());
    std::fill_n(ctx.pending(), ctx.size(), 0);
    // Others may be the first to write to its chunk buffers: they find pages, near to this rank.
    if (ctx.size() > 1 && keeps(ctx)) static_cast<void>(ctx.chunk_buffer(ctx.rank(), 0));
    ctx.announce(nullptr, 0, 0);
  }

  /// Returns true if this rank's chunk buffers hold accumulators of this call.
  bool keeps(const CallContext auto& ctx) const {
    const std::uint32_t before =
        ctx.results() + ctx.buffers() * static_cast<std::uint32_t>(ctx.rank());
    return before < std::min(window_, chunks_.count);
  }

  Outcome work_on(CallContext auto& ctx, const Call& c, std::uint32_t k) {
    if (is_in(done_, k)) return Outcome::idle;
    const std::uint32_t state = ctx.work(k % words);
    const Held held = Held::of(state, k);
    if (held.busy) return Outcome::idle;
    // A rank that is in the sum has announced itself before.
    if (!learn_arrivals(ctx)) return Outcome::failed;
    if (is_in(added_, k)) {
      if (held.count != ctx.size()) return Outcome::idle;
      std::byte* const to = c.out + chunks_.offset(k);
      const std::byte* const from = accumulator(ctx, k);
      streams_ ? ctx.stream(to, from, chunks_.bytes(k)) : ctx.read(to, from, chunks_.bytes(k));
      set_done(ctx, k);
      return Outcome::moved;
    }
    if (held.count == 0 && !is_free(ctx, c, k)) return Outcome::idle;
    const Held busy{true, held.who, held.count};
    if (!ctx.try_claim(k % words, state, busy.state(k))) return Outcome::idle;
    add(ctx, c, k, held);
    const int lowest = held.count == 0 ? ctx.rank() : std::min(held.who, ctx.rank());
    ctx.complete(k % words, Held{false, lowest, held.count + 1}.state(k));
    added_ |= bit(k);
    if (!takes_ || held.count + 1 == ctx.size()) set_done(ctx, k);
    return Outcome::moved;
  }

  /// False, and all ranks throw, if the call of a rank that has arrived is not the same.
  bool learn_arrivals(CallContext auto& ctx) {
    if (known_ == ctx.size()) return true;
    for (int r = 0; r < ctx.size(); ++r) {
      if (ctx.pending()[r] != 0 || !ctx.arrived(r, 0)) continue;
      if (!detail::matched(ctx, r)) return false;
      ctx.pending()[r] = 1;
      if (++known_ == ctx.size()) ctx.note_all_arrived();
    }
    return true;
  }

  /// Returns true if chunk k's accumulator may be overwritten: every rank has read its former
  /// result, and the rank whose chunk buffer holds it, if any, has arrived with a matching call and
  /// so does not write there itself.
  bool is_free(CallContext auto& ctx, const Call& c, std::uint32_t k) {
    const int keeper = keeper_of(ctx, k);
    if (keeper >= 0 && ctx.pending()[keeper] == 0) return false;
    if (k < window_ || k < free_below_) return true;
    const std::uint32_t taken = k - window_ + 1;
    for (int r = 0; r < ctx.size(); ++r) {
      const bool takes = c.collective != Collective::reduce || r == c.root;
      if (takes && !ctx.stage_reached(r, taken)) return false;
    }
    free_below_ = k + 1;
    return true;
  }

  /// Whose chunk buffers hold the chunk's accumulator; −1: the result buffers.
  int keeper_of(const CallContext auto& ctx, std::uint32_t k) const {
    const std::uint32_t at = k % window_;
    return at < ctx.results() ? -1 : static_cast<int>((at - ctx.results()) / ctx.buffers());
  }
  std::byte* accumulator(CallContext auto& ctx, std::uint32_t k) const {
    const std::uint32_t at = k % window_;
    const int keeper = keeper_of(ctx, k);
    return keeper < 0 ? ctx.result_buffer(at)
                      : ctx.chunk_buffer(keeper, (at - ctx.results()) % ctx.buffers());
  }

  /// Adds this rank's contribution to chunk k. The lower ranks' is the first operand. In place,
  /// the result is written over what has just been read.
  void add(CallContext auto& ctx, const Call& c, std::uint32_t k, const Held& held) {
    const std::byte* const own = c.in + chunks_.offset(k);
    std::byte* const out = takes_ ? c.out + chunks_.offset(k) : nullptr;
    const std::size_t bytes = chunks_.bytes(k);
    if (ctx.size() == 1) {
      if (own != out) ctx.read(out, own, bytes);
      return;
    }
    std::byte* const to = accumulator(ctx, k);
    if (held.count == 0) return ctx.write(to, own, bytes);
    const bool is_result = held.count + 1 == ctx.size() && takes_;
    const bool others_take = c.collective != Collective::reduce;
    const std::size_t block = std::max(block_bytes / chunks_.size, std::size_t{1}) * chunks_.size;
    for (std::size_t at = 0; at < bytes; at += block) {
      const std::size_t n = std::min(block, bytes - at);
      const bool is_lowest = ctx.rank() < held.who;
      const std::byte* const low = is_lowest ? own + at : to + at;
      const std::byte* const high = is_lowest ? to + at : own + at;
      std::byte* const into = !is_result ? to + at : streams_ ? ctx.scratch(0) : out + at;
      ctx.reduce(into, low, high, n / chunks_.size);
      if (is_result && streams_) ctx.stream(out + at, into, n);
      if (is_result && others_take) ctx.write(to + at, into, n);
    }
  }

  void set_done(CallContext auto& ctx, std::uint32_t k) {
    done_ |= bit(k);
    const std::uint32_t before = low_;
    while (low_ < chunks_.count && is_in(done_, low_)) {
      done_ &= ~bit(low_);
      added_ &= ~bit(low_++);
    }
    if (takes_ && low_ != before && chunks_.count > window_) ctx.publish_stage(low_);
  }

  static std::uint64_t bit(std::uint32_t k) noexcept { return std::uint64_t{1} << k % words; }
  bool is_in(std::uint64_t set, std::uint32_t k) const noexcept {
    return k < low_ || (set & bit(k)) != 0;
  }

  Chunks chunks_;
  std::uint64_t added_ = 0;  ///< of chunks low_…low_ + window_ − 1: those with its contribution
  std::uint64_t done_ = 0;   ///< and those that it has nothing to do with any more
  std::uint32_t low_ = 0;    ///< this rank is done with all below
  std::uint32_t window_ = 1;      ///< accumulators
  std::uint32_t start_ = 0;       ///< where in the window it begins to look
  std::uint32_t free_below_ = 0;  ///< accumulators of chunks below are free for them
  int known_ = 0;                 ///< ranks that have come with the same call; pending() says which
  bool takes_ = true;
  bool streams_ = false;  ///< its output goes past the caches
  bool begun_ = false;
};

namespace detail {
PAPCOLL_ARRIVAL_ALGORITHM(ArrivalOrder, Accumulator)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
