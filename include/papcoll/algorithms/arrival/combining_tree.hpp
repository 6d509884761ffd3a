// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/arrival/chunk_reduction.hpp>
#include <papcoll/algorithms/arrival/shared_steps.hpp>
#include <papcoll/algorithms/arrival/tags.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/node/call_context.hpp>
#include <papcoll/node/control_block.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

/// One call of one rank by CombiningTree: a tree of fixed shape, climbed by the rank that finds
/// both children there.
///
/// Phases: The ranks, in rank order, are the leaves of a binary tree. A node's chunk can be
///   combined once both children have it; whoever of the node's ranks is awake takes it up,
///   so the second to arrive does it, or helps. Those who want the result copy the top.
/// Cost: After the last arrival: ⌈log2 P⌉ combinations of n bytes, on the path from the last leaf
///   to the top; a node's chunks are shared by the ranks below it. All other combinations
///   are done by then.
/// Prefer: Where bits must not depend on who was late, or the operator does not commute.
/// Limits: One node. The last levels combine n bytes each, SplitTail n/P: SplitTail is faster where
///   the operator commutes. Partial results lie in the output of the rank that combined them,
///   so a call that fails may have written to outputs. A rank of a reduce leaves when its
///   contribution is combined and nothing above it can be. Where the kernel does not let
///   ranks copy from each other, chunks go through shared memory two at a time in the first
///   calls of a size, and always where pools are too small for twice the message.
/// Contract: Reproducible: shape and order depend on the number of ranks only.
///
///         (a∘b)∘(c∘d)          d comes last:  1. c∘d       by rank d or c
///         ╱         ╲                         2. the top   by any rank
///      a∘b           c∘d
///      ╱ ╲           ╱ ╲
///     a   b         c   d      a∘b was there before
///
/// Source: Software combining trees: P.-C. Yew, N.-F. Tzeng, D. H. Lawrie, "Distributing hot-spot
///   addressing in large-scale multiprocessors", IEEE ToC 1987; here with data, in chunks,
///   and climbed by helpers.
class CombiningTree::Run
    : detail::ChunkReduction<CombiningTree::Run, NodeControlBlock::work_chunks> {
 public:
  bool step(CallContext auto& ctx, const Call& c) {
    if (!begun_) begin(ctx, c);
    return go_on(ctx, c, 0);
  }

 private:
  friend ChunkReduction;
  /// A chunk of a node that is combined lies with `who`.
  using Chunk = detail::ChunkWord<CombiningTree, 16, 1, words>;
  static_assert(most_ranks == 0xffff + 1);

  /// A node above the leaves of ranks lo…hi−1, lo…mid−1 of them to its left.
  struct Node {
    int lo = 0;
    int mid = 0;
    int hi = 0;
  };

  /// A child of a node that is there for a chunk: a leaf's input or a lower node's result.
  struct Child {
    bool leaf = false;
    int rank = 0;
  };

  void begin(CallContext auto& ctx, const Call& c) {
    begun_ = true;
    find_path(ctx.rank(), ctx.size());
    ChunkReduction::begin(ctx, c);
  }

  /// The nodes above this rank's leaf, lowest first.
  void find_path(int rank, int size) {
    Node n{0, 0, size};
    while (n.hi - n.lo > 1) {
      n.mid = split(n.lo, n.hi);
      path_[static_cast<std::size_t>(height_++)] = n;
      if (rank < n.mid) {
        n.hi = n.mid;
      } else {
        n.lo = n.mid;
      }
    }
    std::reverse(path_.begin(), path_.begin() + height_);
  }
  /// The left part is a power of two, the largest that leaves something to the right.
  static int split(int lo, int hi) noexcept {
    int left = 1;
    while (2 * left < hi - lo) left *= 2;
    return lo + left;
  }

  static std::uint32_t word(const Node& n, std::uint32_t k) noexcept {
    return static_cast<std::uint32_t>(n.mid - 1) * words + k % words;
  }

  static bool learn(const CallContext auto&) { return true; }  // of whom it needs, when it combines
  static bool looks_again(const CallContext auto&) { return false; }

  bool is_in(const CallContext auto& ctx, std::uint32_t k) const {
    return height_ > 0 && Chunk::of(ctx.work(word(path_[0], k)), k).count != 0;
  }

  /// Combines whatever can be on this rank's way up, for one chunk.
  Outcome work_on(CallContext auto& ctx, const Call& c, std::uint32_t k, bool& combined) {
    for (int level = 0; level < height_; ++level) {
      const Node& n = path_[static_cast<std::size_t>(level)];
      const std::uint32_t state = ctx.work(word(n, k));
      const Chunk chunk = Chunk::of(state, k);
      if (chunk.count != 0) continue;
      // Whoever is at it, or makes the other child, looks at the levels above afterwards. (Of two
      // that lay down both children one sees the other's: that, too, is why a work word's stores
      // are sequentially consistent.)
      const Outcome left_to_others = takes() || level == 0 ? Outcome::waiting : Outcome::done;
      if (chunk.busy) return left_to_others;
      Child low;
      Child high;
      if (!find_child(ctx, n.lo, n.mid, k, low) || !find_child(ctx, n.mid, n.hi, k, high)) {
        return failed_ ? Outcome::failed : left_to_others;
      }
      if (!buffers_.may_combine(ctx)) return Outcome::waiting;
      if (!ctx.try_claim(word(n, k), state, Chunk{true, 0, 0}.state(k))) return Outcome::waiting;
      if (!combine(ctx, c, k, low, high)) {
        ctx.unclaim(word(n, k), state);
        return Outcome::failed;
      }
      ctx.complete(word(n, k), Chunk{false, ctx.rank(), 1}.state(k));
      combined = true;
    }
    if (!takes()) return Outcome::done;
    return take_top(ctx, c, k) ? Outcome::done : Outcome::failed;
  }

  /// Returns true if the child over ranks lo…hi−1 is complete. If it belongs to another call, sets
  /// failed_, and every rank throws.
  bool find_child(CallContext auto& ctx, int lo, int hi, std::uint32_t k, Child& child) {
    if (hi - lo == 1) {
      if (!ctx.arrived(lo, 0) || !buffers_.has_input(ctx, lo, k)) return false;
      child = {true, lo};
    } else {
      const Chunk chunk = Chunk::of(ctx.work(word({lo, split(lo, hi), hi}, k)), k);
      if (chunk.count == 0) return false;
      child = {false, chunk.who};
    }
    failed_ = !detail::matched(ctx, child.rank);
    return !failed_;
  }

  bool combine(CallContext auto& ctx, const Call& c, std::uint32_t k, const Child& low,
               const Child& high) {
    if (!ctx.begin_reading()) return false;
    std::byte* const to = buffers_.target(ctx, k);
    const std::size_t size = c.reducer.size;
    const std::size_t block = ctx.scratch_bytes() / size * size;
    const std::size_t bytes = buffers_.chunks().bytes(k);
    const auto part = [&](const Child& child, std::size_t at, std::size_t n, std::size_t i) {
      return child.leaf ? buffers_.input(ctx, c, child.rank, k, at, n, ctx.scratch(i))
                        : buffers_.partial(ctx, child.rank, k, at, n, ctx.scratch(i));
    };
    for (std::size_t at = 0; at < bytes; at += block) {
      const std::size_t n = std::min(block, bytes - at);
      const std::byte* const a = part(low, at, n, 0);
      const std::byte* const b = part(high, at, n, 1);
      buffers_.combine(ctx, to + at, a, b, n / size);
    }
    return ctx.end_reading();
  }

  bool take_top(CallContext auto& ctx, const Call& c, std::uint32_t k) {
    if (height_ == 0) {  // the only rank
      const Chunks& chunks = buffers_.chunks();
      if (c.in != c.out)
        ctx.read(c.out + chunks.offset(k), c.in + chunks.offset(k), chunks.bytes(k));
      return true;
    }
    ctx.note_all_arrived();  // and all match: each who combined looked at both children
    const Node& top = path_[static_cast<std::size_t>(height_ - 1)];
    return take(ctx, c, k, Chunk::of(ctx.work(word(top, k)), k).who);
  }

  std::array<Node, 32> path_{};
  int height_ = 0;
  bool failed_ = false;
  bool begun_ = false;
};

namespace detail {
PAPCOLL_ARRIVAL_ALGORITHM(ArrivalOrder, CombiningTree)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
