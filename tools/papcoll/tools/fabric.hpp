#pragma once

// What programs of a network's maker tell of it, and the network file that says the same.

#include <papcoll/base/joined.hpp>
#include <papcoll/error.hpp>
#include <papcoll/topology/network_file.hpp>
#include <papcoll/topology/sysfs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace tool {

/// Hosts and switches, and the widths of the links between them in Gbit/s.
class Fabric {
 public:
  using Widths = std::map<std::size_t, double>;  // by neighbour

  /// The host or switch that a key stands for, new or known. Keys of both are different.
  std::size_t vertex(const std::string& key, const std::string& name, bool is_host) {
    const auto [at, is_new] = of_key_.try_emplace(key, vertices_.size());
    if (is_new) vertices_.push_back({key, name, is_host, {}});
    return at->second;
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
    name_all();
    std::string text = "# By papcoll topology, of " + source + ".\n";
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
    std::string name;
    bool is_host;
    Widths links;
    bool is_joined = false;  ///< to another, which has its links now; or left out
  };

  bool has_joined() const {
    return std::any_of(vertices_.begin(), vertices_.end(),
                       [](const Vertex& v) { return v.is_joined; });
  }

  /// Names are words, each once: where several have one, or there is none, the key is the name.
  void name_all() {
    std::map<std::string, int> times;
    for (Vertex& v : vertices_) {
      for (char& c : v.name) {
        if (std::string_view{" \t#[]"}.find(c) != std::string_view::npos) c = '_';
      }
      ++times[v.name];
    }
    for (Vertex& v : vertices_) {
      if (v.name.empty() || times[v.name] > 1) v.name = v.key;
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

  /// Of hosts or of switches, by their names.
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

/// Lines of a text, with what messages say of them.
template <class F>
void for_each_line(std::string_view text, F f) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    constexpr std::size_t longest = 1024;
    if (line.size() > longest) {
      throw argument_error(
          detail::joined({"papcoll: line ", number, " of what is to be converted has ", line.size(),
                          " characters: at most ", longest}));
    }
    f(number, line);
  }
}

inline std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view blanks = " \t";
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(blanks, at)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

/// The Gbit/s of a link, as InfiniBand writes it: "4xEDR". Nothing if it is no such text.
inline std::optional<double> infiniband_width(std::string_view text) {
  struct Speed {
    std::string_view name;
    double of_four_lanes;
  };
  constexpr Speed speeds[] = {{"SDR", 8},   {"DDR", 16},  {"QDR", 32},  {"FDR10", 40}, {"FDR", 56},
                              {"EDR", 100}, {"HDR", 200}, {"NDR", 400}, {"XDR", 800}};
  const std::size_t times = text.find('x');
  if (times == std::string_view::npos) return {};
  const int lanes = detail::number_of(std::string{text.substr(0, times)}, 12);
  for (const Speed& s : speeds) {
    if (s.name == text.substr(times + 1) && lanes > 0) return lanes * s.of_four_lanes / 4;
  }
  return {};
}

/// Reads what ibnetdiscover prints: sections of switches and adapters, each with a line for each
/// port that has a link, so that links are there twice.
class Ibnetdiscover {
 public:
  explicit Ibnetdiscover(std::string_view text) {
    // Names stand at the beginning of sections, which may come after links that name them.
    for_each_line(text, [this](std::size_t, std::string_view line) { read_section(line); });
    for_each_line(text, [this](std::size_t number, std::string_view line) {
      number_ = number;
      read_port(line);
    });
    if (names_.empty()) {
      throw argument_error(
          "papcoll: this is no output of ibnetdiscover: it has no line Switch or Ca");
    }
  }

  Fabric take() { return std::move(fabric_); }

 private:
  using End = std::pair<std::string, std::string>;  // an id such as S-0002c9…, and a port

  /// The text between the next two quotation marks, which are taken away with it.
  static std::optional<std::string> quoted(std::string_view& line) {
    const std::size_t first = line.find('"');
    if (first == std::string_view::npos) return {};
    const std::size_t last = line.find('"', first + 1);
    if (last == std::string_view::npos) return {};
    std::string text{line.substr(first + 1, last - first - 1)};
    line.remove_prefix(last + 1);
    return text;
  }
  /// The text of "[…" at the beginning of the line.
  static std::optional<std::string> port(std::string_view line) {
    if (line.empty() || line.front() != '[') return {};
    const std::size_t end = line.find(']');
    if (end == std::string_view::npos) return {};
    return std::string{line.substr(1, end - 1)};
  }
  static bool begins_section(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    return words.size() > 2 && (words[0] == "Switch" || words[0] == "Ca" || words[0] == "Rt");
  }

  void read_section(std::string_view line) {
    if (!begins_section(line)) return;
    const std::optional<std::string> id = quoted(line);
    const std::optional<std::string> description = quoted(line);
    if (id) names_[*id] = description.value_or("");
  }

  /// Nothing for what passes no messages on between hosts: routers, and units within switches.
  std::optional<std::size_t> vertex(const std::string& id) {
    const std::string description = names_.count(id) != 0 ? names_[id] : "";
    if (id.compare(0, 2, "S-") == 0) return fabric_.vertex(id, description, false);
    if (id.compare(0, 2, "H-") != 0) return {};
    if (description.find("Aggregation Node") != std::string::npos) return {};
    // "host HCA-1", "host mlx5_0": all adapters of a host are it. The name of a model is no host's.
    const std::vector<std::string_view> words = words_of(description);
    const bool is_model = description.find("Mellanox Technologies") != std::string::npos;
    const std::string host = words.empty() || is_model ? id : std::string{words[0]};
    return fabric_.vertex(host, host, true);
  }

  void read_port(std::string_view line) {
    if (begins_section(line)) {
      here_ = quoted(line).value_or("");
      return;
    }
    const std::optional<std::string> own = port(line);
    if (!own || here_.empty()) return;
    const std::optional<std::string> id = quoted(line);
    const std::optional<std::string> other = port(line);
    if (!id || !other) fail("a port without the name and port that it is linked with");
    const End a{here_, *own};
    const End b{*id, *other};
    if (!known_.insert(std::minmax(a, b)).second) return;
    const std::optional<std::size_t> from = vertex(here_);
    const std::optional<std::size_t> to = vertex(*id);
    if (from && to) fabric_.link(*from, *to, width(line));
  }

  double width(std::string_view line) const {
    for (const std::string_view word : words_of(line)) {
      const std::optional<double> found = infiniband_width(word);
      if (found) return *found;
    }
    fail("a link without a speed that is known, such as 4xEDR");
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw argument_error(
        detail::joined({"papcoll: output of ibnetdiscover, line ", number_, ": ", what}));
  }

  Fabric fabric_;
  std::size_t number_ = 0;
  std::map<std::string, std::string> names_;  ///< descriptions, by id
  std::string here_;                          ///< the id of this section
  std::set<std::pair<End, End>> known_;
};

/// Reads what `opareport -o links` prints: of each link a line with its rate and one end, and a
/// line with the other.
inline Fabric read_opareport(std::string_view text) {
  Fabric fabric;
  struct OneEnd {
    double width;
    std::optional<std::size_t> vertex;
  };
  std::optional<OneEnd> open;
  bool any = false;
  const auto end = [&fabric](const std::vector<std::string_view>& words) -> std::size_t {
    const std::string guid{words[1]};
    std::string name;
    if (words[3] == "SW") {
      for (std::size_t i = 4; i < words.size(); ++i) {
        name.append(name.empty() ? "" : "_").append(words[i]);
      }
      return fabric.vertex(guid, name, false);
    }
    const std::string host{words.size() > 4 ? words[4] : words[1]};  // "host hfi1_0"
    return fabric.vertex(host, host, true);
  };
  for_each_line(text, [&](std::size_t number, std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    const bool is_end = words.size() >= 4 && (words[3] == "SW" || words[3] == "FI") &&
                        words[1].substr(0, 2) == "0x";
    if (!is_end) return;
    const auto fail = [number](std::string_view what) {
      throw argument_error(
          detail::joined({"papcoll: output of opareport, line ", number, ": ", what}));
    };
    if (words[0] == "<->") {
      if (!open) fail("the other end of a link comes without the first one");
      fabric.link(*open->vertex, end(words), open->width);
      open.reset();
      any = true;
      return;
    }
    const std::string_view rate = words[0];
    const int width = rate.back() == 'g'
                          ? detail::number_of(std::string{rate.substr(0, rate.size() - 1)}, 100000)
                          : -1;
    if (width <= 0) fail("the rate of a link is no number of Gbit/s, such as 100g");
    if (open) fail("a link begins, and the one before has no other end");
    open = OneEnd{static_cast<double>(width), end(words)};
  });
  if (!any)
    throw argument_error("papcoll: this is no output of opareport -o links: it has no links");
  return fabric;
}

}  // namespace tool
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
