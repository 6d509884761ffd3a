#pragma once

#include <papcoll/algorithms/static/binary_tree.hpp>
#include <papcoll/algorithms/static/pipelined.hpp>

#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

template <>
struct PipelinedTraits<BinaryTree> {
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

}  // namespace papcoll::inline PAPCOLL_ABI
