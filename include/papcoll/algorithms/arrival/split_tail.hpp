#pragma once

#include <papcoll/algorithms/arrival/chunk_progress.hpp>
#include <papcoll/algorithms/arrival/peer_buffers.hpp>
#include <papcoll/algorithms/arrival/tags.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/node/site.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

// SplitTail: whoever is awake combines what has come, chunk by chunk
// ------------------------------------------------------------------
// Phases   Each arriving rank draws a ticket. A chunk of the message holds the sum of tickets
//          0…m−1. Whoever is there takes up any chunk that misses contributions which have come,
//          adds them all, and lays it down again: while others are awaited, and when the last one
//          has come. A chunk that holds all P contributions is copied by those who want it.
// Cost     After the last arrival: n/P bytes combined by each rank, since all share the chunks, and
//          n bytes of the result read (n·(P−1)/P of them from others). While ranks are awaited,
//          each arrival costs n bytes combined, shared by those who are there.
// Prefer   Large messages under imbalanced arrivals, on one node. Balanced, PeerSlices reads each
//          input once and in one pass.
// Limits   One node, commutative operators; up to 1023 ranks. Partial results lie in the output of
//          whoever combined them, so that a call that fails may have written to outputs; a rank of
//          an allreduce that holds results waits until all have read them. A rank of a reduce
//          leaves when its contribution is in every chunk. Where the kernel does not let ranks copy
//          from each other, chunks go through shared memory two at a time in the first calls of a
//          size, and always where pools are too small for twice the message; what is combined
//          before the last arrival is those two.
// Contract RankConsistent: each element is combined once. The order depends on the arrivals.
//
//        chunk        0      1      2      3        rank c comes last:
//        holds       a∘b    a∘b    a∘b    a∘b       a, b and c each take up chunks, add c's part,
//        lies with    b      a      b      b        and read the others'
//
// Source   Removes the limit of the arrival-ordered chain (P. Alizadeh, MASc thesis, Queen's
//          University 2021, ch. 5): P−1 steps, one of them by each rank, however late the last one
//          is. Sharing what is left when the last one comes is papcoll's own.

/// One call of one rank.
class SplitTail::Run {
 public:
  template <Site S>
  bool step(S& s, const Call& c) {
    if (!begun_) begin(s, c);
    for (;;) {
      bool moved = progress_.slide(s, c);
      moved |= stage(s, c);
      if (!learn_arrivals(s)) return false;
      if (!look_at_chunks(s, c, moved)) return false;
      if (progress_.complete()) return progress_.close(s, c);
      if (!moved) return false;
    }
  }

 private:
  static constexpr std::uint32_t words = 64;

  /// What a work word says of a chunk: tickets 0…merged−1 are in it, and it lies with `holder`.
  struct Chunk {
    bool busy = false;
    int holder = 0;
    int merged = 0;

    static Chunk of(std::uint32_t state, std::uint32_t k) noexcept {
      if (tag.is_foreign(state)) return {true, 0, 0};
      const std::uint32_t ahead = (state >> 21U) - generation(k);
      // The word has gone on to a later chunk while this rank of a reduce was away, or is still
      // that of an earlier one.
      if (ahead % generations != 0) {
        return ahead % generations < generations / 2 ? Chunk{false, 0, most_ranks} : Chunk{};
      }
      return {(state & 1U) != 0, static_cast<int>(state >> 1U & 0x3ffU),
              static_cast<int>(state >> 11U & 0x3ffU)};
    }
    static_assert(most_ranks == 0x3ff);
    std::uint32_t state(std::uint32_t k) const noexcept {
      return tag.state(generation(k) << 21U | static_cast<std::uint32_t>(merged) << 11U |
                       static_cast<std::uint32_t>(holder) << 1U | static_cast<std::uint32_t>(busy));
    }
    static constexpr WorkTag tag{"SplitTail"};
    static constexpr std::uint32_t generations = 8;
    static_assert(generations << 21U == 1U << WorkTag::own_bits);
    static_assert(generations >= detail::least_generations);
    static std::uint32_t generation(std::uint32_t k) noexcept { return k / words % generations; }
  };

  template <Site S>
  void begin(S& s, const Call& c) {
    begun_ = true;
    progress_.begin(s, c, buffers_);
    ticket_ = s.draw_ticket();
    // Ranks begin at chunks far from each other.
    start_ =
        static_cast<std::uint32_t>(static_cast<std::size_t>(s.rank()) * buffers_.chunks().count /
                                   static_cast<std::size_t>(s.size()));
  }

  /// False, and everyone throws, if a rank's call is not the same as this one's.
  template <Site S>
  bool learn_arrivals(S& s) {
    while (known_ < s.size()) {
      const int r = s.holder(known_);
      if (r < 0) return true;
      if (!s.matches(r)) {
        s.fail(r);
        return false;
      }
      s.pending()[known_++] = r;
      if (known_ == s.size()) s.all_arrived();
    }
    return true;
  }

  /// Copies chunks for the others: as many as there are others between two that this rank
  /// combines itself, so that all have something to do when it is the last to come.
  template <Site S>
  bool stage(S& s, const Call& c) {
    const auto in_it = [&](std::uint32_t k) {
      return Chunk::of(s.work(k % words), k).merged > ticket_;
    };
    int copied = 0;
    while (copied < std::max(1, s.size() - 1) &&
           buffers_.stage_next(s, c, progress_.end(), in_it)) {
      ++copied;
    }
    return copied != 0;
  }

  /// Looks at each chunk that this rank is not done with: takes the result or adds what has come,
  /// if either can be done. Sets `moved` if so, and then may leave the rest for the next time.
  /// False if the call has failed.
  template <Site S>
  bool look_at_chunks(S& s, const Call& c, bool& moved) {
    const std::uint32_t low = progress_.low();
    const std::uint32_t end = progress_.end();
    const std::uint32_t from = start_ < low || start_ >= end ? low : start_;
    // From the end while there are chunks to copy for others, which begin with the first.
    const bool backwards = buffers_.has_to_stage();
    for (std::uint32_t i = low; i < end; ++i) {
      const std::uint32_t k = backwards                ? end - 1 - (i - low)
                              : i + (from - low) < end ? i + (from - low)
                                                       : i + (from - low) - (end - low);
      if (progress_.is_done(k)) continue;
      const std::uint32_t state = s.work(k % words);
      const Chunk chunk = Chunk::of(state, k);
      if (chunk.busy) continue;
      if (progress_.takes() ? chunk.merged == s.size() : chunk.merged > ticket_) {
        if (progress_.takes() && !progress_.take(s, c, k, chunk.holder)) return false;
        progress_.set_done(s, k);
        moved = true;
      } else if (const int joined = mergeable(s, c, k, chunk); joined > chunk.merged) {
        const Chunk busy{true, chunk.holder, chunk.merged};
        if (!s.take_up(k % words, state, busy.state(k))) continue;
        const bool fine = add(s, c, k, chunk, joined);
        if (!fine) {
          s.put_back(k % words, chunk.state(k));
          return false;
        }
        s.lay_down(k % words, Chunk{false, s.rank(), joined}.state(k));
        if (joined == s.size() && progress_.takes()) {
          progress_.keep();
          progress_.set_done(s, k);
        }
        moved = true;
        // Others may have come meanwhile, or wait for what this rank copies for them.
        if (known_ < s.size() || buffers_.has_to_stage()) return true;
      }
    }
    return true;
  }

  /// Up to which ticket can the chunk be completed? What it has, if there is nothing to do.
  template <Site S>
  int mergeable(S& s, const Call& c, std::uint32_t k, const Chunk& chunk) {
    int end = chunk.merged;
    while (end < known_ && buffers_.has_input(s, s.pending()[end], k)) ++end;
    // In place, the sum is written over this rank's contribution, which must be part of it.
    // (Earlier tickets may be drawn and not show their holders, or their chunks, yet.)
    if (end <= ticket_ && c.in_place() && buffers_.lends_output()) return chunk.merged;
    const bool lonely = end == 1 && s.size() > 1;  // nothing to combine it with
    return lonely || (end != chunk.merged && !buffers_.may_combine(s)) ? chunk.merged : end;
  }

  /// Adds tickets chunk.merged…end−1 to chunk k, in this rank's buffer.
  template <Site S>
  bool add(S& s, const Call& c, std::uint32_t k, const Chunk& chunk, int end) {
    if (!s.begin_reading()) return false;
    std::byte* const to = buffers_.target(s, k);
    const std::size_t size = c.reducer.size;
    const std::size_t block = s.scratch_bytes() / size * size;
    const std::size_t bytes = buffers_.chunks().bytes(k);
    std::byte* const out = end == s.size() && progress_.takes() && !buffers_.lends_output()
                               ? c.out + buffers_.chunks().offset(k)
                               : nullptr;  // it is the result, which this rank wants, too
    int lowest_before = s.size();          // of the ranks in what the chunk holds
    for (int t = 0; t < chunk.merged; ++t) lowest_before = std::min(lowest_before, s.pending()[t]);
    for (std::size_t at = 0; at < bytes; at += block) {
      const std::size_t n = std::min(block, bytes - at);
      const std::byte* acc = nullptr;
      int lowest = s.size();
      int parts = end - chunk.merged + (chunk.merged != 0 ? 1 : 0);
      const auto join = [&](const std::byte* x, int rank) {
        --parts;
        if (acc == nullptr) {
          acc = x;
        } else {
          const bool before = rank < lowest;  // the lower rank's is the first operand
          const std::byte* const low = before ? x : acc;
          const std::byte* const high = before ? acc : x;
          std::byte* const into = parts != 0 ? s.scratch(2) : out != nullptr ? out + at : to + at;
          if (into == to + at) {
            buffers_.combine(s, into, low, high, n / size);
          } else {
            s.reduce(into, low, high, n / size);
          }
          acc = into;
        }
        lowest = std::min(lowest, rank);
      };
      if (chunk.merged != 0) {
        join(buffers_.partial(s, chunk.holder, k, at, n, s.scratch(0)), lowest_before);
      }
      for (int t = chunk.merged; t < end; ++t) {
        const int r = s.pending()[t];
        join(buffers_.input(s, c, r, k, at, n, s.scratch(acc == nullptr ? 0 : 1)), r);
      }
      if (acc != to + at) s.write(to + at, acc, n);
      if (out != nullptr && acc != out + at) s.read(out + at, acc, n);
    }
    return s.end_reading();
  }

  detail::PeerBuffers buffers_;
  detail::ChunkProgress<words> progress_;
  std::uint32_t start_ = 0;  ///< the chunk where it begins to look
  int ticket_ = 0;
  int known_ = 0;  ///< tickets whose holders are in pending()
  bool begun_ = false;
};

namespace detail {
PAPCOLL_COMPILE_ONCE(void run_arrival<SplitTail::Run>(void*, Waiter&, const Call&))
PAPCOLL_COMPILE_ONCE(
    const ArrivalAlgorithm& algorithm_under<ArrivalOrder, SplitTail, NodeSite>() noexcept)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
