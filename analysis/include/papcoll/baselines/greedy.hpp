// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The heuristics that papcoll's orders are compared with. On request: papcoll.hpp does not include
// them.

#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/baselines/free_places.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/schedule/schedule_traits.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/mapping/mapped_order.hpp>
#include <papcoll/topology/mapping/read_traffic.hpp>
#include <papcoll/topology/mapping/unguarded.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Greedy placement: position 0 is at the root's place; each next position goes to the free place
/// that is nearest, by the machine's tree, to the place of its reference, a position that it
/// exchanges with and that is placed already. The sequence of positions, and their references, are
/// known for each algorithm.
///
/// Phases: one, on each rank alone, before the first call.
/// Cost: P places of about as many steps as the machine has levels; O(P · levels) memory.
/// Prefer it to nothing here: map_positions() knows each schedule's mapping hint, looks at what it
///   costs, and keeps rank order where that is better. This is what it is measured against.
/// Limits: five patterns of communication. What the order gains is not looked at: it may be worse
///   than rank order. Where P is no power of two, a position that is folded away is placed beside
///   the one that speaks for it, and where all whom the reference talks to are placed, the lowest
///   position that is not goes beside one it talks to; both are ours, the thesis is silent on them.
///
///     ring, 2 nodes of 2 cores, ranks by node (node 0: ranks 0, 2; node 1: 1, 3)
///     position 0 → rank 0            at the root's place
///     position 1 → rank 2            nearest to rank 0: its node
///     position 2 → rank 1            nothing is free there: the next node
///     position 3 → rank 3
///
/// Source: B. Kitor, thesis, chapter 4, "Topology Awareness".
class GreedyPlacement {
 public:
  GreedyPlacement(const Machine& machine, int root)
      : free_(machine, root), rank_of_(static_cast<std::size_t>(machine.size()), -1) {
    if (rank_of_.empty()) return;
    free_.take(root);
    rank_of_.front() = root;
  }

  int size() const noexcept { return static_cast<int>(rank_of_.size()); }
  bool is_placed(int position) const noexcept { return rank(position) >= 0; }

  void place(int position, int reference) {
    rank_of_[static_cast<std::size_t>(position)] = free_.take_nearest(rank(reference));
  }

  /// The ranks by position; all are placed.
  std::vector<int> ranks() && { return std::move(rank_of_); }

 private:
  int rank(int position) const noexcept { return rank_of_[static_cast<std::size_t>(position)]; }

  FreePlaces free_;
  std::vector<int> rank_of_;
};

namespace detail {

/// Places a hypercube's positions along masks: from the reference the first mask that leads to one
/// that is not placed. Every second position placed is the next reference.
inline void place_by_masks(GreedyPlacement& g, bool far_first) {
  if (g.size() < 2) return;
  const int core = static_cast<int>(std::bit_floor(static_cast<unsigned>(g.size())));
  const int pairs = g.size() - core;
  const int bits = static_cast<int>(std::bit_width(static_cast<unsigned>(core))) - 1;
  const auto first = [pairs](int v) { return v < pairs ? 2 * v : v + pairs; };
  const auto partner = [&](int v, bool placed) {
    for (int i = 0; i < bits; ++i) {
      const int other = v ^ (1 << (far_first ? bits - 1 - i : i));
      if (g.is_placed(first(other)) == placed) return other;
    }
    return -1;
  };
  const auto place_folded = [&](int v) {
    if (v < pairs) g.place(2 * v + 1, 2 * v);
  };
  place_folded(0);
  int reference = 0;
  int lowest = 0;
  for (int count = 1; count < core; ++count) {
    int next = partner(reference, false);
    if (next < 0) {
      // Who is not placed and talks to one that is: of a hypercube there always is one.
      while (g.is_placed(first(lowest))) ++lowest;
      for (next = lowest; g.is_placed(first(next)) || partner(next, true) < 0;) ++next;
      reference = partner(next, true);
    }
    g.place(first(next), first(reference));
    place_folded(next);
    if (count % 2 == 0) reference = next;
  }
}

/// Open MPI's binary tree below a position r: it has r + 2ʰ and r + 2ʰ⁺¹, h = ⌊log₂(r+1)⌋.
inline void place_below(GreedyPlacement& g, int r) {
  const long long step = std::bit_floor(static_cast<unsigned>(r) + 1U);
  for (const long long child : {r + 2 * step, r + step}) {  // the smaller side first
    if (child >= g.size()) continue;
    g.place(static_cast<int>(child), r);
    place_below(g, static_cast<int>(child));
  }
}

/// A k-nomial tree below a position, numbered as KNomialTree has it.
inline void place_k_nomial_below(GreedyPlacement& g, int p, int radix, long long end) {
  const auto for_children = [&](bool leaves) {
    for (long long w = 1; w < end; w *= radix) {
      for (long long child = p + w; child < g.size() && child < p + w * radix; child += w) {
        const bool is_leaf = w == 1 || child + 1 == g.size();
        if (is_leaf != leaves) continue;
        g.place(static_cast<int>(child), p);
        if (!is_leaf) place_k_nomial_below(g, static_cast<int>(child), radix, w);
      }
    }
  };
  for_children(true);
  for_children(false);
}

}  // namespace detail

/// Ring: position r + 1 beside r.
[[gnu::cold]] inline std::vector<int> greedy_ring(const Machine& machine, int root = 0) {
  GreedyPlacement g{machine, root};
  for (int p = 1; p < g.size(); ++p) g.place(p, p - 1);
  return std::move(g).ranks();
}

/// Recursive doubling: favours its last rounds, of the largest distance, which in an allgather
/// carry most.
[[gnu::cold]] inline std::vector<int> greedy_doubling(const Machine& machine, int root = 0) {
  GreedyPlacement g{machine, root};
  detail::place_by_masks(g, true);
  return std::move(g).ranks();
}

/// Rabenseifner's: favours the smallest distances, which carry most.
[[gnu::cold]] inline std::vector<int> greedy_rabenseifner(const Machine& machine, int root = 0) {
  GreedyPlacement g{machine, root};
  detail::place_by_masks(g, false);
  return std::move(g).ranks();
}

/// The binary tree as Open MPI numbers it, which no schedule of papcoll does.
[[gnu::cold]] inline std::vector<int> greedy_binary_tree(const Machine& machine, int root = 0) {
  GreedyPlacement g{machine, root};
  if (g.size() > 0) detail::place_below(g, 0);
  return std::move(g).ranks();
}

/// A k-nomial tree, radix k ≥ 2: leaves beside their parent, then the other subtrees, the smallest
/// first and each as a whole.
[[gnu::cold]] inline std::vector<int> greedy_k_nomial(const Machine& machine, int radix,
                                                      int root = 0) {
  GreedyPlacement g{machine, root};
  if (g.size() > 0) detail::place_k_nomial_below(g, 0, radix, g.size());
  return std::move(g).ranks();
}

/// The heuristic of the thesis for a schedule by its name, with which the thesis has one; nothing
/// for others, such as BinaryTree, which is numbered in another way than Open MPI's.
[[gnu::cold]] inline std::optional<std::vector<int>> greedy_order(const AnySchedule& schedule,
                                                                  const Machine& machine,
                                                                  int root = 0) {
  const std::string text{schedule.name()};
  const std::string_view all = text;
  const std::string_view name = all.substr(0, all.find(':'));
  const std::string_view arguments = all.substr(std::min(name.size() + 1, all.size()));
  const auto is_one_of = [name](auto... names) { return ((name == names) || ...); };
  if (is_one_of("Ring", "SegmentedRing")) return greedy_ring(machine, root);
  if (name == "ScatterAllgather") {
    return arguments.empty() ? greedy_ring(machine, root) : greedy_doubling(machine, root);
  }
  if (name == "RecursiveDoubling") return greedy_doubling(machine, root);
  if (is_one_of("Rabenseifner", "ReduceScatterGather")) return greedy_rabenseifner(machine, root);
  if (name == "Binomial") return greedy_k_nomial(machine, 2, root);
  if (name == "KNomial") {
    int radix = 4;
    std::from_chars(arguments.data(), arguments.data() + arguments.size(), radix);
    return greedy_k_nomial(machine, radix, root);
  }
  return std::nullopt;
}

/// As map_positions(), by greedy_order(), for OrderSource::machine(): used whatever it costs. Rank
/// order where the thesis has no heuristic.
[[gnu::cold]] inline MappedOrder map_greedily(const AnySchedule& schedule, Collective c,
                                              const Machine& machine, int root) {
  MappedOrder m;
  m.order = Order::rotation(machine.size(), root);
  const std::optional<Traffic> traffic = traffic_of(schedule, c, machine.size());
  if (!traffic) {
    m.verdict = MappedOrder::Verdict::all_talk_to_all;
    return m;
  }
  std::optional<std::vector<int>> ranks = greedy_order(schedule, machine, root);
  return ranks ? detail::unguarded(*traffic, machine, root, *std::move(ranks)) : m;
}

}  // namespace papcoll::inline PAPCOLL_ABI
