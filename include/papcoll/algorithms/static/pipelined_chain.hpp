#pragma once

#include <papcoll/algorithms/static/chain.hpp>
#include <papcoll/algorithms/static/pipelined.hpp>

#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

template <>
struct PipelinedTraits<Chain> {
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

}  // namespace papcoll::inline PAPCOLL_ABI
