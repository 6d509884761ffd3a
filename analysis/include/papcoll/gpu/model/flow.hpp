// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

// How operations under way share links and memories: weighted max-min fairness. All rates rise
// alike; where a resource is used up, those that load it stay at their rate, and the others go on.

namespace papcoll::inline PAPCOLL_ABI::gpu {
namespace detail {

/// A resource that a flow uses: at rate r of payload it takes weight · r of it.
struct Load {
  std::size_t resource = 0;  ///< its number
  double weight = 0;         ///< how often each byte of payload counts
};

/// Bytes on their way.
struct Flow {
  std::vector<Load> loads;  ///< each resource at most once
  double left = 0;          ///< bytes of payload
  double rate = 0;          ///< bytes of payload a second, as share_fairly() finds it
};

/// Gives each flow its rate; `room` has the rate of each resource.
inline void share_fairly(const std::vector<Flow*>& flows, std::vector<double> room) {
  constexpr double none = std::numeric_limits<double>::max();
  std::vector<double> weight(room.size(), 0.0);  // of those whose rates rise still
  for (const Flow* flow : flows) {
    for (const Load& load : flow->loads) weight[load.resource] += load.weight;
  }
  std::vector<Flow*> rising = flows;
  for (double rate = 0; !rising.empty();) {
    double step = none;
    std::size_t tight = room.size();
    for (std::size_t r = 0; r < room.size(); ++r) {
      if (weight[r] > 0 && room[r] / weight[r] < step) {
        step = room[r] / weight[r];
        tight = r;
      }
    }
    rate += step;
    if (tight < room.size()) {
      for (std::size_t r = 0; r < room.size(); ++r) {
        if (weight[r] > 0) room[r] = std::max(0.0, room[r] - step * weight[r]);
      }
    }
    const auto stays = [&](const Flow* flow) {
      return tight == room.size() ||
             std::any_of(flow->loads.begin(), flow->loads.end(),
                         [tight](const Load& load) { return load.resource == tight; });
    };
    const auto end = std::partition(rising.begin(), rising.end(),
                                    [&](const Flow* flow) { return !stays(flow); });
    for (auto it = end; it != rising.end(); ++it) {
      (*it)->rate = rate;
      for (const Load& load : (*it)->loads) weight[load.resource] -= load.weight;
    }
    rising.erase(end, rising.end());
    if (tight < room.size()) weight[tight] = 0;  // whatever rounding left of it
  }
}

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI::gpu
