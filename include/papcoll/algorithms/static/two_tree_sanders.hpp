// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/static/schedule_parameters.hpp>
#include <papcoll/algorithms/static/shapes.hpp>
#include <papcoll/algorithms/static/two_tree_complete.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// The two trees of Sanders, Speck and Träff over positions 1…size−1, under position 0. The first
/// is a binary tree numbered in order: what is left of a position has smaller numbers, what is
/// right of it larger ones, and odd numbers are leaves. The second is its mirror image or, if the
/// number of positions is odd, the first one shifted by one: who is inner in one is a leaf in the
/// other.
///
/// An edge's colour says in which rounds it is used, even or odd ones: a position receives on
/// edges of different colours from its two parents, and sends on edges of different colours to its
/// two children. first_round() is when a tree's first chunk can reach a position if each chunk
/// leaves position 0 two rounds after the one before.
///
///     size 7               0 ── 4 ─┬─ 2 ─┬─ 1          0 ── 3 ─┬─ 5 ─┬─ 6
///                                  │     └─ 3                  │     └─ 4
///                                  └─ 6 ─── 5                  └─ 1 ─── 2
///
/// The colouring walks along all edges, O(P).
class ColouredTrees {
 public:
  [[gnu::cold]] explicit ColouredTrees(int size) : n_(size - 1) {
    for (auto& nodes : nodes_) nodes.resize(static_cast<std::size_t>(size));
    for (const int tree : {0, 1}) {
      for (int p = 1; p <= n_; ++p) place(tree, p);
    }
    for (const int tree : {0, 1}) {
      for (int p = 1; p <= n_; ++p) colour_from({tree, p});
    }
  }

  /// Returns the parent of a position p ≥ 1 in a tree; position 0 has none.
  int parent(int tree, int p) const { return at({tree, p}).parent; }
  int colour(int tree, int p) const { return at({tree, p}).colour; }  ///< of the edge to its parent

  void for_children(int tree, int p, auto&& f) const {
    for (const int child : at({tree, p}).children) {
      if (child != 0) f(child);
    }
  }

  /// The round in which p ≥ 1 receives the tree's first chunk; of the edge's colour, modulo 2.
  [[gnu::cold]] int first_round(int tree, int p) const {
    const int above = parent(tree, p);
    const int earliest = above == 0 ? 0 : first_round(tree, above) + 1;
    return earliest + (earliest % 2 == colour(tree, p) ? 0 : 1);
  }

 private:
  struct Node {
    int parent = -1;
    int colour = -1;
    std::array<int, 2> children{};  ///< 0: none
  };
  struct Edge {
    int tree;
    int child;
  };

  Node& at(Edge e) {
    return nodes_[static_cast<std::size_t>(e.tree)][static_cast<std::size_t>(e.child)];
  }
  const Node& at(Edge e) const { return const_cast<ColouredTrees*>(this)->at(e); }

  int number(int tree, int p) const noexcept {
    if (tree == 0) return p;
    return n_ % 2 == 0 ? n_ + 1 - p : p % n_ + 1;
  }
  int position(int tree, int number) const noexcept {
    if (tree == 0 || number == 0) return number;
    return n_ % 2 == 0 ? n_ + 1 - number : (number + n_ - 2) % n_ + 1;
  }

  /// Finds who is above and below a position p ≥ 1.
  [[gnu::cold]] void place(int tree, int p) {
    Node& node = at({tree, p});
    int above = 0;
    int before = 0;  // the subtree has the numbers before + 1 … before + n
    int n = n_;
    while (true) {
      const int root = before + floor_power_of_two(n);
      const int left = root - before - 1;
      const int right = before + n - root;
      if (number(tree, p) == root) {
        node.parent = position(tree, above);
        if (left > 0) node.children[0] = position(tree, before + floor_power_of_two(left));
        if (right > 0) node.children[1] = position(tree, root + floor_power_of_two(right));
        if (above == 0) at({tree, 0}).children[0] = p;
        return;
      }
      above = root;
      n = number(tree, p) < root ? left : right;
      if (number(tree, p) > root) before = root;
    }
  }

  /// The other edge that its sender uses; child 0: there is none.
  Edge beside(Edge e) const {
    const int sender = at(e).parent;
    // Position 0 has one child in each tree, all others have both in the same.
    if (sender == 0) return {1 - e.tree, at({1 - e.tree, 0}).children[0]};
    const Node& node = at({e.tree, sender});
    return {e.tree, node.children[node.children[0] == e.child ? 1 : 0]};
  }

  /// Each edge has at most one other beside it at its sender, and one at its receiver: edges that
  /// must differ form paths and circles of even length, coloured in turn.
  [[gnu::cold]] void colour_from(Edge first) {
    Vector<Edge> open;
    auto paint = [&](Edge e, int colour) {
      if (e.child == 0 || at(e).colour >= 0) return;
      at(e).colour = colour;
      open.push_back(e);
    };
    paint(first, 0);
    while (!open.empty()) {
      const Edge e = open.back();
      open.pop_back();
      const int other = 1 - at(e).colour;
      paint({1 - e.tree, e.child}, other);
      paint(beside(e), other);
    }
  }

  int n_;
  std::array<Vector<Node>, 2> nodes_;  ///< by tree, then by position
};

}  // namespace detail

/// Two binary trees numbered in order, of which one has odd chunks and the other even ones. Inner
/// positions of one are leaves of the other, and a colouring of the edges says who sends to whom in
/// which round, so that each position sends one chunk and receives one in every round.
///
/// Phases: bcast down both trees, round by round; reduce is the bcast backwards; allreduce both,
///   where a chunk goes down while later ones still come up.
/// Cost: with rounds, d = ⌈log₂ P⌉ and n chunks of s bytes, bcast (2d + n)(α + βs), reduce
///   (2d + n)(α + βs + γs), allreduce (4d + n)(α + 2βs + γs). Where rounds do not wait for each
///   other, α and the smaller of β and γ are hidden behind the rest, as in TwoTreeComplete.
/// Prefer it to TwoTreeComplete where a position can drive one message at a time each way.
/// Limits: commutative operators. With rounds, who is late holds up all others in each.
///
/// The second parameter says whether a position begins a round only when its messages of the round
/// before are complete: TwoTreeSanders:4096,rounds. Without, a chunk moves on as soon as it is
/// there, and rounds are but the order in which messages are begun.
///
///     P = 5            0 ── 4 ─── 2 ─┬─ 1          0 ── 1 ─── 3 ─┬─ 4
///                                    └─ 3                        └─ 2
///     chunks           1, 3, 5 …                   2, 4, 6 …
///     even rounds      0→4, 2→1                    1→3, 3→2
///     odd rounds       4→2, 2→3                    0→1, 3→4
///
/// Source: P. Sanders, J. Speck, J. L. Träff, "Two-tree algorithms for full bandwidth broadcast,
/// reduction and scan", Parallel Computing 35(12), 2009.
struct TwoTreeSanders {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "TwoTreeSanders";
  static constexpr std::string_view sentence =
      "Odd and even chunks go along two trees whose edges are coloured: one message a round.";
  static constexpr bool commutative_only = true;

  static constexpr std::array parameters{
      Parameter{"bytes of a chunk, 0: chosen", ""},
      Parameter{"rounds", "free", 0, "free or rounds (one begins when the last is complete)"}};

  std::size_t chunk_bytes = 0;  ///< 0: chosen for each vector and number of positions
  bool synchronised = false;    ///< a round begins when the one before is complete

  std::string arguments() const {
    if (synchronised) return detail::joined({chunk_bytes, ",rounds"});
    return chunk_bytes == 0 ? "" : std::to_string(chunk_bytes);
  }
  static TwoTreeSanders parse(std::string_view arguments) {
    const auto given = split_arguments(arguments);
    const bool two = given.size() == 2;
    const auto is_word = [](std::string_view s) { return s == "rounds" || s == "free"; };
    if (is_word(given[0])) {
      detail::throw_error<argument_error>(
          {"papcoll: TwoTreeSanders needs the bytes of a chunk before '", given[0],
           "': write TwoTreeSanders:0,", given[0], ", where 0 has them chosen"});
    }
    if (given.size() > 2 || (two && !is_word(given[1]))) {
      detail::throw_error<argument_error>(
          {"papcoll: TwoTreeSanders needs a number of bytes and perhaps 'rounds' or "
           "'free', but was "
           "given '",
           arguments, "': write TwoTreeSanders:4096,rounds"});
    }
    return {.chunk_bytes = parse_bytes(name, parameters[0], given[0]),
            .synchronised = two && given[1] == "rounds"};
  }

  std::size_t segment(int /*size*/, std::size_t element_size) const noexcept {
    return TwoTreeChunks{chunk_bytes}.segment(element_size);
  }

  void emit(Bcast, auto& b) const {
    Steps steps{*this, TwoTreeChunks::least_in_bcast, b};
    for (int round = 0; round < steps.rounds; ++round) {
      steps.for_edges(round, [&](const Edge& e, int chunk, auto& flow) {
        const Range r = steps.cut[chunk];
        e.down ? flow.send(e.peer, r) : flow.receive(e.peer, r);
      });
    }
  }

  // Backwards in time, but not in the order of the chunks: the first is to be complete first.
  void emit(Reduce, auto& b) const {
    Steps steps{*this, TwoTreeChunks::least_in_reduce, b};
    for (int round = steps.rounds - 1; round >= 0; --round) {
      steps.for_edges(round, [&](const Edge& e, int chunk, auto& flow) {
        const int last = steps.cut.count - 1 - (steps.cut.count - 1 - e.tree) % 2;  // of the tree
        const Range r = steps.cut[last + e.tree - chunk];
        e.down ? flow.reduce(e.peer, r) : flow.send(e.peer, r);
      });
    }
  }

  void emit(Allreduce, auto& b) const { emit(Reduce{}, b), emit(Bcast{}, b); }

  static constexpr MappingHint mapping_hint =
      MappingHint::consecutive;  // both trees are numbered in order, or nearly so
  /// Half of the vector goes along each tree, of an allreduce up and down.
  static void traffic(Collective c, auto& t) {
    if (t.size() < 2) return;
    const detail::ColouredTrees trees{t.size()};
    detail::add_tree_traffic(c, t, [&](int tree, int p) { return trees.parent(tree, p); });
  }

  friend bool operator==(const TwoTreeSanders&, const TwoTreeSanders&) = default;

 private:
  /// One of the position's edges, as in the bcast.
  struct Edge {
    int tree;
    int peer;
    bool down;  ///< to a child
    int first;  ///< the round of the tree's first chunk
  };

  struct Steps {
    [[gnu::cold]] Steps(const TwoTreeSanders& s, std::uint32_t least_in_flight, const auto& b)
        : cut(TwoTreeChunks{s.chunk_bytes}.cut(b.whole(), b.element_size(), b.size())),
          flow(b),
          synchronised(s.synchronised) {
      if (cut.count == 0) return;
      flow = b.flow(TwoTreeChunks::in_flight(cut.longest * b.element_size(), least_in_flight));
      const detail::ColouredTrees trees{b.size()};
      const int me = b.position();
      for (int tree = 0; tree < 2; ++tree) {
        trees.for_children(tree, me, [&](int child) {
          edges.push_back({tree, child, true, trees.first_round(tree, child)});
        });
        if (me != 0) {
          edges.push_back({tree, trees.parent(tree, me), false, trees.first_round(tree, me)});
        }
      }
      // A tree's chunks are two apart, and so are the rounds of an edge.
      for (const Edge& e : edges) rounds = std::max(rounds, e.first + cut.count + 1);
    }

    /// Calls f(edge, chunk, flow) for what happens in a round.
    void for_edges(int round, auto&& f) {
      for (const Edge& e : edges) {
        const int chunk = round - e.first + e.tree;
        if (round < e.first || (round - e.first) % 2 != 0 || chunk >= cut.count) continue;
        f(e, chunk, flow);
      }
      if (synchronised) flow.end_round();
    }

    TwoTreeChunks::Cut cut;
    Builder flow;
    bool synchronised;
    detail::Vector<Edge> edges;
    int rounds = 0;
  };
};
PAPCOLL_COMPILE_ONCE(const ScheduleTable& detail::schedule_table<TwoTreeSanders>() noexcept)

}  // namespace papcoll::inline PAPCOLL_ABI
