// SPDX-License-Identifier: BSD-3-Clause
#include "machine/links.hpp"

#include "machine/gpu_links.hpp"
#include "timing/contest.hpp"
#include "timing/progress.hpp"
#include "timing/quiet.hpp"
#include "timing/statistics.hpp"
#include "timing/together.hpp"

#include <fmt/format.h>
#include <papcoll/communicator.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/topology/machine.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

namespace bench {
namespace {

constexpr int link_tag = 19;
constexpr int trips = 200;
constexpr int bulk_trips = 10;
constexpr int bulk_bytes = 1 << 20;

/// Of messages between two ranks.
struct LinkCost {
  double latency = 0;  ///< seconds, half a round trip of 8 bytes: the median
  double rate = 0;     ///< bytes a second one way, at best
};

double half_trip(MPI_Comm comm, int partner, bool leads, std::vector<std::byte>& buffer) {
  const auto n = static_cast<int>(buffer.size());
  const std::int64_t start = local_now();
  if (leads) MPI_Send(buffer.data(), n, MPI_BYTE, partner, link_tag, comm);
  MPI_Recv(buffer.data(), n, MPI_BYTE, partner, link_tag, comm, MPI_STATUS_IGNORE);
  if (!leads) MPI_Send(buffer.data(), n, MPI_BYTE, partner, link_tag, comm);
  return seconds_since(start) / 2;
}

/// Between two ranks; all ranks call, and get the same.
LinkCost link_between(const Placement& placement, int a, int b) {
  LinkCost cost;
  if (placement.rank() == a || placement.rank() == b) {
    const bool leads = placement.rank() == a;
    const int partner = leads ? b : a;
    std::vector<double> times;
    std::vector<std::byte> small(8);
    for (int i = 0; i < trips; ++i) {
      const double t = half_trip(placement.comm(), partner, leads, small);
      if (i >= trips / 10) times.push_back(t);
    }
    cost.latency = median(times);
    std::vector<std::byte> bulk(bulk_bytes);
    double best = std::numeric_limits<double>::max();
    for (int i = 0; i < bulk_trips; ++i) {
      best = std::min(best, half_trip(placement.comm(), partner, leads, bulk));
    }
    cost.rate = bulk_bytes / best;
  }
  quiet_barrier(placement.comm());
  std::array<double, 2> told{cost.latency, cost.rate};
  MPI_Bcast(told.data(), 2, MPI_DOUBLE, a, placement.comm());
  return {told[0], told[1]};
}

/// The lowest rank of each node, and the nodes' names.
struct NodeNames {
  std::vector<int> lowest;
  std::vector<std::string> names;
};

NodeNames find_nodes(const Placement& placement) {
  using Name = std::array<char, MPI_MAX_PROCESSOR_NAME>;
  const auto ranks = static_cast<std::size_t>(placement.ranks());
  Name mine{};
  int length = 0;
  MPI_Get_processor_name(mine.data(), &length);
  std::vector<Name> names(ranks);
  MPI_Allgather(mine.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, names.data(), MPI_MAX_PROCESSOR_NAME,
                MPI_CHAR, placement.comm());
  const int node = placement.node();
  std::vector<int> node_of(ranks);
  MPI_Allgather(&node, 1, MPI_INT, node_of.data(), 1, MPI_INT, placement.comm());
  NodeNames found;
  for (int n = 0; n < placement.nodes(); ++n) {
    const auto at = std::find(node_of.begin(), node_of.end(), n) - node_of.begin();
    found.lowest.push_back(static_cast<int>(at));
    found.names.emplace_back(names[static_cast<std::size_t>(at)].data());
  }
  return found;
}

void print_header() { fmt::print("{:<34} {:>12} {:>10}\n", "link", "latency", "GB/s"); }

void print(const std::string& link, const LinkCost& cost) {
  fmt::print("{:<34} {:>9.2f} µs {:>10.2f}\n", link, cost.latency * 1e6, cost.rate * 1e-9);
}

/// One pair of ranks of the first node for each level on which they part.
void measure_inside(const Placement& placement) {
  papcoll::Communicator comm{placement.comm()};
  const papcoll::Machine* const machine = &comm.core().environment().machine->get();
  const std::array<const char*, 5> parted{"one core", "one L3", "one NUMA domain", "one package",
                                          "one node"};
  for (int level = machine->depth(); level > machine->network().levels(); --level) {
    int a = -1;
    int b = -1;
    for (int r = 0; r < machine->size() && b < 0; ++r) {
      for (int s = r + 1; s < machine->size() && b < 0; ++s) {
        const bool first_node = machine->place(r).node == 0 && machine->place(s).node == 0;
        if (first_node && machine->together(r, s) == level) {
          a = r;
          b = s;
        }
      }
    }
    if (b < 0) continue;
    const LinkCost cost = link_between(placement, a, b);
    const auto from_inside = static_cast<std::size_t>(machine->depth() - level);
    if (placement.rank() == 0) {
      print(fmt::format("ranks {} and {}, {}", a, b, parted[from_inside]), cost);
    }
  }
}

}  // namespace

void measure_links(const Options& options, const Placement& placement) {
  together(placement.comm(), [&] {
    if (placement.ranks() < 2) throw usage_error("--measure links needs two ranks or more");
    if (options.links.empty()) return;
    if (placement.rank() == 0) require_writable(options.links);
    if (placement.nodes() < 2) {
      throw usage_error(
          fmt::format("--measure links {}: a network file needs several nodes, and "
                      "these ranks are on one: leave {} out",
                      options.links, options.links));
    }
  });
  const Progress progress(placement.rank());
  const bool speaks = placement.rank() == 0;
  if (speaks) print_header();
  measure_inside(placement);

  const NodeNames nodes = find_nodes(placement);
  const std::size_t n = nodes.lowest.size();
  std::vector<LinkCost> links(n * n);
  double least = std::numeric_limits<double>::max();
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b) {
      progress.show("node {} of {}", a + 1, n);
      const LinkCost cost = link_between(placement, nodes.lowest[a], nodes.lowest[b]);
      links[a * n + b] = links[b * n + a] = cost;
      least = std::min(least, cost.latency);
      if (speaks) print(fmt::format("{} and {}", nodes.names[a], nodes.names[b]), cost);
    }
  }
  progress.clear();
  if (speaks) measure_gpu_links(progress);
  quiet_barrier(placement.comm());
  if (options.links.empty()) return;
  together(placement.comm(), [&] {
    if (!speaks) return;
    std::string text =
        "# papcoll-bench --measure links: hops are latencies, that of the nearest pair is 2\n";
    for (const std::string& name : nodes.names) text += fmt::format("node {}\n", name);
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = a + 1; b < n; ++b) {
        // By halves, so that what is alike but for noise is alike.
        const double hops = std::max(1.0, static_cast<double>(static_cast<std::int64_t>(
                                              4 * links[a * n + b].latency / least + 0.5)) /
                                              2);
        text += fmt::format("hops {} {} {}\n", nodes.names[a], nodes.names[b], hops);
      }
    }
    write_file(options.links, text);
  });
}

}  // namespace bench
