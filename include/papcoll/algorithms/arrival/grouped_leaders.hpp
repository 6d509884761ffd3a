#pragma once

#include <papcoll/algorithms/arrival/two_level_slices.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/node/site.hpp>
#include <papcoll/schedule/range.hpp>
#include <papcoll/topology/groups.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI::detail {

// GroupedLeaders: MultiLeader in two levels, where ranks are in groups (hierarchical DPML)
// ----------------------------------------------------------------------------------------
// Phases   For each chunk of the message, G groups of k ranks, P = G·k; see TwoLevelSlices:
//          1. Each rank copies to its slot the slices that its group's other members own.
//          2. Each rank combines its slice, from its private input and the others' slots, and
//             leaves the partial result in its own slot, where that slice is free.
//          3. Each rank combines its share of its slice, from its own slot and those of its
//             partners, to its output, and over its own partial result of the share, which nobody
//             else reads.
//          4. Each rank copies the other shares of the result from their owners' slots.
// Cost     Three flags a chunk. Each rank copies 2n bytes, with partial and final results, and
//          combines n·(P−1)/P. While combining, all ranks together read (G−1)·n bytes from other
//          groups; in one level, P·(1−1/G)·n = k·(G−1)·n.
//          Results are read as in one level, k·(G−1)·n bytes from other groups. Members begin with
//          different slices, so that where a group has a cache, a line of the results comes from
//          another group once, (G−1)·n bytes in all, and to the other members from that cache.
// Prefer   What MultiLeader is taken for, where memory of another group is farther than that of the
//          own one.
// Limits   Groups of one size, 2 ranks or more; see groups_of_two_levels(). A chunk waits for three
//          ranks' flags in a row, where MultiLeader's waits for two: short messages, which wait
//          more than they copy, may be slower.
// Contract Reproducible: the bits depend on the groups, and on no arrival.
//
//              within groups               across
//         A0   a0∘a1 of slice 0 ┬ A0: its share of (a0∘a1)∘(b0∘b1) ┐
//         B0   b0∘b1 of slice 0 ┴ B0: the rest of slice 0          ├ all read the others' shares
//         A1   a0∘a1 of slice 1 ┬ A1: its share of slice 1         │
//         B1   b0∘b1 of slice 1 ┴ B1: the rest                     ┘
//
// Source   M. Bayatpour et al., "Scalable reduction collectives with data partitioning-based
//          multi-leader design", SC 2017: partial results of several leaders, combined across a
//          slower level.

/// One call of one rank.
class GroupedLeaders {
 public:
  template <Site S>
  GroupedLeaders(const Groups& groups, const S& s, const Call& c)
      : slices_(groups, s.rank()),
        chunks_(c.count, c.reducer.size, s.chunk_bytes()),
        window_(s.buffers() / 2),
        ahead_(window_ > 1 ? 1 : 0),
        streams_(!c.in_place() && s.streams(2 * c.bytes())) {}

  /// Not inlined, so that calls in one level do not pay for it.
  template <Site S>
  [[gnu::noinline]] bool step(S& s, const Call& c) {
    for (;;) {
      const bool wrote = write_next(s, c);
      const bool within = combine_within(s, c);
      const bool across = combine_across(s, c);
      const bool took = take_next(s, c);
      if (taken_ == chunks_.count) return true;
      if (!wrote && !within && !across && !took) return false;
    }
  }

 private:
  // The second counter tells of phases 2 and 3. A rank does them in the order within 0 … `ahead_`,
  // across 0, within `ahead_` + 1, across 1, …, so that what it waits for across groups had a
  // chunk's time to be done. Each raises the counter, since
  //   after_within(t + ahead_) < after_across(t) < after_within(t + ahead_ + 1).
  static std::uint32_t after_within(std::uint32_t chunk) noexcept { return 2 * chunk + 1; }
  std::uint32_t after_across(std::uint32_t chunk) const noexcept {
    return 2 * (chunk + ahead_) + 2;
  }

  /// Has rank r written a chunk of the same call?
  template <Site S>
  static bool has_written(S& s, int r, std::uint32_t chunk) {
    if (r == s.rank()) return true;
    if (!s.arrived(r, chunk + 1)) return false;
    if (chunk != 0 || s.matches(r)) return true;
    s.fail(r);
    return false;
  }

  template <Site S>
  bool write_next(S& s, const Call& c) {
    if (written_ == chunks_.count || written_ >= taken_ + window_) return false;
    const Range own = slices_.slice(slices_.number(), chunks_.length(written_), chunks_.size);
    write_part(s, c, {0, own.lo});
    write_part(s, c, {own.hi, chunks_.length(written_)});
    ++written_;
    if (written_ == 1) {
      s.announce(nullptr, 0, 1);
    } else {
      s.publish(written_, everyone);
    }
    return true;
  }

  template <Site S>
  void write_part(S& s, const Call& c, Range elements) {
    if (elements.empty()) return;
    const std::size_t at = elements.lo * chunks_.size;
    s.write(s.slot(s.rank(), written_) + at, c.in + chunks_.offset(written_) + at,
            elements.size() * chunks_.size);
  }

  template <Site S>
  bool combine_within(S& s, const Call& c) {
    if (within_ == written_ || within_ > across_ + ahead_) return false;
    for (; next_member_ < slices_.members(); ++next_member_) {
      if (!has_written(s, slices_.member(next_member_), within_)) return false;
    }
    next_member_ = 0;
    const Range own = slices_.slice(slices_.number(), chunks_.length(within_), chunks_.size);
    const std::byte* const mine = c.in + chunks_.offset(within_);
    for_each_block(own, chunks_.size, [&](std::size_t at, std::size_t n) {
      std::byte* const draft = s.scratch(0);
      combine_in_order(s, draft, slices_.members(), n, [&](int i) -> const std::byte* {
        return i == slices_.number() ? mine + at : s.slot(slices_.member(i), within_) + at;
      });
      s.write(s.slot(s.rank(), within_) + at, draft, n * chunks_.size);
    });
    s.finish_stage(after_within(within_++));
    return true;
  }

  template <Site S>
  bool combine_across(S& s, const Call& c) {
    if (across_ == chunks_.count || within_ < std::min(across_ + ahead_ + 1, chunks_.count)) {
      return false;
    }
    // A partner that has combined its slice has found the calls of its group to match its own, and
    // if that matches, too, all do: until then no output is touched.
    for (; next_partner_ < slices_.groups(); ++next_partner_) {
      if (next_partner_ == slices_.group()) continue;
      const int r = slices_.partner(next_partner_);
      if (across_ == 0 && !has_written(s, r, 0)) return false;
      if (!s.stage(r, after_within(across_))) return false;
    }
    next_partner_ = 0;
    s.all_arrived();
    const Range own = share(slices_.group(), slices_.number(), across_);
    std::byte* const result = c.out + chunks_.offset(across_);
    for_each_block(own, chunks_.size, [&](std::size_t at, std::size_t n) {
      std::byte* const to = streams_ ? s.scratch(0) : result + at;
      combine_in_order(s, to, slices_.groups(), n, [&](int g) -> const std::byte* {
        return s.slot(slices_.partner(g), across_) + at;
      });
      if (streams_) s.stream(result + at, to, n * chunks_.size);
      s.write(s.slot(s.rank(), across_) + at, to, n * chunks_.size);
    });
    s.finish_stage(after_across(across_++));
    return true;
  }

  template <Site S>
  bool take_next(S& s, const Call& c) {
    if (taken_ == across_) return false;
    for (; next_to_take_ < s.size(); ++next_to_take_) {
      if (next_to_take_ != s.rank() && !s.stage(next_to_take_, after_across(taken_))) return false;
    }
    next_to_take_ = 0;
    for (int d = 0; d < slices_.members(); ++d) {
      const int i = (slices_.number() + d) % slices_.members();
      for (int g = 0; g < slices_.groups(); ++g) take_share(s, c, g, i);
    }
    ++taken_;
    return true;
  }

  /// Copies the share of slice i that its owner in a group has combined.
  template <Site S>
  void take_share(S& s, const Call& c, int group, int i) {
    const int owner = slices_.owner(group, i);
    const Range theirs = share(group, i, taken_);
    if (owner == s.rank() || theirs.empty()) return;
    const std::size_t at = theirs.lo * chunks_.size;
    std::byte* const to = c.out + chunks_.offset(taken_) + at;
    const std::byte* const from = s.slot(owner, taken_) + at;
    const std::size_t n = theirs.size() * chunks_.size;
    streams_ ? s.stream(to, from, n) : s.read(to, from, n);
  }

  Range share(int group, int i, std::uint32_t chunk) const noexcept {
    return slices_.share(group, i, chunks_.length(chunk), chunks_.size);
  }

  TwoLevelSlices slices_;
  Chunks chunks_;
  // Chunks that this rank has written and not taken. Chunk t overwrites chunk t − 2·window_ in its
  // slot, and nobody reads that any more: a rank that writes t has taken t − window_, so all have
  // combined that across groups; before, each wrote it, having taken t − 2·window_; and a rank that
  // has taken a chunk reads it in no slot again.
  std::uint32_t window_;
  std::uint32_t ahead_;        ///< chunks that phase 2 is before phase 3; less than window_
  std::uint32_t written_ = 0;  ///< chunks in this rank's slot so far
  std::uint32_t within_ = 0;   ///< chunks this rank has combined its slice of
  std::uint32_t across_ = 0;   ///< chunks this rank has combined its share of
  std::uint32_t taken_ = 0;    ///< chunks this rank has the whole result of
  // Where the waits of the phases stopped.
  int next_member_ = 0;
  int next_partner_ = 0;
  int next_to_take_ = 0;
  bool streams_;  ///< its output goes past the caches
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
