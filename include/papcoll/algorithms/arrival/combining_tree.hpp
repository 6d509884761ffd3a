#pragma once

#include <papcoll/algorithms/arrival/chunk_progress.hpp>
#include <papcoll/algorithms/arrival/peer_buffers.hpp>
#include <papcoll/algorithms/arrival/tags.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/node/site.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI {

// CombiningTree: a tree of fixed shape, climbed by whoever finds both children there
// ----------------------------------------------------------------------------------
// Phases   The ranks, in rank order, are the leaves of a binary tree. A node's chunk can be
//          combined once both children have it; whoever of the node's ranks is awake takes it up,
//          so the second to arrive does it, or helps. Those who want the result copy the top.
// Cost     After the last arrival: ⌈log2 P⌉ combinations of n bytes, on the path from the last leaf
//          to the top; a node's chunks are shared by the ranks below it. All other combinations
//          are done by then.
// Prefer   Where bits must not depend on who was late, or the operator does not commute.
// Limits   One node. The last levels combine n bytes each, SplitTail n/P: SplitTail is faster where
//          the operator commutes. Partial results lie in the output of whoever combined them, so a
//          call that fails may have written to outputs. A rank of a reduce leaves when its
//          contribution is combined and nothing above it can be. Where the kernel does not let
//          ranks copy from each other, chunks go through shared memory two at a time in the first
//          calls of a size, and always where pools are too small for twice the message.
// Contract Reproducible: shape and order depend on the number of ranks only.
//
//                 (a∘b)∘(c∘d)          d comes last:  1. c∘d       by rank d or c
//                 ╱         ╲                         2. the top   by any rank
//              a∘b           c∘d
//              ╱ ╲           ╱ ╲
//             a   b         c   d      a∘b was there before
//
// Source   Software combining trees: P.-C. Yew, N.-F. Tzeng, D. H. Lawrie, "Distributing hot-spot
//          addressing in large-scale multiprocessors", IEEE ToC 1987; here with data, in chunks,
//          and climbed by helpers.

/// One call of one rank.
class CombiningTree::Run {
 public:
  template <Site S>
  bool step(S& s, const Call& c) {
    if (!begun_) begin(s, c);
    for (;;) {
      bool moved = progress_.slide(s, c);
      moved |= stage(s, c);
      const std::uint32_t low = progress_.low();
      const std::uint32_t end = progress_.end();
      // From the end while there are chunks to copy for others, which begin with the first.
      const bool backwards = buffers_.has_to_stage();
      for (std::uint32_t i = low; i < end; ++i) {
        const std::uint32_t k = backwards ? end - 1 - (i - low) : i;
        if (progress_.is_done(k)) continue;
        bool combined = false;
        const Outcome o = climb(s, c, k, combined);
        if (o == Outcome::failed) return false;
        if (o == Outcome::done) progress_.set_done(s, k);
        moved |= combined || o == Outcome::done;
        if (combined && buffers_.has_to_stage()) break;  // others wait for it
      }
      if (progress_.complete()) return progress_.close(s, c);
      if (!moved) return false;
    }
  }

 private:
  static constexpr std::uint32_t words = NodeBoard::work_chunks;
  static_assert(most_ranks == 0xffff + 1);

  enum class Outcome { waiting, done, failed };

  /// A node above the leaves of ranks lo…hi−1, lo…mid−1 of them to its left.
  struct Node {
    int lo = 0;
    int mid = 0;
    int hi = 0;
  };

  /// What a work word says of a chunk of a node.
  struct Chunk {
    bool busy = false;
    bool combined = false;
    int holder = 0;

    static Chunk of(std::uint32_t state, std::uint32_t k) noexcept {
      if (tag.is_foreign(state)) return {true, false, 0};
      const std::uint32_t ahead = (state >> 18U) - generation(k);
      // The word has gone on to a later chunk while this rank of a reduce was away, or is still
      // that of an earlier one.
      if (ahead % generations != 0) {
        return {false, ahead % generations < generations / 2, 0};
      }
      return {(state & 1U) != 0, (state & 2U) != 0, static_cast<int>(state >> 2U & 0xffffU)};
    }
    std::uint32_t state(std::uint32_t k) const noexcept {
      return tag.state(generation(k) << 18U | static_cast<std::uint32_t>(holder) << 2U |
                       static_cast<std::uint32_t>(combined) << 1U |
                       static_cast<std::uint32_t>(busy));
    }
    static constexpr WorkTag tag{"CombiningTree"};
    static constexpr std::uint32_t generations = 64;
    static_assert(generations << 18U == 1U << WorkTag::own_bits);
    static_assert(generations >= detail::least_generations);
    static std::uint32_t generation(std::uint32_t k) noexcept { return k / words % generations; }
  };

  /// A child of a node that is there for a chunk: a leaf's input or a lower node's result.
  struct Child {
    bool leaf = false;
    int rank = 0;
  };

  template <Site S>
  void begin(S& s, const Call& c) {
    begun_ = true;
    find_path(s.rank(), s.size());
    progress_.begin(s, c, buffers_);
  }

  /// The nodes above this rank's leaf, lowest first.
  void find_path(int rank, int size) {
    std::array<Node, 32> down{};
    Node n{0, 0, size};
    while (n.hi - n.lo > 1) {
      n.mid = split(n.lo, n.hi);
      down[static_cast<std::size_t>(height_++)] = n;
      if (rank < n.mid) {
        n.hi = n.mid;
      } else {
        n.lo = n.mid;
      }
    }
    for (int i = 0; i < height_; ++i) {
      path_[static_cast<std::size_t>(i)] = down[static_cast<std::size_t>(height_ - 1 - i)];
    }
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

  /// Copies chunks for the others: as many as there are others between two that this rank
  /// combines itself, so that all have something to do when it is the last to come.
  template <Site S>
  bool stage(S& s, const Call& c) {
    const auto in_it = [&](std::uint32_t k) {
      return height_ > 0 && Chunk::of(s.work(word(path_[0], k)), k).combined;
    };
    int copied = 0;
    while (copied < std::max(1, s.size() - 1) &&
           buffers_.stage_next(s, c, progress_.end(), in_it)) {
      ++copied;
    }
    return copied != 0;
  }

  /// Combines whatever can be on this rank's way up, for one chunk.
  template <Site S>
  Outcome climb(S& s, const Call& c, std::uint32_t k, bool& combined) {
    for (int level = 0; level < height_; ++level) {
      const Node& n = path_[static_cast<std::size_t>(level)];
      const std::uint32_t state = s.work(word(n, k));
      const Chunk chunk = Chunk::of(state, k);
      if (chunk.combined) continue;
      // Whoever is at it, or makes the other child, looks at the levels above afterwards. (Of two
      // that lay down both children one sees the other's: that, too, is why a work word's stores
      // are sequentially consistent.)
      const Outcome left_to_others =
          progress_.takes() || level == 0 ? Outcome::waiting : Outcome::done;
      if (chunk.busy) return left_to_others;
      Child low;
      Child high;
      if (!find_child(s, n.lo, n.mid, k, low) || !find_child(s, n.mid, n.hi, k, high)) {
        return failed_ ? Outcome::failed : left_to_others;
      }
      if (!buffers_.may_combine(s)) return Outcome::waiting;
      if (!s.take_up(word(n, k), state, Chunk{true, false, 0}.state(k))) return Outcome::waiting;
      if (!combine(s, c, k, low, high)) {
        s.put_back(word(n, k), state);
        return Outcome::failed;
      }
      s.lay_down(word(n, k), Chunk{false, true, s.rank()}.state(k));
      combined = true;
    }
    if (!progress_.takes()) return Outcome::done;
    return take(s, c, k) ? Outcome::done : Outcome::failed;
  }

  /// Is the child over ranks lo…hi−1 there? Sets failed_, and everyone throws, if it is of
  /// another call.
  template <Site S>
  bool find_child(S& s, int lo, int hi, std::uint32_t k, Child& child) {
    if (hi - lo == 1) {
      if (!s.arrived(lo, 0) || !buffers_.has_input(s, lo, k)) return false;
      child = {true, lo};
    } else {
      const Chunk chunk = Chunk::of(s.work(word({lo, split(lo, hi), hi}, k)), k);
      if (!chunk.combined) return false;
      child = {false, chunk.holder};
    }
    if (s.matches(child.rank)) return true;
    s.fail(child.rank);
    failed_ = true;
    return false;
  }

  template <Site S>
  bool combine(S& s, const Call& c, std::uint32_t k, const Child& low, const Child& high) {
    if (!s.begin_reading()) return false;
    std::byte* const to = buffers_.target(s, k);
    const std::size_t size = c.reducer.size;
    const std::size_t block = s.scratch_bytes() / size * size;
    const std::size_t bytes = buffers_.chunks().bytes(k);
    const auto part = [&](const Child& child, std::size_t at, std::size_t n, std::size_t i) {
      return child.leaf ? buffers_.input(s, c, child.rank, k, at, n, s.scratch(i))
                        : buffers_.partial(s, child.rank, k, at, n, s.scratch(i));
    };
    for (std::size_t at = 0; at < bytes; at += block) {
      const std::size_t n = std::min(block, bytes - at);
      const std::byte* const a = part(low, at, n, 0);
      const std::byte* const b = part(high, at, n, 1);
      buffers_.combine(s, to + at, a, b, n / size);
    }
    return s.end_reading();
  }

  template <Site S>
  bool take(S& s, const Call& c, std::uint32_t k) {
    if (height_ == 0) {  // the only rank
      const Chunks& chunks = buffers_.chunks();
      if (c.in != c.out) s.read(c.out + chunks.offset(k), c.in + chunks.offset(k), chunks.bytes(k));
      return true;
    }
    s.all_arrived();  // and all match: each who combined looked at both children
    const Node& top = path_[static_cast<std::size_t>(height_ - 1)];
    return progress_.take(s, c, k, Chunk::of(s.work(word(top, k)), k).holder);
  }

  detail::PeerBuffers buffers_;
  detail::ChunkProgress<words> progress_;
  std::array<Node, 32> path_{};
  int height_ = 0;
  bool failed_ = false;
  bool begun_ = false;
};

namespace detail {
PAPCOLL_COMPILE_ONCE(void run_arrival<CombiningTree::Run>(void*, Waiter&, const Call&))
PAPCOLL_COMPILE_ONCE(
    const ArrivalAlgorithm& algorithm_under<ArrivalOrder, CombiningTree, NodeSite>() noexcept)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
