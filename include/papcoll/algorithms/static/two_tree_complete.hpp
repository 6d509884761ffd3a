// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// TwoTreeComplete, and for the bcast of an allreduce ReorderedTwoTree.

#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/algorithms/static/shapes.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/function_ref.hpp>
#include <papcoll/schedule/range.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// How schedules of two trees cut a vector: in chunks, as many as go through one plan, and longer
/// vectors in blocks of so many. Who cuts for the same size and bytes cuts alike, so that a bcast
/// follows a reduce chunk by chunk.
struct TwoTreeChunks {
  std::size_t bytes = 0;  ///< of a chunk; 0: chosen for the vector

  // A pipeline of L steps and m/c chunks of c bytes takes (L + m/c)(o + c/r), for an overhead of o
  // a message and a rate of r: least with c = √(m·or/L). L = 2⌈log₂ P⌉.
  static constexpr std::size_t overhead_bytes = 1500;  ///< o·r: 0.375 µs at 4 GB/s
  static constexpr std::size_t least = 1024;
  static constexpr std::size_t most = 65536;  ///< stays in a cache
  /// The chunks of a plan, if they are as long as wanted; chunks of few elements may be half as
  /// many again.
  static constexpr std::size_t chunks_in_plan = 240;
  static constexpr int most_ramp = 8;

  /// Elements of a block among `size` positions.
  std::size_t segment(std::size_t element_size) const noexcept {
    constexpr std::size_t longest = std::numeric_limits<std::size_t>::max() / chunks_in_plan;
    const std::size_t chunk = bytes == 0 ? most : std::min(bytes, longest);
    return std::max<std::size_t>(1, chunk * chunks_in_plan / element_size);
  }

  /// The chunks of a vector among `size` positions. The first and the last ones are shorter, so
  /// that the pipeline fills and drains in little time, and so that messages that share a port do
  /// not all end at once, after which it would be idle until the next ones begin: with 16 ranks in
  /// SMPI a bcast of 7 MB takes 1.25 times the bandwidth bound with equal chunks, 1.09 with these.
  struct Cut {
    Range whole;
    int count = 0;  ///< some of them may be empty
    std::size_t longest = 0;
    int ramp = 1;

    Range operator[](int i) const noexcept { return {bound(i), bound(i + 1)}; }

   private:
    // In units of which the i-th chunk has min(i + 1, count − i, ramp).
    std::size_t units(int chunks) const noexcept {
      const auto r = static_cast<std::size_t>(ramp);
      const auto n = static_cast<std::size_t>(chunks);
      const std::size_t left = static_cast<std::size_t>(count) - n;
      if (n <= r) return n * (n + 1) / 2;
      if (left >= r) return r * (r + 1) / 2 + (n - r) * r;
      return r * (static_cast<std::size_t>(count) - r + 1) - left * (left + 1) / 2;
    }
    std::size_t bound(int i) const noexcept {
      const std::size_t all = units(count);
      const std::size_t before = units(i);
      return whole.lo + whole.size() / all * before + whole.size() % all * before / all;
    }
  };

  Cut cut(Range whole, std::size_t element_size, int size) const noexcept {
    Cut c{whole};
    if (whole.empty()) return c;
    c.longest = std::max<std::size_t>(1, chosen(whole.size() * element_size, size) / element_size);
    const std::size_t rest = whole.size() % c.longest == 0 ? 0 : 1;
    const auto full = static_cast<int>(whole.size() / c.longest + rest);
    c.ramp = std::min(full, most_ramp);
    c.count = full + c.ramp - 1;
    return c;
  }

  /// Messages in flight of a pair and direction: enough that the next ones are there when one has
  /// been sent, few enough that the first of them is not held up by the last. `least` of them in a
  /// bcast, which has nothing else to do, and in a reduce, which waits for the processor.
  static constexpr std::uint32_t least_in_bcast = 4;
  static constexpr std::uint32_t least_in_reduce = 2;
  static constexpr std::uint32_t in_flight(std::size_t chunk, std::uint32_t fewest) noexcept {
    constexpr std::size_t wanted = 32768;
    return static_cast<std::uint32_t>(
        std::clamp<std::size_t>(wanted / std::max<std::size_t>(1, chunk), fewest, 8));
  }

  friend bool operator==(const TwoTreeChunks&, const TwoTreeChunks&) = default;

 private:
  std::size_t chosen(std::size_t vector_bytes, int size) const noexcept {
    if (bytes != 0) return bytes;
    const auto steps = static_cast<std::size_t>(2 * std::max(1, doubling_rounds(size)));
    const double square = static_cast<double>(vector_bytes) * static_cast<double>(overhead_bytes) /
                          static_cast<double>(steps);
    const auto best = static_cast<std::size_t>(math::sqrt(square));
    const std::size_t fits = (vector_bytes + chunks_in_plan - 1) / chunks_in_plan;
    return std::max(std::clamp(best, least, most), fits);
  }
};

namespace detail {

/// A complete binary tree over positions 1…size−1, whose root hangs from position 0. Nodes are
/// numbered by level, as in a heap: node h has the parent ⌊h/2⌋, node 0 being position 0, and the
/// children 2h and 2h+1. Which positions the nodes are goes around the circle of 1…size−1: node 1
/// is `first`, and the next is `step` (1 or −1) further.
///
///     size 8, first 1, step 1            size 8, first 7, step −1
///     0 ── 1 ─┬─ 2 ─┬─ 4                 0 ── 7 ─┬─ 6 ─┬─ 4
///             │     └─ 5                         │     └─ 3
///             └─ 3 ─┬─ 6                         └─ 5 ─┬─ 2
///                   └─ 7                               └─ 1
struct HeapTree {
  int size;
  int first;
  int step;

  /// −1 for position 0.
  constexpr int parent(int position) const noexcept {
    return position == 0 ? -1 : position_of(node_of(position) / 2);
  }

  /// Calls f(child) for each of the position's children, the one with more below it first.
  void for_children_down(int position, FunctionRef<void(int)> f) const {
    const long long node = node_of(position);
    if (node == 0) {
      if (size > 1) f(position_of(1));
      return;
    }
    for (long long child = 2 * node; child <= 2 * node + 1 && child < size; ++child) {
      f(position_of(static_cast<int>(child)));
    }
  }

  /// Calls f for the children of a position, the one with the smaller subtree first.
  void for_children_up(int position, FunctionRef<void(int)> f) const {
    const long long node = node_of(position);
    if (node == 0) return for_children_down(position, f);
    for (long long child = 2 * node + 1; child >= 2 * node; --child) {
      if (child < size) f(position_of(static_cast<int>(child)));
    }
  }

 private:
  constexpr int position_of(int node) const noexcept {
    return node == 0 ? 0 : 1 + around(static_cast<long long>(first) - 1 + step * (node - 1LL));
  }
  constexpr int node_of(int position) const noexcept {
    return position == 0 ? 0 : 1 + around(step * (static_cast<long long>(position) - first));
  }
  constexpr int around(long long i) const noexcept {
    const int n = size - 1;
    return static_cast<int>((i % n + n) % n);
  }
};

/// The trees of odd chunks (the first, the third…) and of even ones.
using HeapTrees = std::array<HeapTree, 2>;

/// Calls step(flow, tree, chunk) for each chunk, in a flow.
void for_chunks(const HeapTrees& trees, const TwoTreeChunks& chunks, std::uint32_t least_in_flight,
                const auto& b, auto&& step) {
  const auto cut = chunks.cut(b.whole(), b.element_size(), b.size());
  const std::size_t bytes = cut.longest * b.element_size();
  Builder flow = b.flow(TwoTreeChunks::in_flight(bytes, least_in_flight));
  for (int i = 0; i < cut.count; ++i) step(flow, trees[static_cast<std::size_t>(i % 2)], cut[i]);
}

inline void bcast_along(const HeapTrees& trees, const TwoTreeChunks& chunks, auto& b) {
  for_chunks(trees, chunks, TwoTreeChunks::least_in_bcast, b,
             [](auto& flow, const HeapTree& tree, Range r) { bcast_down(flow, tree, r); });
}

/// Half of the vector goes along each of two trees, of an allreduce up and down.
/// parent(tree, p): in which a position p ≥ 1 hangs.
inline void add_tree_traffic(Collective c, Traffic& t, FunctionRef<int(int, int)> parent) {
  for (int tree = 0; tree < 2; ++tree) {
    for (int p = 1; p < t.size(); ++p) {
      if (c != Collective::bcast) t.add(p, parent(tree, p), 0.5);
      if (c != Collective::reduce) t.add(parent(tree, p), p, 0.5);
    }
  }
}
inline void add_tree_traffic(const HeapTrees& trees, Collective c, Traffic& t) {
  add_tree_traffic(
      c, t, [&](int tree, int p) { return trees[static_cast<std::size_t>(tree)].parent(p); });
}

}  // namespace detail

/// Two complete binary trees, of which one has odd chunks and the other even ones. Positions that
/// have children in one are leaves in the other, so that all use their links in both directions.
///
/// Phases: reduce up both trees, bcast down both; allreduce both, where a chunk goes down while
///   later ones still come up. Nothing is synchronised: a chunk moves on as soon as it is there.
/// Cost: with d = ⌊log₂ P⌋ and n chunks of s bytes, bcast d(α + 2βs) + nβs, since a position gives
///   each chunk to two, but half of the chunks only; reduce d(α + βs + 2γs) + n·max(β, γ)s;
///   allreduce d(2α + 3βs + 2γs) + n·max(2β, γ)s. No α a chunk, since several are in flight.
/// Prefer it for long vectors among many positions, whatever their number: the full bandwidth in
///   ways of 2 log₂ P chunks, where PipelinedChain needs P and PipelinedBinaryTree has half of it.
/// Limits: commutative operators, since trees are numbered by level. Rabenseifner's allreduce
///   moves 2(P−1)/P of the vector each way where P is a power of two, this one 2 of it, but it
///   combines while it moves.
///
///     P = 6, bcast         0 ── 1 ─┬─ 2 ─┬─ 4        0 ── 5 ─┬─ 4 ─┬─ 2
///                                  │     └─ 5                │     └─ 1
///                                  └─ 3                      └─ 3
///     chunks               1, 3, 5 …                 2, 4, 6 …
///     2 sends              odd ones to 4 and 5       nothing
///     4 sends              nothing                   even ones to 2 and 1
///
/// Source: a pipeline without synchronisation along two trees as in P. Sanders, J. Speck, J. L.
/// Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
/// Computing 35(12), 2009.
struct TwoTreeComplete {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "TwoTreeComplete";
  static constexpr std::string_view sentence =
      "Odd chunks go along a complete binary tree, even ones along its mirror image.";
  static constexpr bool commutative_only = true;

  static constexpr std::array parameters{Parameter{"bytes of a chunk, 0: chosen", ""}};

  std::size_t chunk_bytes = 0;  ///< 0: chosen for each vector and number of positions

  std::string arguments() const { return chunk_bytes == 0 ? "" : std::to_string(chunk_bytes); }
  static TwoTreeComplete parse(std::string_view arguments) {
    return {.chunk_bytes = parse_bytes(name, parameters[0], arguments)};
  }

  std::size_t segment(int /*size*/, std::size_t element_size) const noexcept {
    return TwoTreeChunks{chunk_bytes}.segment(element_size);
  }

  static constexpr detail::HeapTrees trees(int size) noexcept {
    return {{{size, 1, 1}, {size, size - 1, -1}}};
  }

  void emit(Reduce, auto& b) const {
    detail::for_chunks(
        trees(b.size()), {chunk_bytes}, TwoTreeChunks::least_in_reduce, b,
        [](auto& flow, const auto& tree, Range r) { detail::reduce_up(flow, tree, r); });
  }
  void emit(Bcast, auto& b) const { detail::bcast_along(trees(b.size()), {chunk_bytes}, b); }
  void emit(Allreduce, auto& b) const { emit(Reduce{}, b), emit(Bcast{}, b); }

  static void traffic(Collective c, auto& t) { detail::add_tree_traffic(trees(t.size()), c, t); }

  friend bool operator==(const TwoTreeComplete&, const TwoTreeComplete&) = default;
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<TwoTreeComplete>() noexcept)

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

  static void traffic(Collective c, auto& t) { detail::add_tree_traffic(trees(t.size()), c, t); }

  friend bool operator==(const ReorderedTwoTree&, const ReorderedTwoTree&) = default;
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<ReorderedTwoTree>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
