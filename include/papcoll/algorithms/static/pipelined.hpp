// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Schedules in segments: PipelinedChain, PipelinedBinaryTree, SegmentedRing.

#include <papcoll/algorithms/static/binary_tree.hpp>
#include <papcoll/algorithms/static/chain.hpp>
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// How a schedule is called and cut when it is pipelined. A specialisation for S has the members
/// `name` and `sentence` of the pipelined schedule, and `messages(size)`: into how many messages S
/// cuts its vector by itself.
template <StaticSchedule S> struct PipelinedTraits;

/// A schedule run on one segment of the vector after the other, so that a position passes a segment
/// on while the next one comes in.
///
/// Phases: those of S, for each segment; of as many segments at once as a PlanRun keeps in flight.
/// Cost: a way of L messages for n segments takes (L + n − 1) times what one segment takes, rather
///   than L times the whole vector. The best segment is about √(αm / ((L−1)β)) bytes.
/// Prefer it for vectors of many segments and long ways (PipelinedChain, PipelinedBinaryTree), or
///   where segments stay in a cache (SegmentedRing).
/// Limits: one α a segment, so short vectors want no segments.
///
///     S = Chain, bcast of segments a b c, P = 4
///                  0             1             2             3
///     step 1       abc ──a──→
///     step 2       abc ──b──→    a ──a──→
///     step 3       abc ──c──→    ab ──b──→     a ──a──→
///     step 4                     abc ──c──→    ab ──b──→     a
///     step 5                                   abc ──c──→    ab
///     step 6                                                 abc
///
/// Source: Pješivac-Grbović et al., "Performance Analysis of MPI Collective Operations", Cluster
/// Computing 10(2), 2007.
template <StaticSchedule S> struct Pipelined {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = PipelinedTraits<S>::name;
  static constexpr std::string_view sentence = PipelinedTraits<S>::sentence;
  static constexpr bool commutative_only = S::commutative_only;

  static constexpr std::array parameters{Parameter{"bytes of a segment", "65536", 1}};

  /// Bytes of a segment. The default is what the formula above gives for 2 MB among 8 in a chain,
  /// with α = 2 µs and β = 0.1 ns: √(2 µs · 2 MB / (6 · 0.1 ns)) = 82 KB.
  std::size_t segment_bytes = std::size_t{64} * 1024;

  std::string arguments() const {
    return *this == Pipelined{} ? "" : std::to_string(segment_bytes);
  }
  static Pipelined parse(std::string_view arguments) {
    return {.segment_bytes = parse_bytes(name, parameters[0], arguments)};
  }

  std::size_t segment(int size, std::size_t element_size) const noexcept {
    const std::size_t elements = std::max<std::size_t>(1, segment_bytes / element_size);
    return elements * static_cast<std::size_t>(PipelinedTraits<S>::messages(size));
  }

  /// Writes the steps of S, segment by segment.
  template <class Tag>
  requires Emits<S, Tag> &&(is_elementwise(Tag::value)) void emit(Tag tag, auto& b) const {
    b.in_segments(segment(b.size(), b.element_size()), [tag](auto& one) { S{}.emit(tag, one); });
  }

  static MappingHint mapping_hint(Collective c, int size) {
    return AnySchedule::of<S>().mapping_hint(c, size);
  }
  static void traffic(Collective c, auto& t) { AnySchedule::of<S>().add_traffic(c, t); }

  friend bool operator==(const Pipelined&, const Pipelined&) = default;
};

template <> struct PipelinedTraits<Chain> {
  static constexpr std::string_view name = "PipelinedChain";
  static constexpr std::string_view sentence =
      "Segments of the vector go down a chain, one behind the other.";
  static constexpr int messages(int /*size*/) noexcept { return 1; }
};

/// A chain that passes segments on while the next ones come in (see Pipelined for the picture).
///
/// Cost: with n segments of s bytes, bcast (P − 2 + n)(α + βs); reduce, scan and exscan the same
///   with each step α + βs + γs, or the larger of α + βs and γs where combining overlaps with
///   receiving.
/// Prefer it for reduce, bcast, scan and exscan of very long vectors: for n ≫ P it costs βm, the
///   least possible, and every link carries every byte once.
/// Limits: P − 1 steps until the last position has its first segment, so many positions want
///   PipelinedBinaryTree. Works for operators that do not commute.
using PipelinedChain = Pipelined<Chain>;
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<PipelinedChain>() noexcept)

template <> struct PipelinedTraits<BinaryTree> {
  static constexpr std::string_view name = "PipelinedBinaryTree";
  static constexpr std::string_view sentence =
      "Segments of the vector go along a binary tree, one behind the other.";
  static constexpr int messages(int /*size*/) noexcept { return 1; }
};

/// A binary tree that passes segments on while the next ones come in.
///
/// Cost: with d = ⌊log₂ P⌋ levels and n segments of s bytes, bcast 2(d − 1 + n)(α + βs), since
///   every segment is sent twice; reduce 2(d − 1 + n)(α + βs + γs); allreduce the sum, of which
///   segments on their way down overlap with others on their way up.
/// Prefer it where the vector is long, but P too large for PipelinedChain: n < P − 2d.
/// Limits: half of the bandwidth at best. Works for operators that do not commute.
///
///     bcast of segments a b, P = 3      0              1       2
///     step 1                            a→1
///     step 2                            a→2            a
///     step 3                            b→1            a       a
///     step 4                            b→2            ab      a
///     step 5                                           ab      ab
using PipelinedBinaryTree = Pipelined<BinaryTree>;
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<PipelinedBinaryTree>() noexcept)

template <> struct PipelinedTraits<Ring> {
  static constexpr std::string_view name = "SegmentedRing";
  static constexpr std::string_view sentence =
      "A ring in blocks of P segments: messages stay short, and combining overlaps with receiving.";
  static constexpr int messages(int size) noexcept { return size; }
};

/// Ring in blocks of P segments, so that each of its messages is one segment.
///
/// Phases: for each block a reduce-scatter and an allgather around the ring; while one block's
///   segments are combined, another's are on their way.
/// Cost: with n = ⌈m / (P·s)⌉ blocks of P segments of s bytes, and combining fully overlapped with
///   receiving, (P−1)(n·max(α + βs, γs) + min(α + βs, γs)) + (P−1)(nα + βm/P).
/// Prefer it to Ring where m/P is much larger than a cache, so that a segment is combined while it
///   is still in it, or where γ is close to β.
/// Limits: n times as many messages as Ring; the operator must commute.
///
///     P = 3, a vector of six segments; which of them is sent
///                                        0→1   1→2   2→0
///     first block, reduce-scatter         2     0     1
///                                         1     2     0        second block     0→1   1→2   2→0
///     first block, allgather              0     1     2        reduce-scatter    5     3     4
///                                         2     0     1                          4     5     3
///                                                              allgather         3     4     5
///                                                                                5     3     4
///
/// Source: allreduce "ring_segmented" of Open MPI; the cost with the overlap term corrected to keep
/// the bandwidth bound (P−1)/P·2βm.
using SegmentedRing = Pipelined<Ring>;
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<SegmentedRing>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
