// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/pointers.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

class Machine;
class MachineOnDemand;
class MachineSource;
struct Place;

namespace detail {

/// How the ranks of a communicator, of which this is one, exchange what they know of its machine.
/// Each function is collective.
struct RankAllgather {
  int rank = 0;
  const void* context = nullptr;
  /// Returns, on all ranks, the problem of the lowest rank that has one; empty if none has.
  std::string (*first_problem)(const void* context, const std::string& mine) = nullptr;
  /// From rank 0.
  void (*bcast)(const void* context, void* data, std::size_t bytes) = nullptr;
  void (*allgather)(const void* context, const void* mine, std::size_t bytes, void* all) = nullptr;
};

/// The ranks on the machine that a source describes. Where it divides the ranks among nodes as they
/// are, rank r has place r. Else, where it has as many nodes as the ranks are on, the i-th rank of
/// a node has the i-th place of its node, and otherwise the i-th of all ranks the i-th place. Empty
/// if there are too few places; `why` then says so.
PAPCOLL_DECL std::vector<Place> described_places(const Machine& described,
                                                 const std::vector<int>& node_of, std::string& why);

/// The ranks on the machine that `source`, which is not the default, describes. `node_of`: the
/// lowest rank on the node of each; `places`: where Linux says that they sit, which stands where
/// only the network is described. Collective; throws argument_error, on all ranks.
PAPCOLL_DECL Shared<const MachineOnDemand> described_machine(const MachineSource& source,
                                                             const RankAllgather& ranks,
                                                             const std::vector<int>& node_of,
                                                             std::vector<Place> places);

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/topology/linux.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/machine_on_demand.hpp>
#include <papcoll/topology/machine_source.hpp>
#include <papcoll/topology/packed_machine.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <span>
#include <utility>

#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Returns true if each rank r, at places[r], is on a node with those ranks that it shares memory
/// with, and with no others.
[[gnu::cold]] PAPCOLL_DECL bool divides_alike(std::span<const Place> places, int nodes,
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

[[gnu::cold]] PAPCOLL_DECL std::vector<Place> described_places(const Machine& described,
                                                               const std::vector<int>& node_of,
                                                               std::string& why) {
  const std::span<const Place> all = described.places();
  if (divides_alike(all, described.network().nodes(), node_of)) {
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(node_of.size())};
  }
  Vector<std::vector<Place>> by_node(static_cast<std::size_t>(described.network().nodes()));
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

/// Returns what a source describes. If it is read on request, rank 0 reads it and sends it to the
/// others.
[[gnu::cold]] PAPCOLL_DECL Machine read_on_rank_0(const MachineSource& source,
                                                  const RankAllgather& ranks) {
  if (source.in_code() != nullptr) return *source.in_code();
  std::string bytes;
  std::string problem;
  if (ranks.rank == 0) {
    try {
      bytes = packed(source.read());
    } catch (const std::exception& e) {
      problem = bare(e.what());
    }
  }
  problem = ranks.first_problem(ranks.context, problem);
  if (!problem.empty()) {
    throw_error<argument_error>(
        {"papcoll: Options of a papcoll::Communicator: machine: ", problem});
  }
  std::size_t size = bytes.size();
  ranks.bcast(ranks.context, &size, sizeof size);
  bytes.resize(size);
  ranks.bcast(ranks.context, bytes.data(), size);
  return unpacked(bytes);
}

/// This host's number among those that a network names; −1: it is none of them.
[[gnu::cold]] PAPCOLL_DECL std::int32_t find_this_host(const std::vector<std::uint64_t>& hosts) {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return -1;
  const auto at = std::find(hosts.begin(), hosts.end(), hash_of_host(name.data()));
  return at == hosts.end() ? -1 : static_cast<std::int32_t>(at - hosts.begin());
}

/// Returns the ranks at their places according to Linux, and the network that is described between
/// their hosts.
[[gnu::cold]] PAPCOLL_DECL Machine with_network(const Machine& described,
                                                const RankAllgather& ranks,
                                                std::vector<Place> places) {
  std::vector<std::int32_t> listed(places.size());
  const std::int32_t mine = find_this_host(described.hosts);
  ranks.allgather(ranks.context, &mine, sizeof mine, listed.data());
  std::vector<int> nodes;  // those listed, in the order of the nodes' numbers
  std::size_t unlisted = listed.size();
  for (std::size_t r = 0; r < listed.size(); ++r) {
    if (listed[r] < 0) unlisted = std::min(unlisted, r);
    if (places[r].node == static_cast<int>(nodes.size())) nodes.push_back(listed[r]);
  }
  const bool all_listed = unlisted == listed.size();
  Machine machine{std::move(places), all_listed ? described.network().among(nodes) : Network{}};
  machine.caches = linux_caches();
  machine.source = all_listed
                       ? joined({"Linux, and ", described.source})
                       : joined({"Linux; ", described.source, " does not name the host of rank ",
                                 unlisted, ", so all nodes count as on one switch"});
  return machine;
}

PAPCOLL_DECL Shared<const MachineOnDemand> described_machine(const MachineSource& source,
                                                             const RankAllgather& ranks,
                                                             const std::vector<int>& node_of,
                                                             std::vector<Place> places) {
  const Machine described = read_on_rank_0(source, ranks);
  if (described.size() == 0) {
    return detail::make_shared<const MachineOnDemand>(
        with_network(described, ranks, std::move(places)));
  }
  std::string why;
  places = described_places(described, node_of, why);
  if (!why.empty()) {
    throw_error<argument_error>(
        {"papcoll: Options::machine describes a machine of too few places: ", why,
         ": describe more cores or nodes"});
  }
  Machine machine{std::move(places), described.network()};
  machine.source = described.source;
  machine.caches = described.caches;
  return detail::make_shared<const MachineOnDemand>(std::move(machine));
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail

#endif
