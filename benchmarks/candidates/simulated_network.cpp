// SPDX-License-Identifier: BSD-3-Clause
#include "candidates/simulated_network.hpp"

#include <fmt/format.h>
#include <simgrid/s4u/Host.hpp>

#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

namespace bench {
namespace {

/// Empty if there are fewer hosts.
std::vector<float> hops_between(int nodes) {
  std::vector<const simgrid::s4u::Host*> hosts;
  for (int node = 0; node < nodes; ++node) {
    hosts.push_back(simgrid::s4u::Host::by_name_or_null(fmt::format("node-{}", node)));
    if (hosts.back() == nullptr) return {};
  }
  const auto links = [](const simgrid::s4u::Host* from, const simgrid::s4u::Host* to) {
    std::vector<simgrid::s4u::Link*> route;
    double latency = 0;
    from->route_to(to, route, &latency);
    return static_cast<float>(route.size());
  };
  std::vector<float> hops;
  hops.reserve(hosts.size() * hosts.size());
  for (const auto* from : hosts) {
    for (const auto* to : hosts) {
      hops.push_back(from == to ? 0 : (links(from, to) + links(to, from)) / 2);
    }
  }
  return hops;
}

}  // namespace

papcoll::Network network_by_routes(int nodes, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::vector<float> hops;
  if (rank == 0) hops = hops_between(nodes);
  auto count = static_cast<int>(hops.size());
  MPI_Bcast(&count, 1, MPI_INT, 0, comm);
  if (count == 0) {
    throw std::invalid_argument(
        fmt::format("--machine: the platform has no hosts node-0 to node-{}", nodes - 1));
  }
  hops.resize(static_cast<std::size_t>(count));
  MPI_Bcast(hops.data(), count, MPI_FLOAT, 0, comm);
  return papcoll::Network::by_hops(nodes, std::move(hops));
}

}  // namespace bench
