// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/arrival/shared_steps.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/node/call_context.hpp>
#include <papcoll/schedule/range.hpp>
#include <papcoll/topology/groups.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

// Allreduces in two levels: of MultiLeader and of PeerSlices.

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The groups by which all ranks of a node combine in two levels, first within groups and then
/// across them; null: in one. All that it depends on is the same on all ranks: the groups, and what
/// matching calls have in common. In two levels each rank of a group has a counterpart in every
/// other; and only an operator that commutes may combine groups whose ranks do not follow each
/// other.
const Groups* groups_of_two_levels(const CallContext auto& ctx, const Call& c) noexcept {
  const Groups* const groups = ctx.groups();
  if (groups == nullptr) return nullptr;
  const int each = groups->largest();
  if (groups->count() < 2 || each < 2 || each * groups->count() != ctx.size()) return nullptr;
  const bool any_order = c.reducer.commutative && !c.rank_order;
  return any_order || groups->contiguous() ? groups : nullptr;
}

/// How ranks in groups of one size divide elements among them, as one of them sees it. Slice i
/// belongs to its owners, the members with number i, one in each group. Within its group an owner
/// combines all of the slice, and across groups its share of it:
///
///   2 groups of 3   slice 0   slice 1   slice 2
///   group A         A0        A1        A2          each: its slice of 3 contributions
///   group B         B0        B1        B2
///   across          A0|B0     A1|B1     A2|B2       each: its share of 2 partial results
///
/// Combined so, an element is (a0∘a1∘a2)∘(b0∘b1∘b2) wherever it lies, from left to right within
/// parentheses and across them: its bits depend on the groups, and on no slice or chunk.
class TwoLevelSlices {
 public:
  /// The slices of `rank`. Requires groups from groups_of_two_levels().
  TwoLevelSlices(const Groups& groups, int rank) noexcept
      : groups_(&groups), group_(groups.group_of(rank)), number_(groups.number_of(rank)) {}

  int groups() const noexcept { return groups_->count(); }
  int members() const noexcept { return groups_->largest(); }
  /// Returns this rank's group.
  int group() const noexcept { return group_; }
  int number() const noexcept { return number_; }

  /// The rank that owns slice i in a group.
  int owner(int group, int i) const noexcept {
    return groups_->ranks_of(group)[static_cast<std::size_t>(i)];
  }
  /// The rank of this rank's group that has number i.
  int member(int i) const noexcept { return owner(group_, i); }
  /// The owner, in a group, of this rank's slice.
  int partner(int group) const noexcept { return owner(group, number_); }

  /// Slice i of n elements of `size` bytes.
  Range slice(int i, std::size_t n, std::size_t size) const noexcept {
    return slice_of(n, size, i, members());
  }
  /// The share that the owner in a group has of slice i; whole lines, too.
  Range share(int group, int i, std::size_t n, std::size_t size) const noexcept {
    return whole_lines(
        n, size, [&](Range lines) { return part(part(lines, i, members()), group, groups()); });
  }

 private:
  const Groups* groups_;
  int group_;
  int number_;
};

/// One call of one rank by GroupedLeaders: MultiLeader in two levels, where ranks are in groups
/// (hierarchical DPML).
///
/// Phases: For each chunk of the message, G groups of k ranks, P = G·k; see TwoLevelSlices:
///   1. Each rank copies to its chunk buffers the slices that its group's other members own.
///   2. Each rank combines its slice, from its private input and the others' chunk buffers,
///      and leaves the partial result in its own chunk buffers, where that slice is free.
///   3. Each rank combines its share of its slice, from its own chunk buffers and those of
///      its partners, to its output, and over its own partial result of the share, which no
///      rank else reads.
///   4. Each rank copies the other shares of the result from their owners' chunk buffers.
/// Cost: Three flags a chunk. Each rank copies 2n bytes, with partial and final results, and
///   combines n·(P−1)/P. While combining, all ranks together read (G−1)·n bytes from other
///   groups; in one level, P·(1−1/G)·n = k·(G−1)·n.
///   Results are read as in one level, k·(G−1)·n bytes from other groups. Members begin with
///   different slices, so that where a group has a cache, a line of the results comes from
///   another group once, (G−1)·n bytes in all, and to the other members from that cache.
/// Prefer: What MultiLeader is taken for, where memory of another group is farther than that of the
///   own one.
/// Limits: Groups of one size, 2 ranks or more; see groups_of_two_levels(). A chunk waits for three
///   ranks' flags in a row, where MultiLeader's waits for two: short messages, which wait
///   more than they copy, may be slower.
/// Contract: Reproducible: the bits depend on the groups, and on no arrival.
///
///          within groups               across
///     A0   a0∘a1 of slice 0 ┬ A0: its share of (a0∘a1)∘(b0∘b1) ┐
///     B0   b0∘b1 of slice 0 ┴ B0: the rest of slice 0          ├ all read the others' shares
///     A1   a0∘a1 of slice 1 ┬ A1: its share of slice 1         │
///     B1   b0∘b1 of slice 1 ┴ B1: the rest                     ┘
///
/// Source: M. Bayatpour et al., "Scalable reduction collectives with data partitioning-based
///   multi-leader design", SC 2017: partial results of several leaders, combined across a
///   slower level.
class GroupedLeaders {
 public:
  GroupedLeaders(const Groups& groups, const CallContext auto& ctx, const Call& c)
      : slices_(groups, ctx.rank()),
        chunks_(c.count, c.reducer.size, ctx.chunk_bytes()),
        window_(ctx.buffers() / 2),
        ahead_(window_ > 1 ? 1 : 0),
        streams_(!c.in_place() && ctx.streams(2 * c.bytes())) {}

  /// Not inlined, so that calls in one level do not pay for it.
  [[gnu::noinline]] bool step(CallContext auto& ctx, const Call& c) {
    for (;;) {
      const bool wrote = write_next(ctx, c);
      const bool within = combine_within(ctx, c);
      const bool across = combine_across(ctx, c);
      const bool took = take_next(ctx, c);
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

  bool write_next(CallContext auto& ctx, const Call& c) {
    if (written_ == chunks_.count || written_ >= taken_ + window_) return false;
    const Range own = slices_.slice(slices_.number(), chunks_.length(written_), chunks_.size);
    write_around(ctx, written_, c.in + chunks_.offset(written_), chunks_.length(written_),
                 chunks_.size, own);
    show_chunks(ctx, ++written_, everyone);
    return true;
  }

  bool combine_within(CallContext auto& ctx, const Call& c) {
    if (within_ == written_ || within_ > across_ + ahead_) return false;
    const auto is_there = [&](int i) { return has_chunk(ctx, slices_.member(i), within_); };
    if (!all_pass(next_member_, slices_.members(), is_there)) return false;
    const Range own = slices_.slice(slices_.number(), chunks_.length(within_), chunks_.size);
    const std::byte* const mine = c.in + chunks_.offset(within_);
    for_each_block(own, chunks_.size, [&](std::size_t at, std::size_t n) {
      std::byte* const draft = ctx.scratch(0);
      combine_in_order(ctx, draft, slices_.members(), n, [&](int i) -> const std::byte* {
        return i == slices_.number() ? mine + at
                                     : ctx.chunk_buffer(slices_.member(i), within_) + at;
      });
      ctx.write(ctx.chunk_buffer(ctx.rank(), within_) + at, draft, n * chunks_.size);
    });
    ctx.publish_stage(after_within(within_++));
    return true;
  }

  bool combine_across(CallContext auto& ctx, const Call& c) {
    if (across_ == chunks_.count || within_ < std::min(across_ + ahead_ + 1, chunks_.count)) {
      return false;
    }
    // A partner that has combined its slice has found the calls of its group to match its own, and
    // if that matches, too, all do: until then no output is touched.
    const bool all_did = all_pass(next_partner_, slices_.groups(), [&](int g) {
      const int r = slices_.partner(g);
      return r == ctx.rank() || ((across_ != 0 || has_chunk(ctx, r, 0)) &&
                                 ctx.stage_reached(r, after_within(across_)));
    });
    if (!all_did) return false;
    ctx.note_all_arrived();
    const Range own = share(slices_.group(), slices_.number(), across_);
    std::byte* const result = c.out + chunks_.offset(across_);
    for_each_block(own, chunks_.size, [&](std::size_t at, std::size_t n) {
      std::byte* const to = streams_ ? ctx.scratch(0) : result + at;
      combine_in_order(ctx, to, slices_.groups(), n, [&](int g) -> const std::byte* {
        return ctx.chunk_buffer(slices_.partner(g), across_) + at;
      });
      if (streams_) ctx.stream(result + at, to, n * chunks_.size);
      ctx.write(ctx.chunk_buffer(ctx.rank(), across_) + at, to, n * chunks_.size);
    });
    ctx.publish_stage(after_across(across_++));
    return true;
  }

  bool take_next(CallContext auto& ctx, const Call& c) {
    if (taken_ == across_) return false;
    const auto is_there = [&](int r) {
      return r == ctx.rank() || ctx.stage_reached(r, after_across(taken_));
    };
    if (!all_pass(next_to_take_, ctx.size(), is_there)) return false;
    for (int d = 0; d < slices_.members(); ++d) {
      const int i = (slices_.number() + d) % slices_.members();
      for (int g = 0; g < slices_.groups(); ++g) take_share(ctx, c, g, i);
    }
    ++taken_;
    return true;
  }

  /// Copies the share of slice i that its owner in a group has combined.
  void take_share(CallContext auto& ctx, const Call& c, int group, int i) {
    const int owner = slices_.owner(group, i);
    const Range theirs = share(group, i, taken_);
    if (owner == ctx.rank() || theirs.empty()) return;
    const std::size_t at = theirs.lo * chunks_.size;
    std::byte* const to = c.out + chunks_.offset(taken_) + at;
    const std::byte* const from = ctx.chunk_buffer(owner, taken_) + at;
    const std::size_t n = theirs.size() * chunks_.size;
    streams_ ? ctx.stream(to, from, n) : ctx.read(to, from, n);
  }

  Range share(int group, int i, std::uint32_t chunk) const noexcept {
    return slices_.share(group, i, chunks_.length(chunk), chunks_.size);
  }

  TwoLevelSlices slices_;
  Chunks chunks_;
  // Chunks that this rank has written and not taken. Chunk t overwrites chunk t − 2·window_ in its
  // chunk buffers, and no rank reads that any more: a rank that writes t has taken t − window_, so
  // all have combined that across groups; before, each wrote it, having taken t − 2·window_; and a
  // rank that has taken a chunk reads it in no chunk buffer again.
  std::uint32_t window_;
  std::uint32_t ahead_;        ///< chunks that phase 2 is before phase 3; less than window_
  std::uint32_t written_ = 0;  ///< chunks in this rank's chunk buffers so far
  std::uint32_t within_ = 0;   ///< chunks this rank has combined its slice of
  std::uint32_t across_ = 0;   ///< chunks this rank has combined its share of
  std::uint32_t taken_ = 0;    ///< chunks this rank has the whole result of
  // Where the waits of the phases stopped.
  int next_member_ = 0;
  int next_partner_ = 0;
  int next_to_take_ = 0;
  bool streams_;  ///< its output goes past the caches
};

/// One call of one rank by PeerSlices' allreduce in two levels, where ranks are in groups. The rank
/// knows that all others have come with the same call.
///
/// Phases: All have arrived, and see all inputs and outputs; G groups of k ranks, P = G·k; see
///   TwoLevelSlices. Each rank
///   1. combines its slice of its group's inputs, and leaves the partial result in its
///      output;
///   2. combines its share of its slice from its own and its partners' outputs, over its own
///      partial result of the share, and writes it to the outputs of its group;
///   3. copies the other shares of its slice from its partners' outputs to those of its
///      group.
///   It leaves when its group and its partners have done so.
/// Cost: Four flags. A rank combines n·(P−1)/P bytes and writes n/k of partial results and n of
///   results, n/k more than in one level: where a slice is more than a cache holds, the
///   partial result goes through memory.
///   While combining, all ranks together read (G−1)·n bytes from other groups, in one level
///   P·(1−1/G)·n = k·(G−1)·n. Of the results they read (G−1)·n bytes from other groups and
///   write none there, where in one level they write k·(G−1)·n: no cache helps with those.
/// Prefer: What PeerSlices is taken for, where memory of another group is farther than that of the
///   own one.
/// Limits: Groups of one size, 2 ranks or more; see groups_of_two_levels(). The message is not cut
///   in chunks: the phases of a rank do not overlap.
/// Contract: Reproducible: the bits depend on the groups, and on no arrival.
///
///          within groups               across: x | y, the shares of slice 0
///     A0   a0∘a1 of slice 0 ┬ A0: x to A0 and A1   ┬ A0: y from B0 to A0 and A1
///     B0   b0∘b1 of slice 0 ┴ B0: y to B0 and B1   ┴ B0: x from A0 to B0 and B1
///     A1   …                                         the same with slice 1
///     B1   …
///
/// Why partial results may lie in outputs, in place, too: slice i of any buffer, input or output,
/// is read and written by the owners of slice i alone, except by the buffer's user. In phase 1 an
/// owner reads slice i of its group's inputs only; of these its own output may be one, and no other
/// rank reads that. In phase 2 it writes its share of slice i to outputs of its group, which may be
/// inputs: it alone had read them, in phase 1. Its own output is the one where others look for its
/// partial result, and at this share none does. In phase 3 it writes a partner's share: the partner
/// has raised its flag, and so has read that share of this rank's partial result.
///
/// Source: M. Bayatpour et al., "Scalable reduction collectives with data partitioning-based
///   multi-leader design", SC 2017, for combining in two levels; J. M. Hashmi et al.,
///   "Designing efficient shared address space reduction collectives for multi-/many-cores",
///   IPDPS 2018, for reading peers' buffers.
class GroupedPeers {
 public:
  GroupedPeers(const Groups& groups, const CallContext auto& ctx, const Call& c)
      : slices_(groups, ctx.rank()), streams_(!c.in_place() && ctx.streams(2 * c.bytes())) {}

  /// Not inlined, so that calls in one level do not pay for it.
  [[gnu::noinline]] bool step(CallContext auto& ctx, const Call& c) {
    if (phase_ == 0 && !run(ctx, [&] { combine_within(ctx, c); })) return false;
    if (phase_ == 1) {
      if (!partners_at(ctx, 1) || !run(ctx, [&] { combine_across(ctx, c); })) return false;
    }
    if (phase_ == 2) {
      if (!partners_at(ctx, 2) || !run(ctx, [&] { hand_out(ctx, c); })) return false;
    }
    return partners_at(ctx, 3) && members_at(ctx, 3);
  }

 private:
  /// Runs a phase on peers' buffers, and notifies all ranks; false if the call has failed.
  bool run(CallContext auto& ctx, auto&& phase) {
    if (!ctx.begin_reading()) return false;
    phase();
    if (!ctx.end_reading()) return false;
    ctx.publish_stage(++phase_);
    return true;
  }

  bool partners_at(CallContext auto& ctx, std::uint32_t phase) {
    return all_pass(next_partner_, slices_.groups(), [&](int g) {
      return g == slices_.group() || ctx.stage_reached(slices_.partner(g), phase);
    });
  }

  bool members_at(CallContext auto& ctx, std::uint32_t phase) {
    return all_pass(next_member_, slices_.members(), [&](int i) {
      return i == slices_.number() || ctx.stage_reached(slices_.member(i), phase);
    });
  }

  void combine_within(CallContext auto& ctx, const Call& c) {
    const std::size_t size = c.reducer.size;
    for_each_block(
        slices_.slice(slices_.number(), c.count, size), size, [&](std::size_t at, std::size_t n) {
          combine_in_order(ctx, c.out + at, slices_.members(), n,
                           [&](int i) { return input_of(ctx, c, slices_.member(i)) + at; });
        });
  }

  void combine_across(CallContext auto& ctx, const Call& c) {
    const std::size_t size = c.reducer.size;
    for_each_block(slices_.share(slices_.group(), slices_.number(), c.count, size), size,
                   [&](std::size_t at, std::size_t n) {
                     combine_in_order(ctx, c.out + at, slices_.groups(), n, [&](int g) {
                       return output_of(ctx, c, slices_.partner(g)) + at;
                     });
                     give_to_group(ctx, at, c.out + at, n * size);
                   });
  }

  void hand_out(CallContext auto& ctx, const Call& c) {
    const std::size_t size = c.reducer.size;
    for (int g = 0; g < slices_.groups(); ++g) {
      if (g == slices_.group()) continue;
      const std::byte* const theirs = output_of(ctx, c, slices_.partner(g));
      for_each_block(slices_.share(g, slices_.number(), c.count, size), size,
                     [&](std::size_t at, std::size_t n) {
                       std::byte* const home = streams_ ? ctx.scratch(0) : c.out + at;
                       ctx.read(home, theirs + at, n * size);
                       if (streams_) ctx.stream(c.out + at, home, n * size);
                       give_to_group(ctx, at, home, n * size);
                     });
    }
  }

  /// Copies n bytes to the outputs of the others of this rank's group, `at` bytes into each.
  void give_to_group(CallContext auto& ctx, std::size_t at, const std::byte* from, std::size_t n) {
    for (int i = 0; i < slices_.members(); ++i) {
      if (i == slices_.number()) continue;
      std::byte* const to = ctx.peers().see(ctx.exposed_by(slices_.member(i)).out) + at;
      streams_ ? ctx.stream(to, from, n) : ctx.write(to, from, n);
    }
  }

  static const std::byte* input_of(CallContext auto& ctx, const Call& c, int r) {
    return r == ctx.rank() ? c.in : ctx.peers().see(ctx.exposed_by(r).in);
  }
  static const std::byte* output_of(CallContext auto& ctx, const Call& c, int r) {
    return r == ctx.rank() ? c.out : ctx.peers().see(ctx.exposed_by(r).out);
  }

  TwoLevelSlices slices_;
  std::uint32_t phase_ = 0;  ///< phases that this rank has done, as its second counter says
  // Where the waits stopped.
  int next_partner_ = 0;
  int next_member_ = 0;
  bool streams_;  ///< results go past the caches
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
