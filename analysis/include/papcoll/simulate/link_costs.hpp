// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/error.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// What a message between two ranks costs on its way, where that depends on the two.
struct LinkCost {
  double latency = 0;       ///< seconds
  double gap_per_byte = 0;  ///< seconds that a byte keeps either port busy

  friend bool operator==(const LinkCost&, const LinkCost&) = default;
};

/// The cost of a message for each pair of ranks; empty: the same for all, as the model has it.
class LinkCosts {
 public:
  LinkCosts() = default;

  /// Ranks on nodes: node_of[r] is rank r's.
  static LinkCosts nodes(std::vector<int> node_of, LinkCost inside, LinkCost between) {
    return levels({std::move(node_of)}, {inside, between});
  }

  /// Ranks in groups of groups, from the innermost out: two ranks pay cost l for the first level l
  /// on which their colours (colours[l][rank]) are the same, and the last cost where there is none.
  /// Throws argument_error unless there is one more cost than levels and all levels are as long.
  static LinkCosts levels(std::vector<std::vector<int>> colours, std::vector<LinkCost> costs) {
    if (costs.size() != colours.size() + 1) {
      throw argument_error("papcoll: " + std::to_string(costs.size()) + " link costs for " +
                           std::to_string(colours.size()) +
                           " levels: give one for each level and one for ranks that share none");
    }
    LinkCosts l;
    l.size_ = colours.empty() ? 0 : colours.front().size();
    for (const std::vector<int>& level : colours) {
      if (level.size() == l.size_) continue;
      throw argument_error("papcoll: levels of link costs with " + std::to_string(l.size_) +
                           " and with " + std::to_string(level.size()) +
                           " colours: each level has one for each rank");
    }
    l.colours_ = std::move(colours);
    l.costs_ = std::move(costs);
    return l;
  }

  /// Each pair's own: costs[sender * size + receiver]. Throws argument_error unless there are
  /// size * size.
  static LinkCosts matrix(int size, std::vector<LinkCost> costs) {
    LinkCosts l;
    l.size_ = static_cast<std::size_t>(size);
    if (costs.size() != l.size_ * l.size_) {
      throw argument_error("papcoll: a matrix of " + std::to_string(costs.size()) +
                           " link costs for " + std::to_string(size) +
                           " ranks: give one for each sender and receiver");
    }
    l.costs_ = std::move(costs);
    return l;
  }

  /// Returns true if no costs are given, so that the model's apply to all links.
  bool empty() const noexcept { return size_ == 0; }

  /// The number of ranks; 0: empty().
  std::size_t size() const noexcept { return size_; }

  /// All that occur, in no order that says anything.
  std::span<const LinkCost> costs() const noexcept { return costs_; }

  /// Not if empty().
  LinkCost between(int sender, int receiver) const noexcept {
    const auto from = static_cast<std::size_t>(sender);
    const auto to = static_cast<std::size_t>(receiver);
    if (colours_.empty()) return costs_[from * size_ + to];
    std::size_t level = 0;
    while (level < colours_.size() && colours_[level][from] != colours_[level][to]) ++level;
    return costs_[level];
  }

  friend bool operator==(const LinkCosts&, const LinkCosts&) = default;

 private:
  std::size_t size_ = 0;
  std::vector<std::vector<int>> colours_;
  std::vector<LinkCost> costs_;
};

}  // namespace papcoll::inline PAPCOLL_ABI
