// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// A parameter of a schedule, as messages and listings show it.
struct Parameter {
  std::string_view name;      ///< with its unit: "radix", "bytes of a segment"
  std::string_view standard;  ///< the default as it is written; empty: chosen for each call
  std::size_t least = 0;      ///< of a whole number
  std::string_view values{};  ///< what may be written, if it is no whole number
};

/// How a schedule's positions want to be laid along the machine, so that those that send each other
/// most are near: the ranks of the machine are taken depth first, and the positions in this order.
/// hinted_positions() makes the sequences.
enum class MappingHint : unsigned char {
  by_traffic,  ///< as topology/mapping/greedy_mapping.hpp finds from what positions send each other
  /// In a tree of switches as by_traffic. In a network by hops as the ranks are: every distance
  /// carries as much, so an order that gathers what is near makes all ranks of a group send to one
  /// other group at a time, and that is slower than it looks where few links join the two.
  by_traffic_in_trees,
  consecutive,   ///< 0, 1, 2, …: neighbours exchange most, or subtrees are runs of positions
  bit_reversed,  ///< the numbers of the core with their bits reversed, each with the position that
                 ///< is folded to it: those at the largest distance exchange most
  depth_first,   ///< of a heap under position 0, as HeapTree has it; the smaller branch first
};

/// How much the positions of a schedule send each other in one call, as shares of the whole vector.
class Traffic {
 public:
  /// What one position sends another.
  struct Arc {
    int from;     ///< the sender
    int to;       ///< the receiver
    float share;  ///< of the whole vector; above 1 if parts of it go several times
  };

  /// Nothing is sent among so many positions.
  explicit Traffic(int size) : size_(size) {}

  /// Returns the number of positions.
  int size() const noexcept { return size_; }
  /// Adds to what `from` sends `to`. Successive calls for the same pair are one arc.
  [[gnu::cold]] void add(int from, int to, double share) {
    if (from == to || share == 0) return;
    if (!arcs_.empty() && arcs_.back().from == from && arcs_.back().to == to) {
      arcs_.back().share += static_cast<float>(share);
    } else {
      arcs_.push_back({from, to, static_cast<float>(share)});
    }
  }
  /// In the order of add(); there may be several from one position to another.
  std::span<const Arc> arcs() const noexcept { return {arcs_.data(), arcs_.size()}; }

 private:
  int size_;
  detail::Vector<Arc> arcs_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
