#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/topology/check_machine.hpp>
#include <papcoll/topology/described_machine.hpp>
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

/// What a source describes: what one on request reads, rank 0 reads and tells the others.
[[gnu::cold]] inline Machine read_on_rank_0(const MachineSource& source, const RanksTell& ranks) {
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
    detail::throw_error<argument_error>(
        {"papcoll: Options of a papcoll::Communicator: machine: ", problem});
  }
  std::size_t size = bytes.size();
  ranks.bcast(ranks.context, &size, sizeof size);
  bytes.resize(size);
  ranks.bcast(ranks.context, bytes.data(), size);
  return unpacked(bytes);
}

/// This host's number among those that a network names; −1: it is none of them.
[[gnu::cold]] inline std::int32_t find_this_host(const std::vector<std::uint64_t>& hosts) {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return -1;
  const auto at = std::find(hosts.begin(), hosts.end(), hash_of_host(name.data()));
  return at == hosts.end() ? -1 : static_cast<std::int32_t>(at - hosts.begin());
}

/// The ranks where Linux says that they sit, and the network that is described between their hosts.
[[gnu::cold]] inline Machine with_network(const Machine& described, const RanksTell& ranks,
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

PAPCOLL_DECL detail::Shared<const MachineOnDemand> described_machine(
    const MachineSource& source, const RanksTell& ranks, const std::vector<int>& node_of,
    std::vector<Place> places) {
  const Machine described = read_on_rank_0(source, ranks);
  if (described.size() == 0) {
    return detail::make_shared<const MachineOnDemand>(
        with_network(described, ranks, std::move(places)));
  }
  std::string why;
  places = described_places(described, node_of, why);
  if (!why.empty()) {
    detail::throw_error<argument_error>(
        {"papcoll: Options::machine describes a machine of too few places: ", why,
         ": describe more cores or nodes"});
  }
  Machine machine{std::move(places), described.network()};
  machine.source = described.source;
  machine.caches = described.caches;
  return detail::make_shared<const MachineOnDemand>(std::move(machine));
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
