#pragma once

#include <papcoll/algorithms/static/two_tree_complete.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// TwoTreeComplete's bcast with its trees numbered from the middle of the positions: for the bcast
/// of an allreduce, since who is a leaf in TwoTreeComplete's trees is done with the reduce first.
///
/// Phases, cost: those of TwoTreeComplete's bcast.
/// Prefer it as ReduceThenBcast:TwoTreeComplete,ReorderedTwoTree.
/// Limits: by itself, no better than TwoTreeComplete.
///
///     P = 7           0 ── 4 ─┬─ 5 ─┬─ 1          0 ── 3 ─┬─ 2 ─┬─ 6
///                             │     └─ 2                  │     └─ 5
///                             └─ 6 ─── 3                  └─ 1 ─── 4
///     chunks          1, 3, 5 …                   2, 4, 6 …
///
/// Source: as TwoTreeComplete. Where P is even, the second tree begins at P/2 − 1, since P/2 is
/// the first one's root.
struct ReorderedTwoTree {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "ReorderedTwoTree";
  static constexpr std::string_view sentence =
      "TwoTreeComplete's bcast, beginning with those who are done first when it has reduced.";
  static constexpr bool commutative_only = false;

  static constexpr std::array parameters{Parameter{"bytes of a chunk, 0: chosen", ""}};

  std::size_t chunk_bytes = 0;  ///< 0: chosen for each vector and number of positions

  std::string arguments() const { return chunk_bytes == 0 ? "" : std::to_string(chunk_bytes); }
  static ReorderedTwoTree parse(std::string_view arguments) {
    return {.chunk_bytes = parse_bytes(name, parameters[0], arguments)};
  }

  std::size_t segment(int /*size*/, std::size_t element_size) const noexcept {
    return TwoTreeChunks{chunk_bytes}.segment(element_size);
  }

  static constexpr detail::HeapTrees trees(int size) noexcept {
    const int up = (size + 1) / 2;
    const int down = size % 2 == 0 && size > 2 ? size / 2 - 1 : size / 2;
    return {{{size, up, 1}, {size, down, -1}}};
  }

  void emit(Bcast, auto& b) const { detail::bcast_along(trees(b.size()), {chunk_bytes}, b); }

  static void traffic(Collective c, auto& t) { detail::tell_traffic_along(trees(t.size()), c, t); }

  friend bool operator==(const ReorderedTwoTree&, const ReorderedTwoTree&) = default;
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<ReorderedTwoTree>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
