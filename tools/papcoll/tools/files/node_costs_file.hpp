#pragma once

// What the work of a node's ranks costs, as JSON: what `papcoll-bench --measure node-costs` writes
// and `papcoll simulate --node-costs` reads. Times are seconds, tables are pairs of bytes and
// seconds.
//
//     {"papcoll_node_costs": 1, "call": 4.6e-8, …, "copy": [[64, 2.4e-9], [256, 3.4e-9], …],
//      "near": {"signal": 3.5e-8, "fetch": 2.9e-8, "take": 4e-9, "read": […], "write": […]}}

#include <papcoll/base/error.hpp>
#include <papcoll/simulate/node_costs.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/files/json_file.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

inline Json node_costs_json(const CostBySize& table) {
  Json points = Json::array();
  for (const CostBySize::Point& p : table.points()) {
    points.push_back(Json::array({static_cast<std::size_t>(p.bytes), p.seconds}));
  }
  return points;
}

inline Json node_costs_json(const PairCosts& pair) {
  return {{"signal", pair.signal},
          {"fetch", pair.fetch},
          {"take", pair.take},
          {"read", node_costs_json(pair.read)},
          {"reread", node_costs_json(pair.reread)},
          {"write", node_costs_json(pair.write)},
          {"write_lent", node_costs_json(pair.write_lent)},
          {"write_over", node_costs_json(pair.write_over)},
          {"write_after", node_costs_json(pair.write_after)}};
}

/// As read_node_costs() reads it.
inline Json node_costs_json(const NodeCosts& c) {
  Json all{{"papcoll_node_costs", 1},
           {"clock", c.clock},
           {"call", c.call},
           {"code", Json(c.code)},
           {"poll", c.poll},
           {"hit", c.hit},
           {"locked", c.locked},
           {"wake", c.wake},
           {"sleeps_after", c.sleeps_after},
           {"memory_per_byte", c.memory_per_byte},
           {"nearest_cache", c.nearest_cache},
           {"own_cache", c.own_cache},
           {"shared_cache", c.shared_cache},
           {"error", c.error},
           {"copy", node_costs_json(c.copy)},
           {"copy_shared_cache", node_costs_json(c.copy_shared_cache)},
           {"combine", node_costs_json(c.combine)}};
  if (c.near.known) all["near"] = node_costs_json(c.near);
  if (c.apart.known) all["apart"] = node_costs_json(c.apart);
  return all;
}

inline CostBySize cost_table(const JsonObject& in, const char* name) {
  const std::string remedy = ": write a list of pairs of bytes and seconds, as [[64, 2e-9], …]";
  if (!in.has(name)) in.fail(name, "it is missing");
  const Json& list = in.json()[name];
  if (!list.is_array() || list.empty()) in.fail(name, "it is " + shown(list) + remedy);
  std::vector<CostBySize::Point> points;
  for (const Json& p : list) {
    const bool is_pair = p.is_array() && p.size() == 2 && p[0].is_number() && p[1].is_number();
    if (!is_pair) in.fail(name, "it has " + shown(p) + remedy);
    points.push_back({p[0].get<double>(), p[1].get<double>()});
  }
  return points;
}

inline PairCosts pair_costs(const JsonObject& in) {
  in.allow_only({"signal", "fetch", "take", "read", "reread", "write", "write_lent", "write_over",
                 "write_after"});
  PairCosts pair;
  pair.known = true;
  in.read("signal", pair.signal, in_seconds);
  in.read("fetch", pair.fetch, in_seconds);
  in.read("take", pair.take, in_seconds);
  pair.read = cost_table(in, "read");
  pair.reread = cost_table(in, "reread");
  pair.write = cost_table(in, "write");
  pair.write_lent = cost_table(in, "write_lent");
  pair.write_over = cost_table(in, "write_over");
  pair.write_after = cost_table(in, "write_after");
  return pair;
}

/// Throws argument_error and system_error.
inline NodeCosts read_node_costs(const std::string& file) {
  const JsonObject in = JsonObject::read(file, "file of node costs");
  int format = 0;
  in.read("papcoll_node_costs", format, 0);
  if (format != 1) {
    const std::string found = in.has("papcoll_node_costs")
                                  ? "it is " + std::to_string(format) + ", and 1 is known"
                                  : "it is missing";
    in.fail("papcoll_node_costs", found + ": write a file by papcoll-bench --measure node-costs");
  }
  in.allow_only({"papcoll_node_costs", "clock", "call", "code", "poll", "hit", "locked", "wake",
                 "sleeps_after", "memory_per_byte", "nearest_cache", "own_cache", "shared_cache",
                 "error", "copy", "copy_shared_cache", "combine", "near", "apart"});
  NodeCosts c;
  for (const auto& [name, seconds] : {std::pair{"clock", &c.clock},
                                      {"call", &c.call},
                                      {"poll", &c.poll},
                                      {"hit", &c.hit},
                                      {"locked", &c.locked},
                                      {"wake", &c.wake},
                                      {"sleeps_after", &c.sleeps_after}}) {
    in.read(name, *seconds, in_seconds);
  }
  if (in.has("code")) {
    const JsonObject code = in.object("code");
    for (const auto& [name, value] : code.json().items()) {
      code.read(name.c_str(), c.code[name], in_seconds);
    }
  }
  in.read("memory_per_byte", c.memory_per_byte, in_seconds_a_byte);
  constexpr TimeUnit part{10, "a part from 0 to 10, as 0.25 for 25 %"};
  in.read("error", c.error, part);
  in.read("nearest_cache", c.nearest_cache, std::size_t{1});
  in.read("own_cache", c.own_cache, std::size_t{1});
  in.read("shared_cache", c.shared_cache, std::size_t{1});
  // The simulator has a table of the lines of each rank's own caches.
  constexpr std::size_t most = std::size_t{1} << 25U;
  for (const auto& [name, bytes] :
       {std::pair{"nearest_cache", c.nearest_cache}, std::pair{"own_cache", c.own_cache}}) {
    if (bytes <= most) continue;
    in.fail(name, "it is " + std::to_string(bytes) + ": write at most " + std::to_string(most));
  }
  c.copy = cost_table(in, "copy");
  c.copy_shared_cache = cost_table(in, "copy_shared_cache");
  c.combine = cost_table(in, "combine");
  if (in.has("near")) c.near = pair_costs(in.object("near"));
  if (in.has("apart")) c.apart = pair_costs(in.object("apart"));
  try {
    c.require_sense();
  } catch (const argument_error& e) {
    throw argument_error(std::string(e.what()) + " (" + file + ")");
  }
  return c;
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
