// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What an order costs, counted anew: nothing of topology/mapping/mapped_order.hpp.

#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/schedule_traits.hpp>
#include <papcoll/topology/machine.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

/// Bytes × hops and bytes on the heaviest link, of nodes and leaf switches whose links are alike.
struct CountedCosts {
  double byte_hops = 0;
  double heaviest = 0;

  CountedCosts(const papcoll::Traffic& traffic, const papcoll::Machine& m,
               const papcoll::Order& order) {
    const papcoll::Network& n = m.network();
    std::vector<double> up(static_cast<std::size_t>(n.nodes()) + n.uplinks().size());
    std::vector<double> down = up;
    const auto pass = [&](int out_of, int into, double share) {
      up[static_cast<std::size_t>(out_of)] += share;
      down[static_cast<std::size_t>(into)] += share;
    };
    for (const papcoll::Traffic::Arc& a : traffic.arcs()) {
      const int from = m.place(order.rank(a.from)).node;
      const int to = m.place(order.rank(a.to)).node;
      const auto share = static_cast<double>(a.share);
      if (from == to) continue;
      pass(from, to, share);
      if (!n.is_tree()) {
        byte_hops += share * static_cast<double>(
                                 n.hops_matrix()[static_cast<std::size_t>(from * n.nodes() + to)]);
        continue;
      }
      const int leaf_from = n.uplinks()[static_cast<std::size_t>(from)].switch_number;
      const int leaf_to = n.uplinks()[static_cast<std::size_t>(to)].switch_number;
      byte_hops += share * (leaf_from == leaf_to ? 2 : 4);
      if (leaf_from == leaf_to) continue;
      pass(leaf_from, leaf_to, share);
    }
    for (const double load : up) heaviest = std::max(heaviest, load);
    for (const double load : down) heaviest = std::max(heaviest, load);
  }
};
