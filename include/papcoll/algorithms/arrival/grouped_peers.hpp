#pragma once

#include <papcoll/algorithms/arrival/two_level_slices.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/node/site.hpp>
#include <papcoll/schedule/range.hpp>
#include <papcoll/topology/groups.hpp>

#include <cstddef>
#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI::detail {

// GroupedPeers: PeerSlices' allreduce in two levels, where ranks are in groups
// ----------------------------------------------------------------------------
// Phases   All have come, and see all inputs and outputs; G groups of k ranks, P = G·k; see
//          TwoLevelSlices. Each rank
//          1. combines its slice of its group's inputs, and leaves the partial result in its
//             output;
//          2. combines its share of its slice from its own and its partners' outputs, over its own
//             partial result of the share, and writes it to the outputs of its group;
//          3. copies the other shares of its slice from its partners' outputs to those of its
//             group.
//          It leaves when its group and its partners have done so.
// Cost     Four flags. A rank combines n·(P−1)/P bytes and writes n/k of partial results and n of
//          results, n/k more than in one level: where a slice is more than a cache holds, the
//          partial result goes through memory.
//          While combining, all ranks together read (G−1)·n bytes from other groups, in one level
//          P·(1−1/G)·n = k·(G−1)·n. Of the results they read (G−1)·n bytes from other groups and
//          write none there, where in one level they write k·(G−1)·n: no cache helps with those.
// Prefer   What PeerSlices is taken for, where memory of another group is farther than that of the
//          own one.
// Limits   Groups of one size, 2 ranks or more; see groups_of_two_levels(). The message is not cut
//          in chunks: the phases of a rank do not overlap.
// Contract Reproducible: the bits depend on the groups, and on no arrival.
//
//              within groups               across: x | y, the shares of slice 0
//         A0   a0∘a1 of slice 0 ┬ A0: x to A0 and A1   ┬ A0: y from B0 to A0 and A1
//         B0   b0∘b1 of slice 0 ┴ B0: y to B0 and B1   ┴ B0: x from A0 to B0 and B1
//         A1   …                                         the same with slice 1
//         B1   …
//
// Why partial results may lie in outputs, in place, too: slice i of any buffer, input or output, is
// read and written by the owners of slice i alone, except by the buffer's user. In phase 1 an owner
// reads slice i of its group's inputs only; of these its own output may be one, and nobody else
// reads that. In phase 2 it writes its share of slice i to outputs of its group, which may be
// inputs: it alone had read them, in phase 1. Its own output is the one where others look for its
// partial result, and at this share none does. In phase 3 it writes a partner's share: the partner
// has raised its flag, and so has read that share of this rank's partial result.
//
// Source   M. Bayatpour et al., "Scalable reduction collectives with data partitioning-based
//          multi-leader design", SC 2017, for combining in two levels; J. M. Hashmi et al.,
//          "Designing efficient shared address space reduction collectives for multi-/many-cores",
//          IPDPS 2018, for reading peers' buffers.

/// One call of one rank, which knows that all others have come with the same.
class GroupedPeers {
 public:
  template <Site S>
  GroupedPeers(const Groups& groups, const S& s, const Call& c)
      : slices_(groups, s.rank()), streams_(!c.in_place() && s.streams(2 * c.bytes())) {}

  /// Not inlined, so that calls in one level do not pay for it.
  template <Site S>
  [[gnu::noinline]] bool step(S& s, const Call& c) {
    if (phase_ == 0 && !run(s, [&] { combine_within(s, c); })) return false;
    if (phase_ == 1) {
      if (!partners_at(s, 1) || !run(s, [&] { combine_across(s, c); })) return false;
    }
    if (phase_ == 2) {
      if (!partners_at(s, 2) || !run(s, [&] { hand_out(s, c); })) return false;
    }
    return partners_at(s, 3) && members_at(s, 3);
  }

 private:
  /// Runs a phase on peers' buffers, and tells everyone; false if the call has failed.
  template <Site S, class F>
  bool run(S& s, F&& phase) {
    if (!s.begin_reading()) return false;
    phase();
    if (!s.end_reading()) return false;
    s.finish_stage(++phase_);
    return true;
  }

  template <Site S>
  bool partners_at(S& s, std::uint32_t phase) {
    for (; next_partner_ < slices_.groups(); ++next_partner_) {
      if (next_partner_ == slices_.group()) continue;
      if (!s.stage(slices_.partner(next_partner_), phase)) return false;
    }
    next_partner_ = phase < 3 ? 0 : slices_.groups();  // the last wait is not begun again
    return true;
  }

  template <Site S>
  bool members_at(S& s, std::uint32_t phase) {
    for (; next_member_ < slices_.members(); ++next_member_) {
      if (next_member_ == slices_.number()) continue;
      if (!s.stage(slices_.member(next_member_), phase)) return false;
    }
    return true;
  }

  template <Site S>
  void combine_within(S& s, const Call& c) {
    const std::size_t size = c.reducer.size;
    for_each_block(
        slices_.slice(slices_.number(), c.count, size), size, [&](std::size_t at, std::size_t n) {
          combine_in_order(s, c.out + at, slices_.members(), n,
                           [&](int i) { return input_of(s, c, slices_.member(i)) + at; });
        });
  }

  template <Site S>
  void combine_across(S& s, const Call& c) {
    const std::size_t size = c.reducer.size;
    for_each_block(slices_.share(slices_.group(), slices_.number(), c.count, size), size,
                   [&](std::size_t at, std::size_t n) {
                     combine_in_order(s, c.out + at, slices_.groups(), n, [&](int g) {
                       return output_of(s, c, slices_.partner(g)) + at;
                     });
                     give_to_group(s, at, c.out + at, n * size);
                   });
  }

  template <Site S>
  void hand_out(S& s, const Call& c) {
    const std::size_t size = c.reducer.size;
    for (int g = 0; g < slices_.groups(); ++g) {
      if (g == slices_.group()) continue;
      const std::byte* const theirs = output_of(s, c, slices_.partner(g));
      for_each_block(slices_.share(g, slices_.number(), c.count, size), size,
                     [&](std::size_t at, std::size_t n) {
                       std::byte* const home = streams_ ? s.scratch(0) : c.out + at;
                       s.read(home, theirs + at, n * size);
                       if (streams_) s.stream(c.out + at, home, n * size);
                       give_to_group(s, at, home, n * size);
                     });
    }
  }

  /// Copies n bytes to the outputs of the others of this rank's group, `at` bytes into each.
  template <Site S>
  void give_to_group(S& s, std::size_t at, const std::byte* from, std::size_t n) {
    for (int i = 0; i < slices_.members(); ++i) {
      if (i == slices_.number()) continue;
      std::byte* const to = s.peers().see(s.offer_of(slices_.member(i)).out) + at;
      streams_ ? s.stream(to, from, n) : s.write(to, from, n);
    }
  }

  template <Site S>
  static const std::byte* input_of(S& s, const Call& c, int r) {
    return r == s.rank() ? c.in : s.peers().see(s.offer_of(r).in);
  }
  template <Site S>
  static const std::byte* output_of(S& s, const Call& c, int r) {
    return r == s.rank() ? c.out : s.peers().see(s.offer_of(r).out);
  }

  TwoLevelSlices slices_;
  std::uint32_t phase_ = 0;  ///< phases that this rank has done, as its second counter says
  // Where the waits stopped.
  int next_partner_ = 0;
  int next_member_ = 0;
  bool streams_;  ///< results go past the caches
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
