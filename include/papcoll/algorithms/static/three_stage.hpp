// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>

namespace papcoll::inline PAPCOLL_ABI {

/// Groups whose ranks are near each other combine at their leaders, which alone exchange across the
/// slow links between groups; segments follow each other through the stages.
///
/// Phases, for each segment, and for as many at once as a PlanRun keeps in flight: (1) the members
///   of a group, one of `groups` even runs of neighbours, send to its first one, the leader, which
///   combines; (2) the leaders run RecursiveDoubling; (3) each sends the result back.
/// Cost: for n segments of s bytes and two groups of k, where a byte takes β within and β' between
///   groups, (n − 1)·max((k−1)βs, β's) + 2(k−1)(α + βs) + α + β's, and combining overlaps: the
///   slowest stage is always busy. m bytes cross between two groups each way; in a ring 2(P−1)/P·m.
/// Prefer it for long vectors where links between groups are slower than those within: GPUs on
///   several sockets, sockets of a node.
/// Limits: the leader's links carry (k−1)m each way, so that large groups want a ring; more than
///   two groups send log₂(groups)·m between them. Works for operators that do not commute.
///
///     P = 5, two groups, a vector of two segments x and y
///                         0       1       2   |   3       4
///     own                 ax ay   bx by   cx cy   dx dy   ex ey
///     1  to leaders: x    ←─── bx, cx ────    |   ←─ ex ──
///     2  leaders: x       abcx ←─────────────────→ dex              1  of y meanwhile
///     3  back: x          ── abcdex ─────→    |   ── abcdex →       2  of y meanwhile
///                                                                   3  of y
///
/// Source: Temuçin, Sojoodi, Alizadeh, Afsahi, "Efficient Multi-Path NVLink/PCIe-Aware UCX based
/// Collective Communication for Deep Learning", HOTI 2021, three-stage pipelined allreduce.
struct ThreeStage {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "ThreeStage";
  static constexpr std::string_view sentence =
      "Groups combine at leaders, who alone exchange, in segments: for slow links between groups.";
  static constexpr bool commutative_only = false;

  static constexpr std::array parameters{Parameter{"groups", "2", 1},
                                         Parameter{"bytes of a segment", "1048576", 1}};

  /// Runs of neighbouring positions; of fewer positions each is a group.
  int groups = 2;
  /// Bytes of a segment. A segment must take much longer than the α of each stage.
  std::size_t segment_bytes = std::size_t{1} << 20U;

  std::string arguments() const {
    if (*this == ThreeStage{}) return "";
    if (segment_bytes == ThreeStage{}.segment_bytes) return std::to_string(groups);
    return detail::joined({groups, ",", segment_bytes});
  }
  static ThreeStage parse(std::string_view arguments) {
    const auto parts = split_arguments(arguments);
    if (parts.size() > parameters.size()) {
      detail::throw_error<argument_error>(
          {"papcoll: ThreeStage needs a number of groups and the bytes of a segment, but was "
           "given '",
           arguments, "': write ThreeStage:2,1M"});
    }
    ThreeStage made;
    made.groups = parse_number<int>(name, parameters[0], parts[0]);
    if (parts.size() == 2) made.segment_bytes = parse_bytes(name, parameters[1], parts[1]);
    return made;
  }

  /// Elements of a block of the plan: one segment.
  std::size_t segment(int /*size*/, std::size_t element_size) const noexcept {
    return std::max<std::size_t>(1, segment_bytes / element_size);
  }

  void emit(Allreduce, auto& b) const {
    b.in_segments(segment(b.size(), b.element_size()),
                  [this](auto& one) { this->emit_segment(one); });
  }

  static constexpr MappingHint mapping_hint = MappingHint::consecutive;

  friend bool operator==(const ThreeStage&, const ThreeStage&) = default;

 private:
  void emit_segment(auto& b) const {
    const int count = std::min(groups, b.size());
    const auto run = [&](int g) { return part({0, static_cast<std::size_t>(b.size())}, g, count); };
    const auto first = [&](int g) { return static_cast<int>(run(g).lo); };
    int mine = 0;
    while (mine + 1 < count && first(mine + 1) <= b.position()) ++mine;
    Builder group = b.among(first(mine), 1, static_cast<int>(run(mine).size()));
    if (group.position() != 0) {
      group.send(0, group.whole());
      group.receive(0, group.whole());
      return;
    }
    for (int i = 1; i < group.size(); ++i) group.reduce(i, group.whole());
    Builder leaders = b.among(count, first);
    RecursiveDoubling{}.emit(Allreduce{}, leaders);
    for (int i = 1; i < group.size(); ++i) group.send(i, group.whole());
  }
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<ThreeStage>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
