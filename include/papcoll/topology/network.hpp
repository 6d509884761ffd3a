// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>

#include <cstddef>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// The network between the nodes of a machine: a tree of switches, or the hops between each pair of
/// nodes. Nodes are 0…nodes−1. A regular value; all errors are argument_error.
///
/// Nodes that are near to each other are branches of one branch, on each of several levels: in a
/// tree those below one switch, by hops those that are joined by steps of at most so many hops.
/// Level 0 is the outermost: in a fat tree of three levels of switches the pods, level 1 the leaf
/// switches.
class Network {
 public:
  /// A link from a vertex of the tree, a node or a switch, up to its switch.
  struct Uplink {
    int switch_number = -1;  ///< vertex of the switch; −1: this vertex is the top
    double cost = 1;         ///< hops that it counts as
    double width = 1;        ///< bytes a time unit, each way, in multiples of some unit
    friend bool operator==(const Uplink&, const Uplink&) = default;
  };

  /// No nodes.
  Network() = default;

  /// All nodes on one switch: 2 hops between any two.
  static Network one_switch(int nodes);

  /// Vertices 0…nodes−1 are the nodes, the others are switches. Throws if a vertex is its own
  /// switch, directly or not, if there are several tops, if a node is a switch, or if a link's cost
  /// or width is not positive.
  static Network tree(int nodes, detail::Vector<Uplink> uplinks);

  /// A tree of switches in which `ports[0]` nodes are on a leaf switch, `ports[1]` leaf switches on
  /// a switch above, and so on; above them is one top. `widths[i]` is that of an uplink of level i,
  /// the nodes' first; what is left out is 1.
  static Network fat_tree(int nodes, const std::vector<int>& ports,
                          const std::vector<double>& widths = {});

  /// hops[a * nodes + b] from node a to node b, 0 for a node and itself. Throws unless they are
  /// nodes² finite numbers, not negative, and the same both ways.
  static Network by_hops(int nodes, std::vector<float> hops);

  int nodes() const noexcept { return nodes_; }
  /// Returns the number of levels of branches between the whole network and a node.
  int levels() const noexcept { return levels_; }
  /// The branch that a node is in; numbers of a level are of any size.
  int branch(int level, int node) const noexcept {
    return branches_[static_cast<std::size_t>(node) * static_cast<std::size_t>(levels_) +
                     static_cast<std::size_t>(level)];
  }
  /// Hops from one node to another; 0 to itself.
  double hops(int from, int to) const noexcept;

  /// Returns true if it is a tree, whose links are known.
  bool is_tree() const noexcept { return hops_.empty(); }
  /// The links of a tree's vertices, the nodes first.
  const detail::Vector<Uplink>& uplinks() const noexcept { return uplinks_; }
  /// The number of links from the top of a tree to a vertex.
  int depth(int vertex) const noexcept { return depths_[static_cast<std::size_t>(vertex)]; }
  /// Otherwise: see by_hops().
  const std::vector<float>& hops_matrix() const noexcept { return hops_; }

  /// Returns the network of some of the nodes, which are then 0, 1, … in the order given.
  Network among(const std::vector<int>& nodes) const;

  friend bool operator==(const Network&, const Network&) = default;

 private:
  void find_depths();
  void branch_by_switches();
  void branch_by_hops();

  int nodes_ = 0;
  int levels_ = 0;
  detail::Vector<Uplink> uplinks_;  ///< by vertex
  std::vector<int> depths_;
  std::vector<float> hops_;
  std::vector<int> branches_;  ///< by node, then level
};

/// The bytes that pass each link of a network, one way and the other. Of a network by hops only the
/// nodes' own links are known, of width 1.
class LinkLoads {
 public:
  explicit LinkLoads(const Network& network);

  void add(int from, int to, double bytes) noexcept;
  /// The most of all links, in bytes over the link's width.
  double heaviest() const noexcept;
  /// The most of the links of one node, in bytes over the link's width.
  double of_node(int node) const noexcept;

 private:
  double width(std::size_t vertex) const noexcept {
    return network_->is_tree() ? network_->uplinks()[vertex].width : 1.0;
  }

  const Network* network_;
  std::vector<double> up_;  ///< by vertex
  std::vector<double> down_;
};

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/base/error.hpp>
#include <papcoll/base/floating_order.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

PAPCOLL_DECL Network Network::one_switch(int nodes) {
  detail::Vector<Uplink> uplinks(static_cast<std::size_t>(nodes) + 1, Uplink{nodes, 1, 1});
  uplinks.back().switch_number = -1;
  return tree(nodes, std::move(uplinks));
}

PAPCOLL_DECL Network Network::tree(int nodes, detail::Vector<Uplink> uplinks) {
  Network n;
  n.nodes_ = nodes;
  n.uplinks_ = std::move(uplinks);
  n.find_depths();
  n.branch_by_switches();
  return n;
}

[[gnu::cold]] PAPCOLL_DECL Network Network::fat_tree(int nodes, const std::vector<int>& ports,
                                                     const std::vector<double>& widths) {
  if (nodes <= 0) return {};
  detail::Vector<Uplink> uplinks;
  int first = 0;  // vertex of the level below
  int count = nodes;
  for (std::size_t level = 0; count != 1 || level == 0; ++level) {
    const bool any = level < ports.size();
    const int wide = any ? std::max(ports[level], 1) : count;
    const double width = level < widths.size() ? widths[level] : 1;
    for (int i = 0; i < count; ++i) uplinks.push_back({first + count + i / wide, 1, width});
    first += count;
    count = (count + wide - 1) / wide;
  }
  uplinks.push_back({});
  return tree(nodes, std::move(uplinks));
}

[[gnu::cold]] PAPCOLL_DECL Network Network::by_hops(int nodes, std::vector<float> hops) {
  const auto n = static_cast<std::size_t>(nodes);
  if (nodes < 0 || hops.size() != n * n) {
    detail::throw_error<argument_error>({"papcoll: a network of ", nodes, " nodes has ", n * n,
                                         " hops between them, not ", hops.size()});
  }
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      const float h = hops[a * n + b];
      if (detail::is_finite(h) && h >= 0 && (a == b) == (h == 0) && h == hops[b * n + a]) continue;
      detail::throw_error<argument_error>(
          {"papcoll: hops between the nodes ", a, " and ", b,
           " must be positive, the same both ways, and 0 from a node to itself"});
    }
  }
  Network network;
  network.nodes_ = nodes;
  network.hops_ = std::move(hops);
  network.branch_by_hops();
  return network;
}

PAPCOLL_DECL double Network::hops(int from, int to) const noexcept {
  if (!is_tree()) {
    return static_cast<double>(
        hops_[static_cast<std::size_t>(from) * static_cast<std::size_t>(nodes_) +
              static_cast<std::size_t>(to)]);
  }
  double total = 0;
  while (from != to) {
    int& lower = depth(from) >= depth(to) ? from : to;
    const Uplink& up = uplinks_[static_cast<std::size_t>(lower)];
    total += up.cost;
    lower = up.switch_number;
  }
  return total;
}

[[gnu::cold]] PAPCOLL_DECL Network Network::among(const std::vector<int>& nodes) const {
  const int count = static_cast<int>(nodes.size());
  if (!is_tree()) {
    std::vector<float> hops;
    hops.reserve(nodes.size() * nodes.size());
    for (const int a : nodes) {
      for (const int b : nodes) hops.push_back(static_cast<float>(this->hops(a, b)));
    }
    return by_hops(count, std::move(hops));
  }
  detail::Vector<Uplink> uplinks;
  uplinks.reserve(nodes.size() + uplinks_.size() - static_cast<std::size_t>(nodes_));
  for (const int a : nodes) uplinks.push_back(uplinks_[static_cast<std::size_t>(a)]);
  uplinks.append(uplinks_.begin() + nodes_, uplinks_.size() - static_cast<std::size_t>(nodes_));
  for (Uplink& up : uplinks) {
    if (up.switch_number >= 0) up.switch_number += count - nodes_;
  }
  return tree(count, std::move(uplinks));
}

[[gnu::cold]] PAPCOLL_DECL void Network::find_depths() {
  const int vertices = static_cast<int>(uplinks_.size());
  int tops = 0;
  for (int v = 0; v < vertices; ++v) {
    const Uplink& up = uplinks_[static_cast<std::size_t>(v)];
    const int above = up.switch_number;
    if (above < 0) ++tops;
    if (above >= vertices || (above >= 0 && above < nodes_) || above == v) {
      detail::throw_error<argument_error>({"papcoll: vertex ", v, " of a network hangs from ",
                                           above, ", which is no switch: switches are ", nodes_,
                                           " to ", vertices - 1});
    }
    if (!(up.cost > 0) || !(up.width > 0)) {
      detail::throw_error<argument_error>({"papcoll: the link of vertex ", v,
                                           " of a network has a cost or a width that is not "
                                           "positive"});
    }
  }
  if (tops != 1 || nodes_ < 0 || nodes_ >= vertices) {
    detail::throw_error<argument_error>({"papcoll: a network of ", nodes_, " nodes and ",
                                         vertices - nodes_, " switches has ", tops,
                                         " tops: one switch, and only one, hangs from no other"});
  }
  depths_.assign(uplinks_.size(), -1);
  std::vector<int> way;
  for (int v = 0; v < vertices; ++v) {
    way.clear();
    int at = v;
    while (at >= 0 && depths_[static_cast<std::size_t>(at)] == -1) {
      depths_[static_cast<std::size_t>(at)] = -2;  // on the way
      way.push_back(at);
      at = uplinks_[static_cast<std::size_t>(at)].switch_number;
    }
    int depth = at < 0 ? -1 : depths_[static_cast<std::size_t>(at)];
    if (depth == -2) {
      detail::throw_error<argument_error>({"papcoll: the switches above vertex ", v,
                                           " of a network form a cycle: a network file is of a "
                                           "tree, else give hops"});
    }
    for (; !way.empty(); way.pop_back()) depths_[static_cast<std::size_t>(way.back())] = ++depth;
  }
}

[[gnu::cold]] PAPCOLL_DECL void Network::branch_by_switches() {
  levels_ = 0;
  for (int v = 0; v < nodes_; ++v) levels_ = std::max(levels_, depth(v) - 1);
  branches_.resize(static_cast<std::size_t>(nodes_) * static_cast<std::size_t>(levels_));
  for (int v = 0; v < nodes_; ++v) {
    int at = v;
    for (int level = levels_ - 1; level >= 0; --level) {
      // What hangs nearer to the top than others is a branch of its own below.
      if (depth(v) >= level + 2) at = uplinks_[static_cast<std::size_t>(at)].switch_number;
      branches_[static_cast<std::size_t>(v) * static_cast<std::size_t>(levels_) +
                static_cast<std::size_t>(level)] = at;
    }
  }
}

[[gnu::cold]] PAPCOLL_DECL void Network::branch_by_hops() {
  constexpr std::size_t most_levels = 6;
  std::vector<float> distances;  // that occur
  for (const float h : hops_) {
    if (h > 0 && std::find(distances.begin(), distances.end(), h) == distances.end()) {
      distances.push_back(h);
      if (distances.size() > 4 * most_levels) break;  // nothing like levels: the shortest ones
    }
  }
  detail::heap_sort(distances.data(), distances.size());
  const auto n = static_cast<std::size_t>(nodes_);
  std::vector<std::vector<int>> found;  // from the inmost
  std::vector<int> group(n);
  std::iota(group.begin(), group.end(), 0);
  std::vector<int> before = group;
  for (const float distance : distances) {
    if (found.size() == most_levels) break;
    // Joined by steps of at most this distance: the group's number is its lowest node.
    std::vector<int> todo;
    std::vector<int> next(n, -1);
    for (std::size_t first = 0; first < n; ++first) {
      if (next[first] >= 0) continue;
      next[first] = static_cast<int>(first);
      todo.assign(1, static_cast<int>(first));
      while (!todo.empty()) {
        const auto a = static_cast<std::size_t>(todo.back());
        todo.pop_back();
        for (std::size_t b = 0; b < n; ++b) {
          if (next[b] >= 0 || hops_[a * n + b] > distance) continue;
          next[b] = static_cast<int>(first);
          todo.push_back(static_cast<int>(b));
        }
      }
    }
    if (std::all_of(next.begin(), next.end(), [](int g) { return g == 0; })) break;
    if (next != before) found.push_back(next);
    before = std::move(next);
  }
  levels_ = static_cast<int>(found.size());
  branches_.clear();
  branches_.reserve(n * found.size());
  for (std::size_t node = 0; node < n; ++node) {
    for (std::size_t level = found.size(); level-- > 0;) branches_.push_back(found[level][node]);
  }
}

[[gnu::cold]] PAPCOLL_DECL LinkLoads::LinkLoads(const Network& network) : network_(&network) {
  const std::size_t links =
      network.is_tree() ? network.uplinks().size() : static_cast<std::size_t>(network.nodes());
  up_.assign(links, 0);
  down_.assign(links, 0);
}

PAPCOLL_DECL void LinkLoads::add(int from, int to, double bytes) noexcept {
  if (from == to) return;
  if (!network_->is_tree()) {
    up_[static_cast<std::size_t>(from)] += bytes;
    down_[static_cast<std::size_t>(to)] += bytes;
    return;
  }
  while (from != to) {
    const bool sends = network_->depth(from) >= network_->depth(to);
    int& lower = sends ? from : to;
    const auto vertex = static_cast<std::size_t>(lower);
    (sends ? up_ : down_)[vertex] += bytes;
    lower = network_->uplinks()[vertex].switch_number;
  }
}

PAPCOLL_DECL double LinkLoads::heaviest() const noexcept {
  double most = 0;
  for (std::size_t v = 0; v < up_.size(); ++v) {
    most = std::max(most, std::max(up_[v], down_[v]) / width(v));
  }
  return most;
}

PAPCOLL_DECL double LinkLoads::of_node(int node) const noexcept {
  const auto v = static_cast<std::size_t>(node);
  return std::max(up_[v], down_[v]) / width(v);
}

}  // namespace papcoll::inline PAPCOLL_ABI

#endif
