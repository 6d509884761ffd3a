#pragma once

#include <papcoll/config.hpp>
#include <papcoll/topology/groups.hpp>
#include <papcoll/topology/machine.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// The groups in which the ranks of one node are near each other: those that share an L3 cache,
/// else a NUMA domain, else a package: the first of which there are several, one of them with
/// several ranks. Null if there are none, as where ranks are not bound, or are on several nodes.
[[gnu::cold]] inline std::shared_ptr<const Groups> near_groups(const Machine& machine) {
  if (machine.size() < 3 || machine.network().nodes() != 1) return nullptr;
  const Place& first = machine.place(0);
  const bool alike =
      std::all_of(machine.places().begin(), machine.places().end(), [&first](const Place& p) {
        return p.l3 == first.l3 && p.numa == first.numa && p.package == first.package;
      });
  if (alike) return nullptr;
  for (const Level level : {Level::l3, Level::numa, Level::package}) {
    Groups groups = Groups::by_colour(machine.groups({level}).front());
    if (groups.count() > 1 && groups.count() < groups.size()) {
      return std::make_shared<const Groups>(std::move(groups));
    }
  }
  return nullptr;
}

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
