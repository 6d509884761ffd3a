#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/topology/machine.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Would rank r at places[r] be on a node together with those that it shares memory with, and no
/// others?
[[gnu::cold]] inline bool divides_alike(std::span<const Place> places, int nodes,
                                        const std::vector<int>& node_of) {
  if (places.size() < node_of.size()) return false;
  std::vector<int> real_of(static_cast<std::size_t>(nodes), -1);
  std::vector<int> described_of(node_of.size(), -1);
  for (std::size_t r = 0; r < node_of.size(); ++r) {
    int& real = real_of[static_cast<std::size_t>(places[r].node)];
    int& described = described_of[static_cast<std::size_t>(node_of[r])];
    if (real < 0 && described < 0) {
      real = node_of[r];
      described = places[r].node;
    }
    if (real != node_of[r] || described != places[r].node) return false;
  }
  return true;
}

/// The ranks on the machine that a source describes. Where it divides the ranks among nodes as they
/// are, rank r has place r. Else, where it has as many nodes as the ranks are on, the i-th rank of
/// a node has the i-th place of its node, and otherwise the i-th of all ranks the i-th place. Empty
/// if there are too few places; `why` then says so.
[[gnu::cold]] inline std::vector<Place> described_places(const Machine& described,
                                                         const std::vector<int>& node_of,
                                                         std::string& why) {
  const std::span<const Place> all = described.places();
  if (divides_alike(all, described.network().nodes(), node_of)) {
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(node_of.size())};
  }
  detail::Vector<std::vector<Place>> by_node(static_cast<std::size_t>(described.network().nodes()));
  for (const Place& p : described.places()) by_node[static_cast<std::size_t>(p.node)].push_back(p);
  by_node.erase_if([](const std::vector<Place>& places) { return places.empty(); });
  const std::size_t nodes = by_node.size();
  std::vector<int> real(node_of);  // lowest ranks of nodes
  heap_sort(real.data(), real.size());
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

}  // namespace papcoll::inline PAPCOLL_ABI::detail
