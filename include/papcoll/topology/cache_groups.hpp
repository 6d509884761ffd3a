#pragma once

#include <papcoll/base/pointers.hpp>
#include <papcoll/topology/groups.hpp>
#include <papcoll/topology/machine.hpp>

#include <span>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// The groups in which the ranks of one node are near each other: those that share an L3 cache,
/// else a NUMA domain, else a package: the first of which there are several, one of them with
/// several ranks. Null if there are none, as where ranks are not bound, or are on several nodes.
[[gnu::cold]] inline detail::Shared<const Groups> cache_groups(std::span<const Place> places) {
  const auto shares = [](const Place& a, const Place& b, Level level) {
    return a.node == b.node && a.package == b.package &&
           (level == Level::package || a.numa == b.numa) && (level != Level::l3 || a.l3 == b.l3);
  };
  if (places.size() < 3) return nullptr;
  bool all_share_l3 = true;
  for (const Place& p : places) {
    if (p.node != places.front().node) return nullptr;
    all_share_l3 = all_share_l3 && shares(p, places.front(), Level::l3);
  }
  if (all_share_l3) return nullptr;
  for (const Level level : {Level::l3, Level::numa, Level::package}) {
    std::vector<int> lowest(places.size());  // the first rank with which each shares it
    for (std::size_t r = 0; r < places.size(); ++r) {
      std::size_t first = 0;
      while (!shares(places[first], places[r], level)) ++first;
      lowest[r] = static_cast<int>(first);
    }
    Groups groups = Groups::by_colour(lowest);
    if (groups.count() > 1 && groups.count() < groups.size()) {
      return detail::make_shared<const Groups>(std::move(groups));
    }
  }
  return nullptr;
}

}  // namespace papcoll::inline PAPCOLL_ABI
