#pragma once

#include <papcoll/algorithms/static/pipelined.hpp>
#include <papcoll/algorithms/static/ring.hpp>

#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

template <>
struct PipelinedTraits<Ring> {
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
