#pragma once

#include <papcoll/base/joined.hpp>
#include <papcoll/config.hpp>
#include <papcoll/topology/machine.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// The ranks on the machine that a source describes. Where it has as many nodes as the ranks are
/// on, the i-th rank of a node has the i-th place of its node, else the i-th of all ranks the i-th
/// place. Empty if there are too few places; `why` then says so.
[[gnu::cold]] inline std::vector<Place> described_places(const Machine& described,
                                                         const std::vector<int>& node_of,
                                                         std::string& why) {
  std::vector<std::vector<Place>> by_node(static_cast<std::size_t>(described.network().nodes()));
  for (const Place& p : described.places()) by_node[static_cast<std::size_t>(p.node)].push_back(p);
  std::erase_if(by_node, [](const std::vector<Place>& places) { return places.empty(); });
  const std::size_t nodes = by_node.size();
  std::vector<int> real(node_of);  // lowest ranks of nodes
  std::sort(real.begin(), real.end());
  real.erase(std::unique(real.begin(), real.end()), real.end());
  std::vector<Place> places;
  if (real.size() == nodes) {
    std::vector<std::size_t> taken(nodes, 0);
    for (const int lowest : node_of) {
      const auto at = static_cast<std::size_t>(std::lower_bound(real.begin(), real.end(), lowest) -
                                               real.begin());
      if (taken[at] == by_node[at].size()) break;
      places.push_back(by_node[at][taken[at]++]);
    }
    if (places.size() == node_of.size()) return places;
  }
  if (described.places().size() >= node_of.size()) {
    places.assign(described.places().begin(),
                  described.places().begin() + static_cast<std::ptrdiff_t>(node_of.size()));
    return places;
  }
  why = joined({"it has ", described.places().size(), " places for ", node_of.size(), " ranks"});
  return {};
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
