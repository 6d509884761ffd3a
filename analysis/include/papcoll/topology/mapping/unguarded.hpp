// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/schedule_traits.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/mapping/mapped_order.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// An order that is used whatever it costs, as those that map_positions() is compared with: its
/// verdict is mapped, and what it gains, or loses, is in the costs.
[[gnu::cold]] inline MappedOrder unguarded(const Traffic& traffic, const Machine& machine, int root,
                                           std::vector<int> ranks) {
  MappedOrder m;
  m.verdict = MappedOrder::Verdict::mapped;
  m.arranged = cost_of(traffic, machine, ranks);
  m.order = Order::permutation(std::move(ranks));
  const Order rotation = Order::rotation(machine.size(), root);
  std::vector<int> rotated(static_cast<std::size_t>(machine.size()));
  for (int p = 0; p < machine.size(); ++p) rotated[static_cast<std::size_t>(p)] = rotation.rank(p);
  m.in_rank_order = cost_of(traffic, machine, rotated);
  return m;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
