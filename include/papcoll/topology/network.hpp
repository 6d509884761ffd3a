#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>

#include <cstddef>
#include <string>
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
  /// How many levels of branches there are between the whole network and a node.
  int levels() const noexcept { return levels_; }
  /// The branch that a node is in; numbers of a level are of any size.
  int branch(int level, int node) const noexcept {
    return branches_[static_cast<std::size_t>(node) * static_cast<std::size_t>(levels_) +
                     static_cast<std::size_t>(level)];
  }
  /// Hops from one node to another; 0 to itself.
  double hops(int from, int to) const noexcept;

  /// Is it a tree, whose links are known?
  bool is_tree() const noexcept { return hops_.empty(); }
  /// Of a tree: the links of its vertices, the nodes first.
  const detail::Vector<Uplink>& uplinks() const noexcept { return uplinks_; }
  /// Of a tree: links from the top to a vertex.
  int depth(int vertex) const noexcept { return depths_[static_cast<std::size_t>(vertex)]; }
  /// Otherwise: see by_hops().
  const std::vector<float>& hops_matrix() const noexcept { return hops_; }

  /// That of some of the nodes, which then are 0, 1, … in the order given.
  Network among(const std::vector<int>& nodes) const;

  friend bool operator==(const Network&, const Network&);

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
  /// The same of the links of one node.
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
#include <papcoll/topology/network.ipp>
#endif
