#pragma once

#include <papcoll/base/config.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// How a schedule's positions want to be laid along the machine, so that those that send each other
/// most are near: the ranks of the machine are taken depth first, and the positions in this order.
/// topology/mapping/hinted_order.hpp makes the sequences.
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

}  // namespace papcoll::inline PAPCOLL_ABI
