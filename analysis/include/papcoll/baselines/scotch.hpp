// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// SCOTCH's orders, which papcoll's are compared with. On request: papcoll.hpp does not include it.
// Needs SCOTCH 7 with numbers of 32 or 64 bits (Debian's package libscotch-dev); link with -lscotch
// -lscotcherr, and not -lscotcherrexit, which ends the program where an error should be thrown.

#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/baselines/free_places.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/schedule/schedule_traits.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/mapping/mapped_order.hpp>
#include <papcoll/topology/mapping/read_traffic.hpp>
#include <papcoll/topology/mapping/unguarded.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <scotch.h>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// Throws unless a function of SCOTCH succeeded, which has then written why to stderr.
inline void require_scotch(int failed, std::string_view what) {
  if (failed != 0) detail::throw_error<error>({"papcoll: SCOTCH cannot ", what});
}

/// An object of SCOTCH's, which is made and ended by functions of its own.
template <class T, auto init, auto end> class ScotchObject : Pinned {
 public:
  ScotchObject() { require_scotch(init(&object_), "allocate"); }
  ~ScotchObject() { end(&object_); }
  T* get() noexcept { return &object_; }

 private:
  T object_;
};
using ScotchGraphObject = ScotchObject<SCOTCH_Graph, SCOTCH_graphInit, SCOTCH_graphExit>;
using ScotchArch = ScotchObject<SCOTCH_Arch, SCOTCH_archInit, SCOTCH_archExit>;
using ScotchContextObject = ScotchObject<SCOTCH_Context, SCOTCH_contextInit, SCOTCH_contextExit>;
using ScotchStrat = ScotchObject<SCOTCH_Strat, SCOTCH_stratInit, SCOTCH_stratExit>;

/// A graph, and the same for what runs on one thread: with several SCOTCH would find another order
/// each time.
class ScotchGraph {
 public:
  ScotchGraph() {
    require_scotch(SCOTCH_contextOptionSetNum(context_.get(), SCOTCH_OPTIONNUMDETERMINISTIC, 1),
                   "be deterministic");
    require_scotch(SCOTCH_contextThreadSpawn(context_.get(), 1, nullptr), "run on one thread");
  }
  SCOTCH_Graph* get() noexcept { return graph_.get(); }
  /// Returns SCOTCH's graph, once it was built.
  SCOTCH_Graph* bound() {
    require_scotch(SCOTCH_contextBindGraph(context_.get(), graph_.get(), bound_.get()),
                   "take a graph to one thread");
    return bound_.get();
  }

 private:
  ScotchContextObject context_;
  ScotchGraphObject graph_;
  ScotchGraphObject bound_;
};

/// An undirected graph with weights of edges, in arrays as SCOTCH refers to them.
class WeightedGraph {
 public:
  explicit WeightedGraph(std::size_t vertices) : first_(vertices + 1, 0) {}

  /// An edge. Several between two vertices are one, of their sum.
  void add(int a, int b, double weight) {
    if (a == b) return;
    edges_.push_back({a, b, weight});
    edges_.push_back({b, a, weight});
  }

  /// Returns the weight of all edges, counted at both of their ends.
  double total() const {
    double all = 0;
    for (const Edge& e : edges_) all += e.weight;
    return all;
  }

  /// SCOTCH's, of weights × scale, at least 1. This must outlive it.
  void build(ScotchGraph& graph, double scale) {
    // Equal ones in the order in which they were added: sums, and so orders, repeat to the last
    // bit.
    std::stable_sort(edges_.begin(), edges_.end(), [](const Edge& x, const Edge& y) {
      return x.a != y.a ? x.a < y.a : x.b < y.b;
    });
    int last_a = -1;
    int last_b = -1;
    double sum = 0;
    const auto rounded = [&] {
      return static_cast<SCOTCH_Num>(std::max(1L, std::lround(sum * scale)));
    };
    for (const auto& [a, b, weight] : edges_) {
      if (a != last_a || b != last_b) {
        if (!ends_.empty()) weights_.push_back(rounded());
        ends_.push_back(static_cast<SCOTCH_Num>(b));
        ++first_[static_cast<std::size_t>(a) + 1];
        last_a = a;
        last_b = b;
        sum = 0;
      }
      sum += weight;
    }
    if (!ends_.empty()) weights_.push_back(rounded());
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    require_scotch(
        SCOTCH_graphBuild(graph.get(), 0, static_cast<SCOTCH_Num>(first_.size() - 1), first_.data(),
                          nullptr, nullptr, nullptr, static_cast<SCOTCH_Num>(ends_.size()),
                          ends_.data(), weights_.data()),
        "build a graph");
    require_scotch(SCOTCH_graphCheck(graph.get()), "use a graph of papcoll's");
  }

 private:
  struct Edge {
    int a;
    int b;
    double weight;
  };

  detail::Vector<Edge> edges_;
  std::vector<SCOTCH_Num> first_;
  std::vector<SCOTCH_Num> ends_;
  std::vector<SCOTCH_Num> weights_;
};

/// The tree of a machine's places, for SCOTCH: a leaf is a place, numbered as they stand depth
/// first from the anchor on.
class ScotchMachine {
 public:
  ScotchMachine(const Machine& machine, int anchor)
      : places_(machine.order(anchor)),
        distance_(static_cast<std::size_t>(machine.depth()) + 1, 0),
        arity_(distance_.size(), 0) {
    std::vector<SCOTCH_Num> children(arity_.size(), 0);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const int together = i == 0 ? -1 : machine.together(places_[i - 1], places_[i]);
      together_.push_back(together);
      if (i > 0) {
        SCOTCH_Num& d = distance_[static_cast<std::size_t>(together)];
        d = std::max(d, distance(machine, places_[i - 1], places_[i]));
      }
      // Groups deeper than what is in common end here, and with one more child begin there.
      for (std::size_t level = 0; level < children.size(); ++level) {
        if (static_cast<int>(level) > together) end_group(level, children[level]);
        if (static_cast<int>(level) >= together) ++children[level];
      }
    }
    for (std::size_t level = 0; level < children.size(); ++level) {
      end_group(level, children[level]);
    }
    for (std::size_t level = distance_.size() - 1; level-- > 0;) {
      distance_[level] = std::max(distance_[level], distance_[level + 1]);
    }
  }

  const std::vector<int>& places() const noexcept { return places_; }
  bool is_regular() const noexcept { return regular_; }
  /// The longest way between two places.
  SCOTCH_Num longest() const noexcept { return distance_.front(); }

  /// Returns the number of a leaf after the machine is turned, on each level, so that leaf `first`
  /// comes first.
  std::size_t turned(std::size_t leaf, std::size_t first) const noexcept {
    std::size_t result = 0;
    std::size_t stride = 1;
    for (std::size_t level = arity_.size(); level-- > 0;) {
      const auto n = static_cast<std::size_t>(arity_[level]);
      result += (leaf / stride + n - first / stride % n) % n * stride;
      stride *= n;
    }
    return result;
  }

  /// Where the branches of a level are alike a tree of its own kind (archTleaf), else one of
  /// switches and links, whose vertices after the places are groups (archBuild2).
  void build(ScotchArch& arch) {
    if (regular_) {
      std::vector<SCOTCH_Num> sizes;
      std::vector<SCOTCH_Num> links;
      for (std::size_t level = 0; level < arity_.size(); ++level) {
        if (arity_[level] == 1) continue;
        sizes.push_back(arity_[level]);
        links.push_back(distance_[level]);
      }
      // SCOTCH adds the links up from where two leaves part.
      for (std::size_t i = 0; i + 1 < links.size(); ++i) links[i] -= links[i + 1];
      require_scotch(SCOTCH_archTleaf(arch.get(), static_cast<SCOTCH_Num>(sizes.size()),
                                      sizes.data(), links.data()),
                     "build a regular tree");
      return;
    }
    std::size_t vertices = places_.size();
    for (const int t : together_) vertices += distance_.size() - static_cast<std::size_t>(t + 1);
    WeightedGraph& tree = tree_.emplace(vertices);
    std::vector<int> open(distance_.size(), -1);  // by level
    int next = static_cast<int>(places_.size());
    for (std::size_t i = 0; i < places_.size(); ++i) {
      for (auto level = static_cast<std::size_t>(together_[i]) + 1; level < open.size(); ++level) {
        open[level] = next++;
        if (level > 0) tree.add(open[level - 1], open[level], link(level - 1));
      }
      tree.add(open.back(), static_cast<int>(i), link(open.size() - 1));
    }
    tree.build(graph_, 1);
    terminals_.resize(places_.size());
    std::iota(terminals_.begin(), terminals_.end(), SCOTCH_Num{0});
    require_scotch(SCOTCH_archBuild2(arch.get(), graph_.bound(),
                                     static_cast<SCOTCH_Num>(terminals_.size()), terminals_.data()),
                   "build a tree");
  }

 private:
  /// More between nodes than inside of them, whatever the hops: 10 for each, and 1 to 5 inside.
  static SCOTCH_Num distance(const Machine& m, int a, int b) {
    const int inside = std::max(0, m.together(a, b) - m.network().levels());  // levels in common
    const double hops = m.hops(a, b);
    return static_cast<SCOTCH_Num>(6 - inside + std::lround(10 * hops));
  }
  double link(std::size_t level) const {
    const SCOTCH_Num below = level + 1 < distance_.size() ? distance_[level + 1] : 0;
    return std::max<double>(1, static_cast<double>(distance_[level] - below));
  }
  void end_group(std::size_t level, SCOTCH_Num& children) {
    if (children != 0 && arity_[level] != 0 && arity_[level] != children) regular_ = false;
    if (children != 0) arity_[level] = children;
    children = 0;
  }

  std::vector<int> places_;
  std::vector<int> together_;         ///< levels in common with the place before
  std::vector<SCOTCH_Num> distance_;  ///< by levels in common
  std::vector<SCOTCH_Num> arity_;     ///< by level: children of a group
  bool regular_ = true;
  std::optional<WeightedGraph> tree_;
  ScotchGraph graph_;
  std::vector<SCOTCH_Num> terminals_;
};

/// Returns what position each place plays by SCOTCH: a leaf of the machine for each position,
/// several of which may be the same.
[[gnu::cold]] inline std::vector<SCOTCH_Num> scotch_leaves(const Traffic& traffic,
                                                           ScotchMachine& machine) {
  WeightedGraph talk{static_cast<std::size_t>(traffic.size())};
  for (const Traffic::Arc& a : traffic.arcs()) {
    talk.add(a.from, a.to, static_cast<double>(a.share));
  }
  // SCOTCH sums weights × distances up in its numbers, of 32 bits, and does not see it where they
  // overflow: near 2³⁰ it crashes, or never returns.
  constexpr double most = 1 << 24;
  SCOTCH_randomReset();
  ScotchGraph graph;
  talk.build(graph, most / (talk.total() * static_cast<double>(machine.longest())));
  ScotchArch arch;
  machine.build(arch);
  ScotchStrat strategy;
  const auto size = static_cast<SCOTCH_Num>(traffic.size());
  require_scotch(SCOTCH_stratGraphMapBuild(strategy.get(), SCOTCH_STRATQUALITY, size, 0),
                 "make a strategy");
  std::vector<SCOTCH_Num> leaves(static_cast<std::size_t>(traffic.size()));
  require_scotch(SCOTCH_graphMap(graph.bound(), arch.get(), strategy.get(), leaves.data()),
                 "map a graph");
  return leaves;
}

}  // namespace detail

/// An order that SCOTCH found.
struct ScotchOrder {
  std::vector<int> ranks;  ///< by position
  int moved = 0;           ///< positions that were at a place that another had already
};

/// Lays positions along a machine by SCOTCH: static mapping of the graph of what they send each
/// other onto the machine's tree, by dual recursive bipartitioning. With a root, position 0 is at
/// its place.
///
/// Phases: SCOTCH's mapping, from its first random number on; of several positions at one place
///   all but the lowest go to the nearest free places; the machine is turned so that position 0
///   comes to the root or, where its branches are not alike, the two concerned change places.
/// Cost: tens of milliseconds for 1,000 positions, and more of a machine whose branches are not
///   alike (benchmarks/parts/mapping_bench.cpp).
/// Prefer it to nothing here: it is what GreedyMapper and arrangements are measured against.
/// Limits: integers: a small share may be rounded up to one unit. Neither is the heaviest link
///   looked at, nor whether the order is better than rank order. SCOTCH's random numbers are of the
///   whole process: one thread at a time.
///
///     P = 4, two ranks a node; 0 and 2 talk most, then 1 and 3, then 0 and 1
///     bipartitioning        0 2 | 1 3
///     of each node's half   0 | 2   1 | 3
///
/// Source: F. Pellegrini, J. Roman, "SCOTCH: A software package for static mapping by dual
/// recursive bipartitioning of process and architecture graphs", HPCN-Europe 1996.
[[gnu::cold]] inline ScotchOrder scotch_order(const Traffic& traffic, const Machine& machine,
                                              std::optional<int> root = std::nullopt) {
  const int anchor = root.value_or(0);
  detail::ScotchMachine tree{machine, anchor};
  if (traffic.size() < 2 || traffic.arcs().empty()) return {tree.places()};
  const std::vector<SCOTCH_Num> leaves = detail::scotch_leaves(traffic, tree);
  ScotchOrder found;
  FreePlaces free{machine, anchor};
  const bool turns = root && tree.is_regular();
  for (const SCOTCH_Num leaf : leaves) {
    auto at = static_cast<std::size_t>(leaf);
    if (turns) at = tree.turned(at, static_cast<std::size_t>(leaves.front()));
    const int place = tree.places()[at];
    found.ranks.push_back(free.take(place) ? place : -1 - place);
  }
  for (int& place : found.ranks) {
    if (place >= 0) continue;
    place = free.take_nearest(-1 - place);
    ++found.moved;
  }
  if (root) {
    std::swap(found.ranks.front(), *std::find(found.ranks.begin(), found.ranks.end(), *root));
  }
  return found;
}

/// As map_positions(), by scotch_order(), for OrderSource::machine(): used whatever it costs.
[[gnu::cold]] inline MappedOrder map_by_scotch(const AnySchedule& schedule, Collective c,
                                               const Machine& machine, int root) {
  const std::optional<Traffic> traffic = traffic_of(schedule, c, machine.size());
  if (!traffic) {
    MappedOrder m;
    m.order = Order::rotation(machine.size(), root);
    m.verdict = MappedOrder::Verdict::all_talk_to_all;
    return m;
  }
  const std::optional<int> anchor = is_rooted(c) ? std::optional{root} : std::nullopt;
  return detail::unguarded(*traffic, machine, root, scotch_order(*traffic, machine, anchor).ranks);
}

}  // namespace papcoll::inline PAPCOLL_ABI
