// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/schedule_traits.hpp>
#include <papcoll/topology/machine.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Lays positions along a machine by what they send each other.
///
/// Phases: the places are taken depth first. For each, of the positions that are left, the one that
///   exchanges most with those already placed in the innermost group that is still open (the L3,
///   then the NUMA domain, and so on outwards); of several, the one that leaves least traffic
///   outside, then the one with the latest exchange.
/// Cost: O(A·L·log P) for A pairs of positions that exchange and L levels.
/// Prefer it where no mapping hint is known. It keeps the branches of trees, and the rows of grids,
///   together.
/// Limits: greedy. The far-leaf binomial and two trees are where SCOTCH finds better ones.
///
///     P = 4, two ranks a node; 0 and 2 talk most, then 1 and 3, then 0 and 1
///     place      node 0            node 1
///     position   0, then 2         1 (it talks to 0), then 3
///
/// Source: the greedy frame of B. Kitor, thesis, ch. 4, whose reference is one position; ours is
/// every open group.
class GreedyMapper {
 public:
  GreedyMapper(const Traffic& traffic, const Machine& machine)
      : machine_(machine),
        levels_(machine.depth() - 1),  // cores are no groups
        near_(static_cast<std::size_t>(traffic.size()) * static_cast<std::size_t>(levels_)),
        seen_in_(near_.size()),
        talked_to_(static_cast<std::size_t>(levels_)),
        positions_(static_cast<std::size_t>(traffic.size())) {
    open_.resize(static_cast<std::size_t>(levels_), 1);
    join(traffic);
  }

  /// The positions for places, the ranks in depth-first order: position result[i] is played by
  /// places[i]. Position 0 is at the first.
  std::vector<int> grow(std::span<const int> places) {
    std::vector<int> result;
    result.reserve(places.size());
    std::size_t next_free = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (i != 0) close_groups(places[i - 1], places[i]);
      int p = i == 0 ? 0 : take_nearest();
      if (p < 0) {  // none talks to those that are placed
        while (positions_[next_free].placed) ++next_free;
        p = static_cast<int>(next_free);
      }
      positions_[static_cast<std::size_t>(p)].placed = true;
      result.push_back(p);
      add_traffic_of(p, static_cast<std::uint32_t>(i) + 1);
    }
    return result;
  }

 private:
  struct Neighbour {
    int position;
    float share;
  };
  static constexpr int outside_heap = -1;
  struct Position {
    std::uint32_t first = 0;  ///< of its neighbours
    float outside = 0;        ///< what it sends or is sent by positions that are not placed
    std::uint32_t touched = 0;
    int at = outside_heap;  ///< in the heap
    bool placed = false;
  };
  void join(const Traffic& traffic) {
    detail::Vector<std::uint32_t> count(positions_.size() + 1);
    for (const Traffic::Arc& a : traffic.arcs()) {
      ++count[static_cast<std::size_t>(a.from)];
      ++count[static_cast<std::size_t>(a.to)];
    }
    std::uint32_t all = 0;
    for (std::size_t p = 0; p < positions_.size(); ++p) {
      positions_[p].first = all;
      all += count[p];
      count[p] = positions_[p].first;
    }
    end_ = all;
    neighbours_.resize(all);
    for (const Traffic::Arc& a : traffic.arcs()) {
      neighbours_[count[static_cast<std::size_t>(a.from)]++] = {a.to, a.share};
      neighbours_[count[static_cast<std::size_t>(a.to)]++] = {a.from, a.share};
      positions_[static_cast<std::size_t>(a.from)].outside += a.share;
      positions_[static_cast<std::size_t>(a.to)].outside += a.share;
    }
  }

  /// Returns what a position sends or is sent by those placed in the open group of a level.
  float near(std::size_t p, int level) const noexcept {
    const std::size_t i = p * static_cast<std::size_t>(levels_) + static_cast<std::size_t>(level);
    return seen_in_[i] == open_[static_cast<std::size_t>(level)] ? near_[i] : 0;
  }

  bool better(int a, int b) const noexcept {
    const auto x = static_cast<std::size_t>(a);
    const auto y = static_cast<std::size_t>(b);
    for (int level = levels_ - 1; level >= 0; --level) {
      const float near_x = near(x, level);
      const float near_y = near(y, level);
      if (near_x != near_y) return near_x > near_y;
    }
    const Position& px = positions_[x];
    const Position& py = positions_[y];
    if (px.outside != py.outside) return px.outside < py.outside;
    if (px.touched != py.touched) return px.touched > py.touched;
    return a < b;
  }

  /// Groups in which the next place is not are full, or left. Candidates that talk to them are
  /// worse then, all others as good as before: the heap is mended from below.
  void close_groups(int before, int next) {
    const int together = machine_.together(before, next);
    if (together >= levels_) return;
    detail::Vector<int>& worse = talked_to_[static_cast<std::size_t>(together)];
    worse.erase_if([this](int p) { return at_of(p) == outside_heap; });
    for (int& p : worse) p = at_of(p);
    detail::heap_sort(worse.data(), worse.size(), [](int a, int b) { return a > b; });
    for (int level = together; level < levels_; ++level) ++open_[static_cast<std::size_t>(level)];
    for (const int at : worse) sift_down(static_cast<std::size_t>(at));
    for (int level = together; level < levels_; ++level) {
      talked_to_[static_cast<std::size_t>(level)].clear();
    }
  }

  int at_of(int p) const noexcept { return positions_[static_cast<std::size_t>(p)].at; }

  /// −1: none talks to those that are placed.
  int take_nearest() {
    if (heap_.empty()) return -1;
    const int best = heap_.front();
    const int last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) {
      put(0, last);
      sift_down(0);
    }
    positions_[static_cast<std::size_t>(best)].at = outside_heap;
    return best;
  }

  // A binary heap that knows where each position is in it, since candidates become better.
  void put(std::size_t at, int p) noexcept {
    heap_[at] = p;
    positions_[static_cast<std::size_t>(p)].at = static_cast<int>(at);
  }
  void sift_up(std::size_t at) noexcept {
    const int p = heap_[at];
    for (; at > 0 && better(p, heap_[(at - 1) / 2]); at = (at - 1) / 2)
      put(at, heap_[(at - 1) / 2]);
    put(at, p);
  }
  void sift_down(std::size_t at) noexcept {
    const int p = heap_[at];
    for (std::size_t child = 2 * at + 1; child < heap_.size(); child = 2 * at + 1) {
      if (child + 1 < heap_.size() && better(heap_[child + 1], heap_[child])) ++child;
      if (!better(heap_[child], p)) break;
      put(at, heap_[child]);
      at = child;
    }
    put(at, p);
  }

  void add_traffic_of(int p, std::uint32_t now) {
    const auto placed = static_cast<std::size_t>(p);
    const std::uint32_t end = placed + 1 < positions_.size() ? positions_[placed + 1].first : end_;
    for (std::uint32_t i = positions_[placed].first; i < end; ++i) {
      const Neighbour& n = neighbours_[i];
      const auto q = static_cast<std::size_t>(n.position);
      Position& other = positions_[q];
      if (other.placed) continue;
      for (int level = 0; level < levels_; ++level) {
        const auto l = static_cast<std::size_t>(level);
        const std::size_t at = q * static_cast<std::size_t>(levels_) + l;
        if (seen_in_[at] != open_[l]) {
          seen_in_[at] = open_[l];
          near_[at] = 0;
          talked_to_[l].push_back(n.position);
        }
        near_[at] += n.share;
      }
      other.outside -= n.share;
      other.touched = now;
      if (other.at == outside_heap) {
        other.at = static_cast<int>(heap_.size());
        heap_.push_back(n.position);
      }
      sift_up(static_cast<std::size_t>(other.at));
    }
  }

  const Machine& machine_;
  int levels_;
  detail::Vector<float> near_;             ///< by position, then level
  detail::Vector<std::uint32_t> seen_in_;  ///< the group for which near_ counts
  detail::Vector<std::uint32_t> open_;     ///< by level: the number of its open group
  detail::Vector<detail::Vector<int>>
      talked_to_;  ///< by level: who talks to those of the open group
  detail::Vector<Position> positions_;
  detail::Vector<Neighbour> neighbours_;
  std::uint32_t end_ = 0;
  std::vector<int> heap_;  ///< positions that were talked to and are not placed, the best first
};

}  // namespace papcoll::inline PAPCOLL_ABI
