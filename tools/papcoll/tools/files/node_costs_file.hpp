// SPDX-License-Identifier: BSD-3-Clause
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
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// The fields of an object: names, and the members of T that have the values.
template <class T, class Value> using Fields = std::vector<std::pair<const char*, Value T::*>>;

inline const Fields<PairCosts, double> pair_times{
    {"signal", &PairCosts::signal}, {"fetch", &PairCosts::fetch}, {"take", &PairCosts::take}};
inline const Fields<PairCosts, CostBySize> pair_tables{{"read", &PairCosts::read},
                                                       {"reread", &PairCosts::reread},
                                                       {"write", &PairCosts::write},
                                                       {"write_lent", &PairCosts::write_lent},
                                                       {"write_over", &PairCosts::write_over},
                                                       {"write_after", &PairCosts::write_after}};
inline const Fields<NodeCosts, double> node_times{{"clock", &NodeCosts::clock},
                                                  {"call", &NodeCosts::call},
                                                  {"poll", &NodeCosts::poll},
                                                  {"hit", &NodeCosts::hit},
                                                  {"locked", &NodeCosts::locked},
                                                  {"wake", &NodeCosts::wake},
                                                  {"sleeps_after", &NodeCosts::sleeps_after}};
inline const Fields<NodeCosts, std::size_t> node_caches{
    {"nearest_cache", &NodeCosts::nearest_cache},
    {"own_cache", &NodeCosts::own_cache},
    {"shared_cache", &NodeCosts::shared_cache}};
inline const Fields<NodeCosts, CostBySize> node_tables{
    {"copy", &NodeCosts::copy},
    {"copy_shared_cache", &NodeCosts::copy_shared_cache},
    {"combine", &NodeCosts::combine}};

inline Json json_of(double seconds) { return seconds; }
inline Json json_of(std::size_t bytes) { return bytes; }
inline Json json_of(const CostBySize& table) {
  Json points = Json::array();
  for (const CostBySize::Point& p : table.points()) {
    points.push_back(Json::array({static_cast<std::size_t>(p.bytes), p.seconds}));
  }
  return points;
}

template <class T, class... Values>
void write_fields(Json& all, const T& of, const Fields<T, Values>&... fields) {
  const auto write = [&](const auto& some) {
    for (const auto& [name, member] : some) all[name] = json_of(of.*member);
  };
  (write(fields), ...);
}

/// Adds the names of fields to those that are allowed.
template <class... F>
std::vector<std::string_view> names_of(std::vector<std::string_view> more, const F&... fields) {
  const auto add = [&](const auto& some) {
    for (const auto& [name, member] : some) more.push_back(name);
  };
  (add(fields), ...);
  return more;
}

/// As read_node_costs() reads it.
inline Json node_costs_json(const NodeCosts& c) {
  Json all{{"papcoll_node_costs", 1}};
  write_fields(all, c, node_times, node_caches);
  all["code"] = Json(c.code);
  all["memory_per_byte"] = c.memory_per_byte;
  all["error"] = c.error;
  write_fields(all, c, node_tables);
  for (const auto& [name, pair] : {std::pair{"near", &c.same_l3}, {"apart", &c.cross_l3}}) {
    if (pair->known) write_fields(all[name], *pair, pair_times, pair_tables);
  }
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
  in.allow_only(names_of({}, pair_times, pair_tables));
  PairCosts pair;
  pair.known = true;
  for (const auto& [name, member] : pair_times) in.read(name, pair.*member, in_seconds);
  for (const auto& [name, member] : pair_tables) pair.*member = cost_table(in, name);
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
  in.allow_only(
      names_of({"papcoll_node_costs", "code", "memory_per_byte", "error", "near", "apart"},
               node_times, node_caches, node_tables));
  NodeCosts c;
  for (const auto& [name, member] : node_times) in.read(name, c.*member, in_seconds);
  if (in.has("code")) {
    const JsonObject code = in.object("code");
    for (const auto& [name, value] : code.json().items()) {
      code.read(name.c_str(), c.code[name], in_seconds);
    }
  }
  in.read("memory_per_byte", c.memory_per_byte, in_seconds_a_byte);
  constexpr TimeUnit part{10, "a part from 0 to 10, as 0.25 for 25 %"};
  in.read("error", c.error, part);
  for (const auto& [name, member] : node_caches) in.read(name, c.*member, std::size_t{1});
  // The simulator has a table of the lines of each rank's own caches.
  constexpr std::size_t most = std::size_t{1} << 25U;
  for (const auto& [name, bytes] :
       {std::pair{"nearest_cache", c.nearest_cache}, std::pair{"own_cache", c.own_cache}}) {
    if (bytes <= most) continue;
    in.fail(name, "it is " + std::to_string(bytes) + ": write at most " + std::to_string(most));
  }
  for (const auto& [name, member] : node_tables) c.*member = cost_table(in, name);
  if (in.has("near")) c.same_l3 = pair_costs(in.object("near"));
  if (in.has("apart")) c.cross_l3 = pair_costs(in.object("apart"));
  try {
    c.require_sense();
  } catch (const argument_error& e) {
    throw argument_error(std::string(e.what()) + " (" + file + ")");
  }
  return c;
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
