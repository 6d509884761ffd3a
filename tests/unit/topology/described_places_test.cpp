// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/topology/described_machine.hpp>
#include <papcoll/topology/machine_source.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace papcoll;

namespace {

std::vector<int> nodes_of(const std::vector<Place>& places) {
  std::vector<int> nodes;
  for (const Place& p : places) nodes.push_back(p.node);
  return nodes;
}

}  // namespace

TEST_CASE("ranks take the places of the described node that is theirs", "[topology]") {
  const Machine two_nodes = Machine::of_cores(2, 1, 1, 3);
  std::string why;
  // Ranks 0, 2, 4 are on one node, 1 and 3 on another.
  const auto places = detail::described_places(two_nodes, {0, 1, 0, 1, 0}, why);
  CHECK(why.empty());
  CHECK(nodes_of(places) == std::vector<int>{0, 1, 0, 1, 0});
  CHECK(places[0].core == 0);
  CHECK(places[2].core == 1);
  CHECK(places[4].core == 2);
  CHECK(places[3].core == 1);
}

TEST_CASE("a description that divides ranks as they are is taken as it is", "[topology]") {
  std::string why;
  const Machine one_each{{{2}, {0}, {1}}};
  CHECK(nodes_of(detail::described_places(one_each, {0, 1, 2}, why)) == std::vector<int>{2, 0, 1});
  const Machine two_each{{{1}, {0}, {1}, {0}, {2}}};
  CHECK(nodes_of(detail::described_places(two_each, {0, 1, 0, 1}, why)) ==
        std::vector<int>{1, 0, 1, 0});
  CHECK(why.empty());
}

TEST_CASE("where nodes are others than described, ranks take the places in turn", "[topology]") {
  const Machine four_nodes = Machine::of_cores(4, 1, 1, 2);
  std::string why;
  const auto places = detail::described_places(four_nodes, {0, 0, 0, 0, 0}, why);
  CHECK(nodes_of(places) == std::vector<int>{0, 0, 1, 1, 2});
  CHECK(why.empty());

  // One node has more ranks than its description has places.
  const Machine two_nodes = Machine::of_cores(2, 1, 1, 2);
  CHECK(nodes_of(detail::described_places(two_nodes, {0, 0, 0, 3}, why)) ==
        std::vector<int>{0, 0, 1, 1});
  CHECK(why.empty());
  CHECK(detail::described_places(two_nodes, {0, 0, 0, 0, 0}, why).empty());
  CHECK(why == "it has 4 places for 5 ranks");
}

TEST_CASE("sources are equal where they describe the same", "[topology]") {
  const auto read = [](const std::string&) { return Machine::of_cores(1, 1, 1, 1); };
  const MachineSource none;
  const MachineSource file{"a", read};
  CHECK(none.is_default());
  CHECK(none == MachineSource{});
  CHECK_FALSE(none == file);
  CHECK_FALSE(file == MachineSource("b", read));
  CHECK(hash_of(file) != hash_of(MachineSource{"b", read}));
  CHECK(MachineSource{Machine::of_cores(2, 1, 1, 2)} ==
        MachineSource{Machine::of_cores(2, 1, 1, 2)});
  CHECK(hash_of(MachineSource{Machine::of_cores(2, 1, 1, 2)}) !=
        hash_of(MachineSource{Machine::of_cores(1, 1, 2, 2)}));
  CHECK(hash_of(MachineSource{Machine::of_cores(4, 1, 1, 2, Network::fat_tree(4, {2}))}) !=
        hash_of(MachineSource{Machine::of_cores(4, 1, 1, 2)}));
  CHECK(file.read().size() == 1);
}
