#pragma once

#include <papcoll/algorithms/arrival/grouped_leaders.hpp>
#include <papcoll/algorithms/arrival/tags.hpp>
#include <papcoll/algorithms/arrival/two_level_slices.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/node/site.hpp>
#include <papcoll/schedule/range.hpp>
#include <papcoll/topology/groups.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace papcoll::inline PAPCOLL_ABI {

// MultiLeader: each rank leads for its slice of the data (DPML)
// -------------------------------------------------------------
// Phases   For each chunk of the message:
//          1. Each rank copies to its slot the slices that the others lead (all but its own).
//          2. Each rank combines its own slice, straight from its private input and the others'
//             slots, block by block: each block goes to its output and, while it is in its nearest
//             cache, over the contribution of its successor. Then it raises its second flag.
//          3. Each rank copies the other slices of the result from there.
//          A few chunks are in flight: a rank writes and combines ahead while it waits.
//          Where the site says which ranks are near each other, in two levels: GroupedLeaders.
// Cost     Two flags each way a chunk. Each rank copies 2(P−1)/P·n bytes and combines n·(P−1)/P:
//          the work is shared evenly, which no single leader can do. Results take the place of
//          contributions that have just been read, so with two ranks a line of shared memory
//          crosses once each way, the least there is for private buffers; in buffers of their own
//          results took 1.4 times as long (2 ranks, one L3, 8 KB to 4 MB: 64 KB 7.7 and 5.4 µs).
// Prefer   Balanced arrivals above a few KB on one node.
// Limits   One node. A late rank holds up its slice until it comes.
// Contract Reproducible: every element is combined in rank order; in two levels, by groups.
//
//                slot 0   slot 1   slot 2
//        rank 0           b0       c0        →   slot 1 gets a0∘b0∘c0 ┐
//        rank 1  a1                c1        →   slot 2 gets a1∘b1∘c1 ├ all read the others' slices
//        rank 2  a2       b2                 →   slot 0 gets a2∘b2∘c2 ┘
//
// Source   M. Bayatpour et al., "Scalable reduction collectives with data partitioning-based
//          multi-leader design", SC 2017, with all ranks as leaders.

/// One call of one rank.
class MultiLeader::Run {
 public:
  template <Site S>
  bool step(S& s, const Call& c) {
    if (!begun_) begin(s, c);
    return grouped_ ? grouped_->step(s, c) : step_in_one_level(s, c);
  }

 private:
  /// With its inputs and its copy a block stays in a nearest cache of 32 KB.
  static constexpr std::size_t block_bytes = 8192;

  /// Not inlined, or GCC 12 compiles it worse than without groups: 2 ranks, 2 to 8 KB, took 1 to
  /// 3 % more time.
  template <Site S>
  [[gnu::noinline]] bool step_in_one_level(S& s, const Call& c) {
    for (;;) {
      const bool wrote = write_next(s, c);
      const bool combined = combine_next(s, c);
      const bool took = take_next(s, c);
      if (taken_ == chunks_.count) return true;
      if (!wrote && !combined && !took) return false;
    }
  }

  template <Site S>
  void begin(S& s, const Call& c) {
    begun_ = true;
    if (s.groups() != nullptr) begin_in_groups(s, c);
    // Two ranks, 512 KB to 4 MB, with two buffers to a chunk instead of one: 5 % less time where
    // they share a cache, 12 % less where they do not. More ranks need the chunks to go ahead.
    together_ = s.size() == 2 ? 2 : 1;
    chunks_ = Chunks{c.count, c.reducer.size, together_ * s.chunk_bytes()};
    streams_ = !c.in_place() && s.streams(2 * c.bytes());
  }

  template <Site S>
  [[gnu::noinline]] void begin_in_groups(S& s, const Call& c) {
    const Groups* const groups = detail::groups_of_two_levels(s, c);
    if (groups != nullptr) grouped_.emplace(*groups, s, c);
  }

  /// Chunks in flight. A chunk overwrites, in this rank's slot, the one that many before it, of
  /// which others have read contributions and results. With two ranks only this rank reads that
  /// result: it has taken it. With more, a rank has taken a chunk t when all have combined it,
  /// and so have published it and taken those below t − window: twice the window is needed.
  template <Site S>
  std::uint32_t window(const S& s) const {
    return s.size() == 2 ? s.buffers() / together_ : s.buffers() / 2;
  }

  /// Rank r's memory for a chunk.
  template <Site S>
  std::byte* slot(S& s, int r, std::uint32_t chunk) const {
    return s.slot(r, chunk * together_);
  }

  /// Whose slot holds the result of rank r's slice.
  template <Site S>
  static int keeper(const S& s, int r) {
    return r + 1 < s.size() ? r + 1 : 0;
  }

  /// Rank r's slice of a chunk, in elements of the chunk; whole cache lines, so that no two ranks
  /// write to one.
  template <Site S>
  Range slice(const S& s, std::uint32_t chunk, int r) const {
    const std::size_t n = chunks_.length(chunk);
    const std::size_t line = chunks_.size < cache_line ? cache_line / chunks_.size : 1;
    const Range lines = part({0, (n + line - 1) / line}, r, s.size());
    return {lines.lo * line < n ? lines.lo * line : n, lines.hi * line < n ? lines.hi * line : n};
  }

  template <Site S>
  bool write_next(S& s, const Call& c) {
    if (written_ == chunks_.count || written_ >= taken_ + window(s)) return false;
    const Range own = slice(s, written_, s.rank());
    copy_around(own, written_, [&](std::size_t offset, std::size_t bytes) {
      s.write(slot(s, s.rank(), written_) + offset, c.in + chunks_.offset(written_) + offset,
              bytes);
    });
    ++written_;
    if (written_ == 1) {
      s.announce(nullptr, 0, 1);
    } else {
      s.publish(written_, everyone);
    }
    return true;
  }

  template <Site S>
  bool combine_next(S& s, const Call& c) {
    if (combined_ == chunks_.count || combined_ == written_) return false;
    for (; next_ < s.size(); ++next_) {
      if (next_ == s.rank()) continue;
      if (!s.arrived(next_, combined_ + 1)) return false;
      if (combined_ == 0 && !s.matches(next_)) {
        s.fail(next_);
        return false;
      }
    }
    next_ = 0;
    s.all_arrived();
    const Range own = slice(s, combined_, s.rank());
    const std::size_t block = std::max(block_bytes / chunks_.size, std::size_t{1});
    for (std::size_t i = own.lo; i < own.hi; i += block) {
      combine_block(s, c, i * chunks_.size, std::min(block, own.hi - i));
    }
    s.finish_stage(++combined_);
    return true;
  }

  /// Combines n elements, `at` bytes into the chunk, in rank order. Only the last combination
  /// writes to this rank's output: in place, it is one of the inputs.
  template <Site S>
  void combine_block(S& s, const Call& c, std::size_t at, std::size_t n) {
    const std::size_t offset = chunks_.offset(combined_) + at;
    const auto contribution = [&](int r) {
      return r == s.rank() ? c.in + offset : slot(s, r, combined_) + at;
    };
    if (s.size() == 1) {
      if (c.in != c.out) s.read(c.out + offset, c.in + offset, n * chunks_.size);
      return;
    }
    const std::byte* low = contribution(0);
    for (int r = 1; r < s.size(); ++r) {
      std::byte* const into = r + 1 == s.size() && !streams_ ? c.out + offset : s.scratch(0);
      s.reduce(into, low, contribution(r), n);
      low = into;
    }
    if (streams_) s.stream(c.out + offset, low, n * chunks_.size);
    s.write(slot(s, keeper(s, s.rank()), combined_) + at, low, n * chunks_.size);
  }

  template <Site S>
  bool take_next(S& s, const Call& c) {
    if (taken_ == combined_) return false;
    for (; next_to_take_ < s.size(); ++next_to_take_) {
      if (next_to_take_ != s.rank() && !s.stage(next_to_take_, taken_ + 1)) return false;
    }
    next_to_take_ = 0;
    for (int r = 0; r < s.size(); ++r) {
      if (r == s.rank()) continue;
      const Range theirs = slice(s, taken_, r);
      if (theirs.empty()) continue;  // its keeper's buffer has not been written
      const std::size_t at = theirs.lo * chunks_.size;
      std::byte* const to = c.out + chunks_.offset(taken_) + at;
      const std::byte* const from = slot(s, keeper(s, r), taken_) + at;
      const std::size_t n = theirs.size() * chunks_.size;
      streams_ ? s.stream(to, from, n) : s.read(to, from, n);
    }
    ++taken_;
    return true;
  }

  /// Calls f(offset, bytes) for the parts of a chunk before and after a slice.
  template <class F>
  void copy_around(Range own, std::uint32_t chunk, F&& f) const {
    const std::size_t lo = own.lo * chunks_.size;
    const std::size_t hi = own.hi * chunks_.size;
    const std::size_t end = chunks_.bytes(chunk);
    if (own.empty()) return f(std::size_t{0}, end);
    if (lo != 0) f(std::size_t{0}, lo);
    if (hi != end) f(hi, end - hi);
  }

  Chunks chunks_;
  std::uint32_t together_ = 1;  ///< buffers to a chunk
  std::uint32_t written_ = 0;   ///< chunks in this rank's slot so far
  std::uint32_t combined_ = 0;  ///< chunks this rank has combined its slice of
  std::uint32_t taken_ = 0;     ///< chunks this rank has the whole result of
  int next_ = 0;
  int next_to_take_ = 0;
  bool streams_ = false;  ///< its output goes past the caches
  bool begun_ = false;
  std::optional<detail::GroupedLeaders> grouped_;  ///< in two levels
};

namespace detail {
PAPCOLL_COMPILE_ONCE(void run_arrival<MultiLeader::Run>(void*, Waiter&, const Call&))
PAPCOLL_COMPILE_ONCE(
    const ArrivalAlgorithm& algorithm_under<StaticOrder, MultiLeader, NodeSite>() noexcept)
}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
