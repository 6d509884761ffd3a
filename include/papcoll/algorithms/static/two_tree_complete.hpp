#pragma once

#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/algorithms/static/tree_shapes.hpp>
#include <papcoll/algorithms/static/two_tree_chunks.hpp>
#include <papcoll/schedule/schedule.hpp>

namespace papcoll::inline PAPCOLL_ABI {

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

  /// The same, the one with less below it first.
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

/// Half of the vector goes along each of two trees, of an allreduce up and down. parent(tree, p): in
/// which a position p ≥ 1 hangs.
inline void tell_traffic_along(Collective c, Traffic& t, FunctionRef<int(int, int)> parent) {
  for (int tree = 0; tree < 2; ++tree) {
    for (int p = 1; p < t.size(); ++p) {
      if (c != Collective::bcast) t.add(p, parent(tree, p), 0.5);
      if (c != Collective::reduce) t.add(parent(tree, p), p, 0.5);
    }
  }
}
inline void tell_traffic_along(const HeapTrees& trees, Collective c, Traffic& t) {
  tell_traffic_along(
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

  static void traffic(Collective c, auto& t) { detail::tell_traffic_along(trees(t.size()), c, t); }

  friend bool operator==(const TwoTreeComplete&, const TwoTreeComplete&) = default;
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<TwoTreeComplete>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
