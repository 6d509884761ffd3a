// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/arrival/shared_steps.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/node/call_context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

// What reductions have in common that go through a message chunk by chunk, each chunk under a work
// word: SplitTail and CombiningTree; of it, Accumulator has the word.

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The state of a chunk in a work word of an algorithm. A word serves chunks k, k + Words, k +
/// 2·Words, … of a call, and its state says which of them, modulo `generations`. A rank can find
/// the one before k and the one after it, and no others: ChunkReduction keeps end() within Words
/// chunks of low(), no chunk from end() on is combined without this rank, and all below end() −
/// window() have been taken.
template <class Algorithm, unsigned WhoBits, unsigned CountBits, std::uint32_t Words>
struct ChunkWord {
  static constexpr int most_count = (1 << CountBits) - 1;

  bool busy = false;  ///< a rank is at the chunk
  int who = 0;        ///< a rank
  int count = 0;      ///< of contributions; if CountBits is 1: whether the chunk is combined

  static ChunkWord of(std::uint32_t state, std::uint32_t k) noexcept {
    if (tag.is_foreign(state)) return {true, 0, 0};
    const std::uint32_t ahead = ((state >> generation_at) - generation(k)) % generations;
    // The word has gone on to a later chunk while this rank of a reduce was away, or is still
    // that of an earlier one.
    if (ahead != 0) return {false, 0, ahead < generations / 2 ? most_count : 0};
    return {(state & 1U) != 0, static_cast<int>(state >> 1U & ((1U << WhoBits) - 1)),
            static_cast<int>(state >> count_at & ((1U << CountBits) - 1))};
  }
  std::uint32_t state(std::uint32_t k) const noexcept {
    return tag.state(generation(k) << generation_at |
                     static_cast<std::uint32_t>(count) << count_at |
                     static_cast<std::uint32_t>(who) << 1U | static_cast<std::uint32_t>(busy));
  }

 private:
  static constexpr WorkTag tag{Algorithm::name};
  static constexpr unsigned count_at = 1 + WhoBits;
  static constexpr unsigned generation_at = count_at + CountBits;
  static constexpr std::uint32_t generations = 1U << (WorkTag::own_bits - generation_at);
  static_assert(generations >= 4);
  static std::uint32_t generation(std::uint32_t k) noexcept { return k / Words % generations; }
};

/// The contributions and partial results of one reduction, for the algorithms in which any rank may
/// combine anything: where each is. That it was written is published elsewhere.
///
/// Where peers reach each other's pools (`direct`, the same on all ranks of a node: see pools_hold;
/// or by the kernel), partial results are written to the output of the rank that combines, if its
/// peers see that, else to its pool. Inputs are read where they are, but for private ones that fit
/// in the pool: their owner, who waits anyway, copies them there, so that no rank needs the kernel
/// for them. Else both go through the rank's chunk buffers, window() chunks at a time.
class PeerBuffers {
 public:
  /// Announces this rank with its buffers. `most`: chunks of a call where there is no window.
  [[gnu::noinline]] void begin(CallContext auto& ctx, const Call& c, std::uint32_t most) {
    direct_ = ctx.peers().pulls() || ctx.pools_hold(2 * c.bytes());
    window_ = ctx.buffers() / 2;
    const std::size_t least = std::min(least_chunk, 2 * ctx.chunk_bytes());
    chunks_ = direct_ ? Chunks::at_most(most, least, c.count, c.reducer.size)
                      : Chunks{c.count, c.reducer.size, ctx.chunk_bytes()};
    const bool writes_out = c.collective != Collective::reduce || ctx.rank() == c.root;
    BufferDescriptor exposed;
    exposed.in = ctx.peers().place(c.in, c.bytes());
    staged_in_ = exposed.in.mapped == 0;
    if (direct_) {
      exposes_output_ = writes_out && ctx.peers().place(c.out, c.bytes()).mapped != 0;
      std::byte* const pool = exposes_output_ && !staged_in_ ? nullptr : ctx.pool(2 * c.bytes());
      mine_ = exposes_output_ ? c.out : pool;
      exposed.out = ctx.peers().place(mine_, c.bytes());
      if (staged_in_) {
        inputs_ = pool + c.bytes();
        const BufferPlace copy = ctx.peers().place(inputs_, c.bytes());
        staged_in_ = copy.mapped != 0;
        if (staged_in_) exposed.in = copy;
      }
    }
    ctx.expose(exposed, staged_in_ ? 0 : chunks_.count);
    staged_ = staged_in_ ? 0 : chunks_.count;
  }

  bool direct() const noexcept { return direct_; }
  /// Chunks that may be under way at once where they go through chunk buffers: these hold
  /// contributions and partial results in turns.
  std::uint32_t window() const noexcept { return window_; }
  const Chunks& chunks() const noexcept { return chunks_; }
  /// Returns true if this rank's partial results are in its output, so that it may not return
  /// before peers have read them.
  bool exposes_output() const noexcept { return exposes_output_; }

  /// Returns true if stage_next() has chunks left to stage.
  bool has_to_stage() const noexcept { return staged_ != chunks_.count; }

  /// Copies this rank's next chunk for its peers, if it has to and all chunks below `end` may be
  /// there. `is_in(k)` returns true if this rank's contribution to chunk k is combined already, so
  /// that no rank needs it.
  [[gnu::noinline]] bool stage_next(CallContext auto& ctx, const Call& c, std::uint32_t end,
                                    auto&& is_in) {
    if (staged_ >= end || !has_to_stage()) return false;
    if (direct_ && !ctx.use_pool()) return false;
    if (!is_in(staged_)) {
      std::byte* const to =
          direct_ ? inputs_ + chunks_.offset(staged_) : ctx.chunk_buffer(ctx.rank(), 2 * staged_);
      ctx.write(to, c.in + chunks_.offset(staged_), chunks_.bytes(staged_));
    }
    ctx.publish(++staged_, everyone);
    return true;
  }

  /// Returns true if rank r's contribution to chunk k may be read. Requires that r has announced
  /// itself.
  bool has_input(CallContext auto& ctx, int r, std::uint32_t k) const {
    return r == ctx.rank() ? direct_ || staged_ > k : ctx.arrived(r, k + 1);
  }

  /// n bytes of rank r's contribution, `at` bytes into chunk k; copied to `scratch` if need be.
  [[gnu::noinline]] const std::byte* input(CallContext auto& ctx, const Call& c, int r,
                                           std::uint32_t k, std::size_t at, std::size_t n,
                                           std::byte* scratch) const {
    const std::size_t offset = chunks_.offset(k) + at;
    if (r == ctx.rank()) return c.in + offset;
    const BufferPlace place = ctx.exposed_by(r).in;
    if (place.mapped == 0 && !direct_) return ctx.chunk_buffer(r, 2 * k) + at;
    return reach(ctx, r, place, offset, n, scratch);
  }

  /// Returns true if this rank may write partial results now; false only while its pool is still
  /// exposed to readers of an earlier call.
  bool may_combine(CallContext auto& ctx) const {
    return !direct_ || exposes_output_ || ctx.use_pool();
  }

  /// Returns where this rank writes its partial result of chunk k.
  std::byte* target(CallContext auto& ctx, std::uint32_t k) const {
    return direct_ ? mine_ + chunks_.offset(k) : ctx.chunk_buffer(ctx.rank(), 2 * k + 1);
  }

  /// Combines n elements into this rank's partial result.
  [[gnu::noinline]] void combine(CallContext auto& ctx, std::byte* out, const std::byte* low,
                                 const std::byte* high, std::size_t n) const {
    if (exposes_output_) {
      ctx.reduce(out, low, high, n);
    } else {
      ctx.reduce_for_peers(out, low, high, n);
    }
  }

  /// n bytes of the partial result of rank r, `at` bytes into chunk k; as input().
  [[gnu::noinline]] const std::byte* partial(CallContext auto& ctx, int r, std::uint32_t k,
                                             std::size_t at, std::size_t n,
                                             std::byte* scratch) const {
    if (r == ctx.rank()) return target(ctx, k) + at;
    if (!direct_) return ctx.chunk_buffer(r, 2 * k + 1) + at;
    return reach(ctx, r, ctx.exposed_by(r).out, chunks_.offset(k) + at, n, scratch);
  }

  /// Copies rank r's partial result of chunk k, which is the whole result, to this rank's output.
  [[gnu::noinline]] void take(CallContext auto& ctx, const Call& c, int r, std::uint32_t k) const {
    std::byte* const to = c.out + chunks_.offset(k);
    if (exposes_output_ && r == ctx.rank()) return;
    const std::size_t n = chunks_.bytes(k);
    if (direct_ && r != ctx.rank())
      return fetch(ctx, to, r, ctx.exposed_by(r).out, chunks_.offset(k), n);
    ctx.read(to, partial(ctx, r, k, 0, n, nullptr), n);
  }

 private:
  /// So that a claim, which moves a few cache lines, costs less than the work that it distributes.
  static constexpr std::size_t least_chunk = 16384;

  Chunks chunks_;
  std::byte* mine_ = nullptr;    ///< direct: where this rank's partial results go
  std::byte* inputs_ = nullptr;  ///< and where its input is copied, if it is
  std::uint32_t window_ = 0;
  std::uint32_t staged_ = 0;  ///< chunks of this rank that its peers may read
  bool direct_ = false;
  bool staged_in_ = false;
  bool exposes_output_ = false;
};

/// One rank's way through a reduction by PeerBuffers: the chunks it is done with, in any order, and
/// those that may be worked on. `Words`: chunks that work words tell apart at a time, at most 64.
///
/// A `Run` derives from it, and has what this rank does to a chunk:
///   learn(s)                     finds out who has arrived; false: the call has failed
///   is_in(s, k)                  true if this rank's contribution to chunk k is combined, so that
///                                no rank needs it any more
///   work_on(s, c, k, combined)   copies the chunk's result, or combines what can be, and stores
///                                which of the two in `combined`
///   looks_again(s)               after it has combined: true if others may have come meanwhile
template <class Run, std::uint32_t Words> class ChunkReduction {
 protected:
  static constexpr std::uint32_t words = Words;
  enum class Outcome { waiting, done, failed };

  void begin(CallContext auto& ctx, const Call& c) {
    buffers_.begin(ctx, c, Words);
    count_ = buffers_.chunks().count;
    end_ = buffers_.direct() ? count_ : std::min(count_, buffers_.window());
    takes_ = c.collective != Collective::reduce || ctx.rank() == c.root;
  }

  /// Looks at the chunks from `start` on as long as anything can be done. True: the call is over.
  bool go_on(CallContext auto& ctx, const Call& c, std::uint32_t start) {
    Run& run = static_cast<Run&>(*this);
    for (;;) {
      bool moved = slide(ctx, c);
      moved |= stage(ctx, c);
      if (!run.learn(ctx)) return false;
      const std::uint32_t low = low_;
      const std::uint32_t n = end_ - low;
      const std::uint32_t first = start < low || start >= end_ ? 0 : start - low;
      // From the end while there are chunks to copy for others, which begin with the first.
      const bool backwards = buffers_.has_to_stage();
      for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint32_t turned = first + i < n ? first + i : first + i - n;
        const std::uint32_t k = low + (backwards ? n - 1 - i : turned);
        if (is_done(k)) continue;
        bool combined = false;
        const Outcome o = run.work_on(ctx, c, k, combined);
        if (o == Outcome::failed) return false;
        if (o == Outcome::done) set_done(ctx, k);
        moved |= combined || o == Outcome::done;
        // Others may wait for what this rank copies for them.
        if (combined && (buffers_.has_to_stage() || run.looks_again(ctx))) break;
      }
      if (low_ == count_) return close(ctx, c);
      if (!moved) return false;
    }
  }

  /// Returns true if this rank wants the result.
  bool takes() const noexcept { return takes_; }

  /// Copies the result of chunk k, which lies with `holder`, to this rank's output. False if the
  /// call has failed.
  bool take(CallContext auto& ctx, const Call& c, std::uint32_t k, int holder) {
    if (buffers_.exposes_output() && holder == ctx.rank()) {
      keep();
      return true;
    }
    if (!ctx.begin_reading()) return false;
    buffers_.take(ctx, c, holder, k);
    return ctx.end_reading();
  }

  /// Records that this rank has combined a result, and written it to its output besides where
  /// others find it.
  void keep() noexcept { exposes_ = exposes_ || buffers_.exposes_output(); }

  PeerBuffers buffers_;

 private:
  static_assert(Words <= 64);
  static std::uint64_t bit(std::uint32_t k) noexcept { return std::uint64_t{1} << k % Words; }
  bool is_done(std::uint32_t k) const noexcept { return k < low_ || (done_ & bit(k)) != 0; }

  /// Where chunks go through chunk buffers: moves end_ on to what all who take the result have
  /// left, but no further than words tell chunks apart.
  bool slide(CallContext auto& ctx, const Call& c) {
    bool moved = false;
    while (end_ < count_ && end_ - low_ < Words) {
      const std::uint32_t taken = end_ - buffers_.window() + 1;
      const bool all_took = all_pass(next_taker_, ctx.size(), [&](int r) {
        return (c.collective == Collective::reduce && r != c.root) || ctx.stage_reached(r, taken);
      });
      if (!all_took) return moved;
      ++end_;
      moved = true;
    }
    return moved;
  }

  /// Copies chunks for the others: as many as there are others between two that this rank
  /// combines itself, so that all have something to do when it is the last to come.
  bool stage(CallContext auto& ctx, const Call& c) {
    const auto is_in = [&](std::uint32_t k) { return static_cast<Run&>(*this).is_in(ctx, k); };
    int copied = 0;
    while (copied < std::max(1, ctx.size() - 1) && buffers_.stage_next(ctx, c, end_, is_in))
      ++copied;
    return copied != 0;
  }

  /// Records that this rank is done with chunk k.
  void set_done(CallContext auto& ctx, std::uint32_t k) {
    done_ |= bit(k);
    const std::uint32_t before = low_;
    while (low_ < count_ && (done_ & bit(low_)) != 0) done_ &= ~bit(low_++);
    if (takes_ && low_ != before) ctx.publish_stage(low_);
  }

  /// Returns true if this rank, done with all chunks, may return: no peer reads results in its
  /// output.
  bool close(CallContext auto& ctx, const Call& c) {
    if (!exposes_ || c.collective == Collective::reduce) return true;
    return all_pass(next_reader_, ctx.size(), [&](int r) { return ctx.stage_reached(r, count_); });
  }

  std::uint64_t done_ = 0;  ///< of chunks low_…low_ + Words − 1
  std::uint32_t count_ = 1;
  std::uint32_t low_ = 0;  ///< this rank is done with all below
  std::uint32_t end_ = 0;  ///< chunks below may be worked on
  int next_taker_ = 0;
  int next_reader_ = 0;
  bool takes_ = true;
  bool exposes_ = false;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
