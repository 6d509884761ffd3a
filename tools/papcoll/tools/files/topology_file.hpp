// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What messages within and between nodes cost, as JSON: which ranks are on a node, and L and G
// (seconds, seconds a byte) of both kinds of messages; what is left out is as the model has it.
//
//     {"ranks_per_node": 4,
//      "within": {"latency": 3e-7, "gap_per_byte": 1e-10},
//      "between": {"latency": 2e-6, "gap_per_byte": 8e-10}}
//
// Instead of "ranks_per_node" (in rank order), "nodes" may list them: [[0, 1, 2, 3], [4, 5, 6, 7]].

#include <papcoll/model/log_gops.hpp>
#include <papcoll/simulate/link_costs.hpp>
#include <papcoll/tools/files/json_file.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// The node of each rank, by "nodes".
inline std::vector<int> listed_nodes(const JsonObject& in, int ranks) {
  const auto refuse = [&](const std::string& why) {
    in.fail("nodes", why + ": write a list of ranks for each node, as [[0, 1], [2, 3]]");
  };
  const Json& nodes = in.json()["nodes"];
  if (!nodes.is_array()) refuse("it is " + std::string(nodes.type_name()));
  std::vector<int> node_of(static_cast<std::size_t>(ranks), -1);
  int node = 0;
  for (const Json& members : nodes) {
    if (!members.is_array()) refuse("one of its nodes is " + std::string(members.type_name()));
    for (const Json& rank : members) {
      const bool is_rank = rank.is_number_integer() && rank >= 0 && rank < ranks;
      if (!is_rank) {
        refuse("it has rank " + shown(rank) + ", and there are 0 to " + std::to_string(ranks - 1));
      }
      int& known = node_of[rank.get<std::size_t>()];
      if (known >= 0) refuse("it has rank " + shown(rank) + " twice");
      known = node;
    }
    ++node;
  }
  for (std::size_t r = 0; r < node_of.size(); ++r) {
    if (node_of[r] < 0) refuse("it does not have rank " + std::to_string(r));
  }
  return node_of;
}

/// The node of each rank.
inline std::vector<int> nodes_of_ranks(const JsonObject& in, int ranks) {
  in.allow_only({"nodes", "ranks_per_node", "within", "between"});
  if (in.has("nodes") == in.has("ranks_per_node")) {
    in.fail("", in.has("nodes") ? "it has both nodes and ranks_per_node: leave one of them out"
                                : "it says nothing of nodes: write \"ranks_per_node\": 4, or "
                                  "\"nodes\": [[0, 1], [2, 3]]");
  }
  if (in.has("nodes")) return listed_nodes(in, ranks);
  std::vector<int> node_of;
  int each = 1;
  in.read("ranks_per_node", each, 1);
  for (int r = 0; r < ranks; ++r) node_of.push_back(r / each);
  return node_of;
}

/// The node of each rank, read from a file. Throws argument_error and system_error.
inline std::vector<int> read_nodes(const std::string& file, int ranks) {
  return nodes_of_ranks(JsonObject::read(file, "topology file"), ranks);
}

/// Throws argument_error and system_error.
inline LinkCosts read_topology(const std::string& file, int ranks, const LogGops& model) {
  const JsonObject in = JsonObject::read(file, "topology file");
  std::vector<int> node_of = nodes_of_ranks(in, ranks);
  const auto cost = [&](const char* name) {
    LinkCost c{model.latency, model.gap_per_byte};
    if (!in.has(name)) return c;
    const JsonObject link = in.object(name);
    link.allow_only({"latency", "gap_per_byte"});
    link.read("latency", c.latency, in_seconds);
    link.read("gap_per_byte", c.gap_per_byte, in_seconds_a_byte);
    return c;
  };
  return LinkCosts::nodes(std::move(node_of), cost("within"), cost("between"));
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
