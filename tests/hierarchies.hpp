// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Groupings of ranks and algorithms of several levels, for threads and processes alike.

#include "matrix.hpp"

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/choice/names/catalogue.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace hierarchies {

/// Ways to divide ranks in nodes: equal and unequal ones, nodes of one rank, ranks of a node that
/// are no neighbours, one node; and nodes in racks.
inline std::vector<papcoll::GroupColours> groupings(int ranks) {
  using Colours = std::vector<int>;
  const auto coloured = [ranks](auto&& colour) {
    Colours c;
    for (int r = 0; r < ranks; ++r) c.push_back(colour(r));
    return c;
  };
  const Colours pairs = coloured([](int r) { return r / 2; });
  const Colours unequal = coloured([](int r) { return r < 1 ? 7 : r < 4 ? 3 : 5; });
  const Colours scattered = coloured([](int r) { return r % 3 == 1 ? 2 : r % 2; });
  const auto racks = [](const Colours& nodes, auto&& colour) {
    Colours c;
    for (int g = 0; g < papcoll::Groups::by_colour(nodes).count(); ++g) c.push_back(colour(g));
    return c;
  };
  return {
      {coloured([](int) { return 0; })},
      {coloured([](int r) { return r; })},
      {pairs},
      {unequal},
      {scattered},
      {coloured([ranks](int r) { return r == ranks - 1 ? 1 : 0; })},
      {pairs, racks(pairs, [](int g) { return g / 2; })},
      {scattered, racks(scattered, [](int g) { return g % 2; })},
  };
}

inline std::string text_of(const papcoll::GroupColours& levels) {
  std::string text;
  for (const auto& level : levels) {
    text += text.empty() ? "groups" : " /";
    for (const int colour : level) text += ' ' + std::to_string(colour);
  }
  return text;
}

/// As candidates of the matrix; `commutes`: one of the parts asks for an operator that does.
inline matrix::Candidate candidate(const std::string& name, bool commutes = false) {
  static const papcoll::CatalogueRow any = papcoll::detail::hierarchical_row();
  static const papcoll::CatalogueRow commuting = [] {
    papcoll::CatalogueRow row = any;
    row.needs |= papcoll::requirement::commutative_operator;
    return row;
  }();
  return {papcoll::algorithm(name), commutes ? &commuting : &any};
}

/// `node`: a transport among ranks that share memory; `far`: among any.
inline std::vector<matrix::Candidate> candidates(const std::string& node, const std::string& far) {
  const auto two = [&](const std::string& intra, const std::string& inter) {
    return "Hierarchical:" + intra + "+" + node + "," + inter + "+" + far;
  };
  return {
      candidate("Hierarchical"),
      candidate(two("DynamicLeader", "Rabenseifner")),
      candidate(two("ReduceScatterGather", "Rabenseifner")),  // the thesis's
      candidate(two("Exchange", "Linear")),
      candidate(two("MultiLeader", "RecursiveDoubling")),
      candidate(two("Linear", "Binomial")),
      candidate(two("StaticLeader", "Ring"), true),
      candidate(two("CombiningTree", "Rabenseifner")),
      candidate(two("SplitTail", "Rabenseifner"), true),
      candidate(two("SplitTail", "StragglAR"), true),
      candidate(two("PredictedOrder+Binomial", "PredictedOrder:LastValue+Ring"), true),
      candidate("Hierarchical:PipelinedChain:40+" + node + ",PipelinedBinaryTree:40+" + far),
      candidate("Hierarchical:Binomial+" + far + ",KNomial:3+" + far),
      candidate("Hierarchical:DynamicLeader+" + node + ",Binomial+" + far + ",Rabenseifner+" + far),
      candidate("Hierarchical:DynamicLeader+" + node + ",Rabenseifner+" + far + "+Reproducible"),
  };
}

}  // namespace hierarchies
