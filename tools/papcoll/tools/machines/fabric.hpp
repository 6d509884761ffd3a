// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A network of hosts and switches as described by its links, and the equivalent network file.

#include <papcoll/base/error.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/network_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// Hosts and switches, and the widths of the links between them in Gbit/s.
class Fabric {
 public:
  using Widths = std::map<std::size_t, double>;  // by neighbour

  /// The switch that a key stands for, new or known. No adapter has its key.
  std::size_t a_switch(const std::string& key, const std::string& name) {
    return vertex({key, name, "", false});
  }
  /// The adapter that a key stands for, new or known, by the words of its description, as "n1
  /// mlx5_0": its host's name and its own. Either may be missing.
  std::size_t adapter(const std::string& key, const std::vector<std::string_view>& words) {
    const std::string_view first = words.empty() ? "" : words[0];
    const std::string_view second = words.size() > 1 ? words[1] : "";
    const bool has_host = !is_no_host(first) && (is_adapter(second) || !is_adapter(first));
    return vertex({key, std::string{has_host ? first : ""}, std::string{second}, true});
  }
  /// Links between the same two add up.
  void link(std::size_t a, std::size_t b, double width) {
    if (a == b) return;
    vertices_[a].links[b] += width;
    vertices_[b].links[a] += width;
  }

  /// A network file: of a tree, if the network is one when switches side by side are taken for one,
  /// else of hops. Throws argument_error.
  std::string network_file(const std::string& source) {
    join_adapters();
    name_all();
    std::string text = "# By papcoll topology, of " + source + ".\n" + remark_on_hosts();
    Fabric joined = *this;
    joined.leave_out_unused();
    joined.join_side_by_side();
    if (!joined.is_tree()) joined.join_topmost();
    if (joined.is_tree()) {
      if (joined.has_joined()) {
        text += "# Switches that are side by side are one here, with the sum of their widths.\n";
      }
      text += "# Widths are in Gbit/s.\n" + joined.lines_of_tree();
    } else {
      text +=
          "# No tree of switches: links on the shortest way between two hosts.\n" + lines_of_hops();
    }
    static_cast<void>(read_network(text, "of " + source));
    return text;
  }

 private:
  struct Vertex {
    std::string key;
    std::string name;     ///< empty: the key is
    std::string adapter;  ///< of an adapter its own
    bool is_host;
    Widths links{};
    bool is_joined = false;  ///< to another, which has its links now; or left out
  };

  std::size_t vertex(Vertex v) {
    const auto [at, is_new] = of_key_.try_emplace(v.key, vertices_.size());
    if (is_new) vertices_.push_back(std::move(v));
    return at->second;
  }

  /// Returns true for what hosts without a name of their own are called.
  static bool is_no_host(std::string_view word) {
    return word == "(none)" || word.substr(0, word.find('.')) == "localhost";
  }
  /// Returns true for the name of an adapter: such as HCA-1, mlx5_0 or mlx5_bond_0, or by the place
  /// of its card, such as ibp59s0f1 or rocep1s0.
  static bool is_adapter(std::string_view word) {
    const auto is_named = [word](std::string_view kind, std::string_view more) {
      return word.starts_with(kind) && word.size() > kind.size() &&
             word.find_first_not_of(more, kind.size()) == word.npos &&
             word.find_first_of("0123456789", kind.size()) != word.npos;
    };
    for (const std::string_view kind :
         {"ibp", "ibP", "ibs", "ibo", "iwp", "iws", "iwo", "roce", "opap"}) {
      if (is_named(kind, "0123456789psfoPdnv")) return true;
    }
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_0123456789";
    for (const std::string_view kind :
         {"HCA-", "mlx4_", "mlx5_", "mthca", "hfi1_", "qib", "bnxt_re", "hns_", "irdma", "i40iw",
          "efa_", "erdma_", "mana_", "qedr", "cxgb4_", "ocrdma", "usnic_", "rxe", "siw"}) {
      if (is_named(kind, letters)) return true;
    }
    return false;
  }

  /// Makes one host of the adapters that name the same one. Adapters of a host differ in their own
  /// names: where two do not, several hosts call themselves alike, and no name is left to them.
  void join_adapters() {
    std::map<std::uint64_t, std::vector<std::size_t>> of_host;
    for (std::size_t v = 0; v < vertices_.size(); ++v) {
      const std::string& name = vertices_[v].name;
      if (vertices_[v].is_host && !name.empty()) of_host[hash_of_host(name)].push_back(v);
    }
    for (const auto& [host, adapters] : of_host) {
      std::set<std::string> names;
      const bool alike = std::any_of(adapters.begin(), adapters.end(), [&](std::size_t v) {
        const std::string& own = vertices_[v].adapter;
        return !own.empty() && !names.insert(own).second;
      });
      for (const std::size_t v : adapters) {
        if (alike) {
          vertices_[v].name.clear();
        } else if (v != adapters.front()) {
          join(adapters.front(), v);
        }
      }
    }
  }

  /// Returns a remark on hosts that have no name, which Options::machine finds on no node.
  std::string remark_on_hosts() const {
    const auto count = std::count_if(vertices_.begin(), vertices_.end(),
                                     [](const Vertex& v) { return v.is_host && v.name == v.key; });
    if (count == 0) return {};
    return "# Adapters without a host's name of their own: " + std::to_string(count) +
           ". Each is a node here, named by its id:\n# write the host's name instead, or leave "
           "node "
           "and link out if another node is that host.\n";
  }

  bool has_joined() const {
    return std::any_of(vertices_.begin(), vertices_.end(),
                       [](const Vertex& v) { return v.is_joined && !v.is_host; });
  }

  /// Names are words, each once: where several have one, or there is none, the key is the name. A
  /// host keeps its name if a switch has it, too.
  void name_all() {
    std::map<std::string, int> of_hosts;
    std::map<std::string, int> of_all;
    for (Vertex& v : vertices_) {
      const auto is_no_letter = [](char c) {
        return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' ||
               std::string_view{"#[],"}.find(c) != std::string_view::npos;
      };
      for (std::string* const name : {&v.key, &v.name}) {
        std::replace_if(name->begin(), name->end(), is_no_letter, '_');
      }
      if (v.name.size() > detail::NetworkReader::longest_word) v.name.clear();
      for (auto* const times : {&of_hosts, &of_all}) {
        const bool counts = times == &of_all || v.is_host;
        if (counts && !v.is_joined) ++(*times)[v.name];
        if (v.name != v.key) ++(*times)[v.key];
      }
    }
    for (Vertex& v : vertices_) {
      if (v.name.empty() || (v.is_host ? of_hosts : of_all)[v.name] > 1) v.name = v.key;
    }
  }

  /// Links to the nearest host, of each vertex.
  std::vector<int> heights() const {
    std::vector<int> of(vertices_.size(), -1);
    std::queue<std::size_t> todo;
    for (std::size_t v = 0; v < of.size(); ++v) {
      if (!vertices_[v].is_host) continue;
      of[v] = 0;
      todo.push(v);
    }
    for (; !todo.empty(); todo.pop()) {
      for (const auto& [other, width] : vertices_[todo.front()].links) {
        if (of[other] >= 0) continue;
        of[other] = of[todo.front()] + 1;
        todo.push(other);
      }
    }
    return of;
  }

  /// Switches that no host reaches.
  void leave_out_unused() {
    const std::vector<int> height = heights();
    for (std::size_t v = 0; v < vertices_.size(); ++v) {
      if (height[v] < 0) vertices_[v].is_joined = true;
    }
  }

  void join(std::size_t a, std::size_t b) {
    for (const auto& [other, width] : vertices_[b].links) {
      vertices_[other].links.erase(b);
      if (other != a) link(a, other, width);
    }
    vertices_[b].links.clear();
    vertices_[b].is_joined = true;
  }

  /// From the hosts up, makes one switch of those of a height that have the same ones below.
  void join_side_by_side() {
    const std::vector<int> height = heights();
    const int most = height.empty() ? 0 : *std::max_element(height.begin(), height.end());
    for (int h = 2; h <= most; ++h) {
      std::map<std::set<std::size_t>, std::size_t> known;
      for (std::size_t v = 0; v < vertices_.size(); ++v) {
        if (height[v] != h || vertices_[v].is_joined) continue;
        std::set<std::size_t> below;
        for (const auto& [other, width] : vertices_[v].links) {
          if (height[other] < h) below.insert(other);
        }
        const auto [at, is_new] = known.try_emplace(std::move(below), v);
        if (!is_new) join(at->second, v);
      }
    }
  }

  void join_topmost() {
    const std::vector<int> height = heights();
    const int most = height.empty() ? 0 : *std::max_element(height.begin(), height.end());
    if (most < 2) return;
    std::optional<std::size_t> first;
    for (std::size_t v = 0; v < vertices_.size(); ++v) {
      if (height[v] != most || vertices_[v].is_joined) continue;
      if (first) {
        join(*first, v);
      } else {
        first = v;
      }
    }
  }

  bool is_tree() const {
    std::size_t count = 0;
    std::size_t ends = 0;
    for (const Vertex& v : vertices_) {
      if (v.is_joined) continue;
      if (v.is_host && (v.links.size() != 1 || vertices_[v.links.begin()->first].is_host)) {
        return false;
      }
      ++count;
      ends += v.links.size();
    }
    if (count == 0 || ends != 2 * (count - 1)) return false;
    std::size_t start = 0;
    while (vertices_[start].is_joined) ++start;
    const std::vector<int> hops = hops_from(start);
    for (std::size_t v = 0; v < vertices_.size(); ++v) {
      if (!vertices_[v].is_joined && hops[v] < 0) return false;
    }
    return true;
  }

  /// The links on the shortest way from a vertex to each, −1 where there is none. Hosts pass
  /// nothing on.
  std::vector<int> hops_from(std::size_t from) const {
    std::vector<int> hops(vertices_.size(), -1);
    std::queue<std::size_t> todo;
    hops[from] = 0;
    todo.push(from);
    for (; !todo.empty(); todo.pop()) {
      const std::size_t v = todo.front();
      if (vertices_[v].is_host && v != from) continue;
      for (const auto& [other, width] : vertices_[v].links) {
        if (hops[other] >= 0) continue;
        hops[other] = hops[v] + 1;
        todo.push(other);
      }
    }
    return hops;
  }

  /// Returns the numbers of hosts or of switches, by their names.
  std::vector<std::size_t> sorted(bool hosts) const {
    std::vector<std::size_t> all;
    for (std::size_t v = 0; v < vertices_.size(); ++v) {
      if (vertices_[v].is_host == hosts && !vertices_[v].is_joined) all.push_back(v);
    }
    std::sort(all.begin(), all.end(), [this](std::size_t a, std::size_t b) {
      return vertices_[a].name < vertices_[b].name;
    });
    return all;
  }

  std::string lines_of_tree() const {
    std::string text;
    std::vector<std::size_t> all = sorted(true);
    for (const std::size_t v : all) text += "node " + vertices_[v].name + "\n";
    const std::vector<std::size_t> switches = sorted(false);
    for (const std::size_t v : switches) text += "switch " + vertices_[v].name + "\n";
    all.insert(all.end(), switches.begin(), switches.end());
    std::set<std::size_t> done;
    for (const std::size_t v : all) {
      std::vector<std::pair<std::string, double>> links;
      for (const auto& [other, width] : vertices_[v].links) {
        if (done.count(other) == 0) links.emplace_back(vertices_[other].name, width);
      }
      std::sort(links.begin(), links.end());
      for (const auto& [name, width] : links) {
        char number[32];
        std::snprintf(number, sizeof number, "%g", width);
        text += "link " + vertices_[v].name + " " + name + " 1 " + number + "\n";
      }
      done.insert(v);
    }
    return text;
  }

  std::string lines_of_hops() const {
    std::string text;
    const std::vector<std::size_t> hosts = sorted(true);
    constexpr std::size_t most = 2048;
    if (hosts.size() > most) {
      throw argument_error(detail::joined({"papcoll: the network is no tree, and has ",
                                           hosts.size(), " hosts: hops are told between at most ",
                                           most, ": leave the other hosts out"}));
    }
    for (const std::size_t v : hosts) text += "node " + vertices_[v].name + "\n";
    for (std::size_t a = 0; a < hosts.size(); ++a) {
      const std::vector<int> hops = hops_from(hosts[a]);
      for (std::size_t b = a + 1; b < hosts.size(); ++b) {
        if (hops[hosts[b]] < 0) {
          throw argument_error("papcoll: no links lead from " + vertices_[hosts[a]].name + " to " +
                               vertices_[hosts[b]].name);
        }
        text += "hops " + vertices_[hosts[a]].name + " " + vertices_[hosts[b]].name + " " +
                std::to_string(hops[hosts[b]]) + "\n";
      }
    }
    return text;
  }

  std::vector<Vertex> vertices_;
  std::map<std::string, std::size_t> of_key_;
};

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
