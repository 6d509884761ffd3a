// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Some ranks of a team, in calls of their own by static schedules, one at a time: elementwise
/// ones, whose plans ask of a rank only which position it plays. So the ranks keep the team's
/// numbers.
class GroupOfRanks {
 public:
  /// This rank is `ranks[own]` of the team, whose endpoint stays longer.
  GroupOfRanks(Endpoint& team, std::vector<int> ranks, int own)
      : team_(&team), ranks_(Order::permutation(std::move(ranks))), own_(own) {}

  /// Starts a call, which is the team's with that sequence number; its root is the first rank.
  void start(const AnySchedule& schedule, const Call& call, std::uint32_t sequence) {
    constexpr std::size_t pipeline_depth = 4;
    Shape shape;
    shape.collective = call.collective;
    shape.size = size();
    shape.rank = ranks_.rank(own_);
    shape.root = ranks_.rank(0);
    shape.count = call.count;
    shape.element_size = call.reducer.size;
    shape.in_place = call.in_place();
    shape.commutative = call.reducer.commutative;
    run_.start(*team_, plans_.get(schedule, shape, ranks_).plan, ranks_, call, sequence,
               pipeline_depth);
  }
  /// Returns true if the call is complete. The endpoint makes its progress.
  bool done() const noexcept { return run_.done(); }

  int size() const noexcept { return ranks_.size(); }  ///< ranks of the group
  int rank() const noexcept { return own_; }           ///< this one's number among them

  /// After the team broke.
  void abandon() noexcept { run_.abandon(true); }

 private:
  Endpoint* team_;
  Order ranks_;  ///< of the team, by position
  int own_;
  PlanCache plans_;
  PlanRun run_;
};

/// The nodes of a team's ranks: those on this rank's node, and the first one of each node.
struct NodesOfRanks {
  /// `node_of` has the node of each rank of the team, of which this one is `rank`.
  NodesOfRanks(Endpoint& team, const std::vector<int>& node_of, int rank)
      : within(team, ranks_of(node_of, rank), number_among(ranks_of(node_of, rank), rank)),
        between(team, firsts(node_of), number_among(firsts(node_of), ranks_of(node_of, rank)[0])) {}

  GroupOfRanks within;   ///< the ranks of this rank's node
  GroupOfRanks between;  ///< the first rank of each node, by rank

  /// Returns true if this rank is the first of its node.
  bool is_first() const noexcept { return within.rank() == 0; }

  /// After the team broke.
  void abandon() noexcept {
    within.abandon();
    between.abandon();
  }

 private:
  static std::vector<int> ranks_of(const std::vector<int>& node_of, int rank) {
    std::vector<int> ranks;
    for (std::size_t r = 0; r < node_of.size(); ++r) {
      if (node_of[r] == node_of[static_cast<std::size_t>(rank)]) {
        ranks.push_back(static_cast<int>(r));
      }
    }
    return ranks;
  }
  static std::vector<int> firsts(const std::vector<int>& node_of) {
    std::vector<int> ranks;
    for (std::size_t r = 0; r < node_of.size(); ++r) {
      const auto before = node_of.begin() + static_cast<std::ptrdiff_t>(r);
      if (std::find(node_of.begin(), before, node_of[r]) == before) {
        ranks.push_back(static_cast<int>(r));
      }
    }
    return ranks;
  }
  static int number_among(const std::vector<int>& ranks, int rank) {
    return static_cast<int>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI
