// SPDX-License-Identifier: BSD-3-Clause
// What the model of a node expects of nodes of many cores, against what was published of such, and
// against the node in virtual time.

#include "catch.hpp"

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/choice/selection/choose.hpp>
#include <papcoll/simulate/virtual_node.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "virtual_costs.hpp"

using namespace papcoll;

namespace {

/// A node on which each core has a rank.
struct ManyCores {
  int ranks;
  int caches;
  PeerCosts costs;
};

PeerCosts costs_of(std::uint32_t signal_ns, std::uint32_t line_ns, std::uint32_t byte_ps) {
  PeerCosts c;
  c.signal_ns = signal_ns;
  c.line_ns = line_ns;
  c.read_ps = c.write_ps = byte_ps;
  return c;
}

// Signals: medians of core-to-core-latency-plus, and Graviton 4's for Grace. A line: what MPICH's
// release to all ranks leaves for one. A byte: what a core reads where all cores do.
const ManyCores one_rome{64, 16, costs_of(125, 20, 65)};
const ManyCores two_romes{128, 32, costs_of(135, 20, 65)};
const ManyCores grace{72, 0, costs_of(45, 14, 30)};

/// Nanoseconds of an allreduce in shapes: "slices", "exchange" and "leader", and, where ranks share
/// caches in groups, "caches".
std::map<std::string_view, double> expected(const ManyCores& node, std::size_t bytes) {
  SelectionInputs s;
  s.size = node.ranks;
  s.cache_groups = node.caches;
  s.near_chunk_bytes = node.caches == 0 ? 0 : 4096;
  s.chunk_bytes = 65536;
  s.costs = &node.costs;
  Call call;
  call.collective = Collective::allreduce;
  call.reducer.size = 8;
  call.reducer.commutative = true;
  call.count = bytes / 8;
  const auto& all = detail::chooser_of(call.collective).on_node;
  std::map<std::string_view, double> ns;
  for (const detail::NodeCandidate& c : all) {
    const std::string_view name = c.algorithm->name;
    const std::string_view shape = name == "MultiLeader"     ? "slices"
                                   : name == "Exchange"      ? "exchange"
                                   : name == "DynamicLeader" ? "leader"
                                                             : "";
    if (!shape.empty()) ns[shape] = detail::prior_of(c, call, s);
  }
  if (node.caches != 0) ns["caches"] = detail::prior_by_caches(all, call, s);
  return ns;
}

/// The same by the node in virtual time, of ranks in groups of four to a cache.
double simulated(const char* algorithm, int ranks, std::size_t bytes) {
  VirtualOptions options;
  for (int r = 0; r < ranks; ++r) options.colours.push_back(r / 4);
  Shape shape;
  shape.collective = Collective::allreduce;
  shape.size = ranks;
  shape.count = bytes / 8;
  shape.element_size = 8;
  VirtualNode node{*find_virtual_algorithm(algorithm), shape, virtual_costs(), options};
  const std::vector<double> together(static_cast<std::size_t>(ranks), 0);
  node.warm_up(together, 2);
  const Simulated call = node.call(together);
  return *std::max_element(call.exits.begin(), call.exits.end());
}

}  // namespace

TEST_CASE("the model puts shapes on many cores in the order that was published", "[many_cores]") {
  // Microseconds. Slices: measured, ext_mpi_collectives in the best of its radices (Jocksch et al.,
  // IJHPCA 2025). One leader: measured, MPICH, which gathers along a tree. Exchange: computed, from
  // what a core reads; no library that was measured has it.
  struct Published {
    const ManyCores& node;
    std::size_t bytes;
    double slices;
    double leader;
    double exchange;
  };
  const std::vector<Published> published{
      {two_romes, 8, 4.9, 4.7, 3.7},    {two_romes, 4096, 9.5, 36, 42},
      {two_romes, 65536, 24, 570, 612}, {two_romes, 1U << 20U, 331, 8910, 9740},
      {grace, 8, 2.0, 1.8, 1.4},        {grace, 4096, 3.4, 6.9, 11},
      {grace, 65536, 10.4, 97, 148},    {grace, 1U << 20U, 152, 1645, 2353},
  };
  for (const Published& p : published) {
    INFO(p.node.ranks << " ranks, " << p.bytes << " bytes");
    const auto ns = expected(p.node, p.bytes);
    const std::map<std::string_view, double> us{
        {"slices", p.slices}, {"leader", p.leader}, {"exchange", p.exchange}};
    for (const auto& [a, of_a] : us) {
      for (const auto& [b, of_b] : us) {
        INFO(a << " " << ns.at(a) << " ns, " << b << " " << ns.at(b) << " ns");
        // Nearer to each other no arithmetic of this kind tells them apart.
        if (of_a < of_b / 2) CHECK(ns.at(a) < ns.at(b));
        if (p.bytes > 8) CHECK(ns.at(a) < us.at(a) * 3300);
        if (p.bytes > 8) CHECK(ns.at(a) > us.at(a) * 300);
      }
    }
  }
}

TEST_CASE("on many cores short calls go by caches, longer ones in slices", "[many_cores]") {
  for (const ManyCores* node : {&one_rome, &two_romes}) {
    INFO(node->ranks << " ranks");
    auto ns = expected(*node, 8);
    CHECK(ns["caches"] < ns["exchange"] / 2);
    CHECK(ns["exchange"] < ns["slices"]);
    CHECK(ns["exchange"] < ns["leader"]);
    ns = expected(*node, 4096);
    CHECK(ns["slices"] < ns["leader"] / 2);
    CHECK(ns["slices"] < ns["exchange"] / 3);
    for (const std::size_t bytes : {65536UL, 1UL << 20U}) {
      ns = expected(*node, bytes);
      CHECK(ns["slices"] < ns["caches"]);
      CHECK(ns["slices"] < ns["leader"] / 10);
      CHECK(ns["slices"] < ns["exchange"] / 10);
    }
  }
}

TEST_CASE("virtual node: 64 ranks take longest where the model expects that", "[many_cores]") {
  for (const std::size_t bytes : {8UL, 4096UL}) {
    INFO(bytes << " bytes");
    auto ns = expected(one_rome, bytes);
    const double slices = simulated("MultiLeader", 64, bytes);
    const double exchange = simulated("Exchange", 64, bytes);
    const double leader = simulated("DynamicLeader", 64, bytes);
    CHECK((slices < exchange) == (ns["slices"] < ns["exchange"]));
    CHECK((exchange < leader) == (ns["exchange"] < ns["leader"]));
    // Of 8 bytes a leader has less to do there: its line has no queue.
    if (bytes > 8) CHECK((slices < leader) == (ns["slices"] < ns["leader"]));
  }
}
