#pragma once

#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>

namespace papcoll::inline PAPCOLL_ABI {

/// How a schedule is called and cut when it is pipelined. A specialisation for S has the members
/// `name` and `sentence` of the pipelined schedule, and `messages(size)`: into how many messages S
/// cuts its vector by itself.
template <StaticSchedule S>
struct PipelinedTraits;

/// A schedule run on one segment of the vector after the other, so that a position passes a segment
/// on while the next one comes in.
///
/// Phases: those of S, for each segment; of as many segments at once as the engine keeps in flight.
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
template <StaticSchedule S>
struct Pipelined {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = PipelinedTraits<S>::name;
  static constexpr std::string_view sentence = PipelinedTraits<S>::sentence;
  static constexpr bool commutative_only = S::commutative_only;

  static constexpr std::array parameters{Parameter{"bytes of a segment", "65536", 1}};

  /// Of a message. The default is what the formula above gives for 2 MB among 8 in a chain, with
  /// α = 2 µs and β = 0.1 ns: √(2 µs · 2 MB / (6 · 0.1 ns)) = 82 KB.
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

  template <class Tag>
  requires Emits<S, Tag> &&(is_elementwise(Tag::value)) void emit(Tag tag, auto& b) const {
    b.in_segments(segment(b.size(), b.element_size()), [tag](auto& one) { S{}.emit(tag, one); });
  }

  static MappingHint mapping_hint(Collective c, int size) {
    return AnySchedule::of<S>().mapping_hint(c, size);
  }
  static void traffic(Collective c, auto& t) { AnySchedule::of<S>().tell_traffic(c, t); }

  friend bool operator==(const Pipelined&, const Pipelined&) = default;
};

}  // namespace papcoll::inline PAPCOLL_ABI
