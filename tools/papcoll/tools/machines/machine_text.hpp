// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A machine as text, for people.

#include <papcoll/base/text.hpp>
#include <papcoll/tools/machines/gpus_text.hpp>
#include <papcoll/tools/machines/indented.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/network.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// "0-3,8" of numbers that ascend.
inline std::string ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (last > i) text += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

/// "32 KB", "1.5 MB".
inline std::string size_text(std::size_t bytes) {
  const bool is_large = bytes >= (1U << 20U);
  char text[32];
  std::snprintf(text, sizeof text, "%.4g %s",
                static_cast<double>(bytes) / (is_large ? 1048576.0 : 1024.0),
                is_large ? "MB" : "KB");
  return text;
}

using papcoll::detail::counted;

/// The objects of one node, of which `places` are sorted: a line for each package, NUMA domain and
/// L3 cache; kinds that are unknown have none.
class NodeText {
 public:
  NodeText(Indented& out, const std::vector<Place>& places) : out_(out), places_(places) {}

  void write(int depth) const { write(depth, 0, 0, places_.size()); }

  /// "package 0, L3 cache 0, core 3".
  static std::string in_a_line(const Place& place) {
    std::string text;
    for (const Kind& kind : kinds) {
      if (place.*kind.member == Place::anywhere) continue;
      text += (text.empty() ? "" : ", ") + std::string(kind.one) + " " +
              std::to_string(place.*kind.member);
    }
    return text.empty() ? "not bound, or nothing is known of its processors" : text;
  }

  std::string summary() const {
    std::string text;
    for (const Kind& kind : kinds) {
      std::set<int> numbers;
      for (const Place& p : places_) {
        if (p.*kind.member != Place::anywhere) numbers.insert(p.*kind.member);
      }
      if (numbers.empty()) continue;
      text += (text.empty() ? "" : ", ") + counted(numbers.size(), kind.one, kind.more);
    }
    const auto unknown = static_cast<std::size_t>(std::count_if(
        places_.begin(), places_.end(), [](const Place& p) { return p.core == Place::anywhere; }));
    if (text.empty()) return counted(unknown, "processor") + " of which nothing is known";
    return unknown == 0 ? text : text + ", " + counted(unknown, "processor") + " of unknown cores";
  }

 private:
  struct Kind {
    std::uint16_t Place::*member;
    const char* one;
    const char* more;
  };
  static constexpr Kind kinds[] = {{&Place::package, "package", "packages"},
                                   {&Place::numa, "NUMA domain", "NUMA domains"},
                                   {&Place::l3, "L3 cache", "L3 caches"},
                                   {&Place::core, "core", "cores"}};
  static constexpr std::size_t core = 3;

  std::string cores_of(std::size_t first, std::size_t last) const {
    std::vector<int> numbers;
    for (std::size_t i = first; i < last; ++i) {
      if (places_[i].core != Place::anywhere) numbers.push_back(places_[i].core);
    }
    return numbers.empty() ? "" : (numbers.size() == 1 ? "core " : "cores ") + ranges(numbers);
  }

  /// The places from first to last, which are together on all kinds before.
  void write(int depth, std::size_t kind, std::size_t first, std::size_t last) const {
    if (kind == core) {
      const std::string cores = cores_of(first, last);
      if (!cores.empty()) out_.line(depth, cores);
      return;
    }
    for (std::size_t i = first; i < last;) {
      const std::uint16_t number = places_[i].*kinds[kind].member;
      std::size_t end = i;
      while (end < last && places_[end].*kinds[kind].member == number) ++end;
      const bool is_known = number != Place::anywhere;
      if (is_known) {
        const bool is_inmost = kind + 1 == core;
        const std::string cores = is_inmost ? cores_of(i, end) : "";
        out_.line(depth, std::string(kinds[kind].one) + " " + std::to_string(number) +
                             (cores.empty() ? "" : ": " + cores));
        if (!is_inmost) write(depth + 1, kind + 1, i, end);
      } else {
        write(depth, kind + 1, i, end);
      }
      i = end;
    }
  }

  Indented& out_;
  const std::vector<Place>& places_;
};

/// Which nodes are near to each other.
class NetworkText {
 public:
  NetworkText(Indented& out, const Network& network) : out_(out), network_(network) {}

  void write(int depth) const {
    const auto nodes = static_cast<std::size_t>(network_.nodes());
    if (nodes < 2) return;
    std::string text = "network of " + counted(nodes, "node") + ": ";
    if (network_.is_tree()) {
      const std::size_t switches = network_.uplinks().size() - nodes;
      text += switches == 1 ? "one switch" : "a tree of " + counted(switches, "switch", "switches");
    } else {
      text += "by hops";
    }
    out_.line(depth, text + hops());
    std::vector<int> all(nodes);
    for (std::size_t n = 0; n < nodes; ++n) all[n] = static_cast<int>(n);
    write(depth + 1, 0, all);
  }

 private:
  std::string hops() const {
    constexpr int most_nodes = 4096;  // beyond, looking at all pairs takes long
    if (network_.nodes() > most_nodes) return "";
    double least = network_.hops(0, 1);
    double most = least;
    for (int a = 0; a < network_.nodes(); ++a) {
      for (int b = a + 1; b < network_.nodes(); ++b) {
        least = std::min(least, network_.hops(a, b));
        most = std::max(most, network_.hops(a, b));
      }
    }
    char text[80];
    if (least == most) {
      std::snprintf(text, sizeof text, ", %g hops between any two", least);
    } else {
      std::snprintf(text, sizeof text, ", %g to %g hops between two", least, most);
    }
    return text;
  }

  void write(int depth, int level, const std::vector<int>& nodes) const {
    if (level == network_.levels()) return;
    std::vector<std::pair<int, std::vector<int>>> branches;
    for (const int n : nodes) {
      const int branch = network_.branch(level, n);
      const auto at = std::find_if(branches.begin(), branches.end(),
                                   [branch](const auto& b) { return b.first == branch; });
      if (at == branches.end()) {
        branches.push_back({branch, {n}});
      } else {
        at->second.push_back(n);
      }
    }
    for (const auto& [branch, members] : branches) {
      const bool is_one = members.size() == 1;
      out_.line(depth, "together: " + std::string(is_one ? "node " : "nodes ") + ranges(members));
      if (!is_one) write(depth + 1, level + 1, members);
    }
  }

  Indented& out_;
  const Network& network_;
};

/// Equal nodes in a row are shown once.
inline std::string described(const Machine& machine) {
  Indented out;
  out.line(0, machine.source);
  const CacheSizes& caches = machine.caches;
  std::string sizes;
  for (const auto& [name, bytes] :
       {std::pair{"L1", caches.l1}, {"L2", caches.l2}, {"L3", caches.l3}}) {
    if (bytes == 0) continue;
    sizes += (sizes.empty() ? "" : ", ") + std::string(name) + " " + size_text(bytes);
  }
  if (!sizes.empty()) out.line(1, "caches: " + sizes);
  std::vector<std::vector<Place>> nodes(static_cast<std::size_t>(machine.network().nodes()));
  for (const Place& p : machine.places()) {
    nodes[static_cast<std::size_t>(p.node)].push_back({0, p.package, p.numa, p.l3, p.core});
  }
  for (std::vector<Place>& places : nodes) {
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
      return std::tie(a.package, a.numa, a.l3, a.core) < std::tie(b.package, b.numa, b.l3, b.core);
    });
  }
  for (std::size_t n = 0; n < nodes.size();) {
    std::size_t last = n;
    while (last + 1 < nodes.size() && nodes[last + 1] == nodes[n]) ++last;
    if (!nodes[n].empty()) {
      const NodeText text{out, nodes[n]};
      out.line(1,
               (last == n ? "node " + std::to_string(n)
                          : "nodes " + std::to_string(n) + "-" + std::to_string(last) + ", each") +
                   ": " + text.summary());
      text.write(2);
    }
    n = last + 1;
  }
  GpusText{out, machine.gpus}.write(1);
  NetworkText{out, machine.network()}.write(1);
  return out.text();
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
