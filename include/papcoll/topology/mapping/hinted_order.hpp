// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/schedule/schedule_traits.hpp>

#include <bit>
#include <cstddef>
#include <numeric>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// The core of a power of two positions with their numbers' bits reversed, and after each of the
/// first ones the neighbour that is folded to it, as Fold has it.
[[gnu::cold]] inline std::vector<int> bit_reversed_positions(int size) {
  std::vector<int> all;
  all.reserve(static_cast<std::size_t>(size));
  const int core = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
  const int pairs = size - core;
  int v = 0;
  for (int i = 0; i < core; ++i) {
    all.push_back(v < pairs ? 2 * v : v + pairs);
    if (v < pairs) all.push_back(2 * v + 1);
    // The next number, counted from the highest bit down.
    int bit = core / 2;
    while (bit != 0 && (v & bit) != 0) {
      v ^= bit;
      bit /= 2;
    }
    v |= bit;
  }
  return all;
}

/// Node h of the heap and all below it, the child with less below it first.
[[gnu::cold]] inline void visit_heap(int node, int size, std::vector<int>& all) {
  all.push_back(node);
  const long long child = 2LL * node;
  if (child + 1 < size) visit_heap(static_cast<int>(child + 1), size, all);
  if (child < size) visit_heap(static_cast<int>(child), size, all);
}

}  // namespace detail

/// The positions in the order in which a mapping hint wants them along the machine. Position 0 is
/// the first. Of those by traffic, whose order depends on the machine, as they are.
[[gnu::cold]] inline std::vector<int> hinted_positions(MappingHint mapping_hint, int size) {
  if (mapping_hint == MappingHint::bit_reversed) return detail::bit_reversed_positions(size);
  std::vector<int> all;
  all.reserve(static_cast<std::size_t>(size));
  if (mapping_hint == MappingHint::depth_first) {
    all.push_back(0);
    if (size > 1) detail::visit_heap(1, size, all);
    return all;
  }
  all.resize(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace papcoll::inline PAPCOLL_ABI
