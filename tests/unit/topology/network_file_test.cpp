// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/topology/network_file.hpp>

#include <string>
#include <vector>

#include "catch.hpp"
#include "temporary_directory.hpp"

using namespace papcoll;

namespace {

/// The message that a text is refused with.
std::string refusal_of(const std::string& text) {
  try {
    read_network(text, "x.network");
  } catch (const argument_error& e) {
    return e.what();
  }
  return "it is read";
}

const std::string two_leaves = R"(# two leaf switches below a top
node a
node b   # a comment behind
node c
switch top
switch left
	switch  right
link a left
link left b 2 3
link c right
link top left 1 100
link right top
)";

}  // namespace

TEST_CASE("A network file: a tree, whose links are led up to the switch in the middle") {
  const Machine m = read_network(two_leaves, "x.network");
  CHECK(m.size() == 0);
  CHECK(m.source == "network file x.network");
  const Network& n = m.network();
  REQUIRE(n.nodes() == 3);
  REQUIRE(n.is_tree());
  CHECK(n.uplinks().size() == 6);
  CHECK(n.depth(3) == 0);  // top
  CHECK(n.hops(0, 1) == 3);
  CHECK(n.hops(0, 2) == 4);
  CHECK(n.hops(1, 2) == 5);
  CHECK(n.uplinks()[1].width == 3);
  CHECK(n.uplinks()[4].width == 100);
  CHECK(n.levels() == 1);
  CHECK(n.branch(0, 0) == n.branch(0, 1));
  CHECK(n.branch(0, 0) != n.branch(0, 2));
  CHECK(m.hosts ==
        std::vector<std::uint64_t>{hash_of_host("a"), hash_of_host("b"), hash_of_host("c")});
  // Ends of lines as other systems have them, and a last line without one.
  std::string other;
  for (const char c : two_leaves.substr(0, two_leaves.size() - 1)) {
    if (c == '\n') other += '\r';
    other += c;
  }
  CHECK(read_network(other, "x.network") == m);
}

TEST_CASE("A network file: the top is in the middle, whatever is declared first") {
  const auto depths = [](const std::string& text) {
    const Machine m = read_network(text, "x");
    const Network& n = m.network();
    std::vector<int> all;
    for (int v = 0; v < static_cast<int>(n.uplinks().size()); ++v) all.push_back(n.depth(v));
    return all;
  };
  using Depths = std::vector<int>;
  CHECK(depths("node a") == Depths{1, 0});
  CHECK(depths("node a\nswitch s\nlink s a") == Depths{1, 0});
  CHECK(depths("node a\nnode b\nswitch s\nlink s a\nlink s b") == Depths{1, 1, 0});
  // A row of switches: of two in the middle, the first.
  CHECK(depths("switch p\nswitch q\nswitch r\nnode a\nnode b\n"
               "link a p\nlink p q\nlink q r\nlink r b") == Depths{2, 2, 1, 0, 1});
  CHECK(depths("switch q\nswitch p\nnode a\nnode b\nlink a p\nlink p q\nlink q b") ==
        Depths{2, 1, 0, 1});
  // Switches without nodes hang below and do not count.
  CHECK(depths("switch u\nswitch v\nswitch s\nnode a\nnode b\nlink a s\nlink b s\nlink s v\n"
               "link v u") == Depths{1, 1, 2, 1, 0});
  CHECK(depths("switch u\nswitch s\nnode a\nlink a s\nlink s u") == Depths{1, 1, 0});
}

TEST_CASE("A network file: hops") {
  const Machine m =
      read_network("node a\nnode b\nnode c\nhops a b 1\nhops c a 3.5\nhops b c 3\n", "x");
  REQUIRE_FALSE(m.network().is_tree());
  CHECK(m.network().hops(0, 2) == 3.5);
  CHECK(m.network().hops(2, 1) == 3);
  CHECK(m.network().levels() == 1);
  CHECK(m.hosts.size() == 3);
}

TEST_CASE("A network file: places on each node") {
  const Machine m = read_network(two_leaves + "places 2 2 4\n", "x.network");
  CHECK(m.size() == 3 * 16);
  CHECK(m.place(16 + 9) == Place{1, 1, 1, 2, 9});
  CHECK(m.network() == read_network(two_leaves, "x.network").network());
  CHECK(m.hosts.empty());
}

TEST_CASE("A network file that is wrong is refused, with file, line and what is wrong") {
  const std::string ab = "node a\nnode b\nswitch s\nlink a s\n";
  const auto refused = [](const std::string& text, const std::string& message) {
    CHECK(refusal_of(text) == "papcoll: network file x.network" + message);
  };
  refused("", ": it has no nodes: write node NAME, a line for each");
  refused("switch s", ": it has no nodes: write node NAME, a line for each");
  refused("nod a", ", line 1: there is no word nod: did you mean node?");
  refused("\n\nnode", ", line 3: node has 0 words after it: write node NAME");
  refused("node a b", ", line 1: node has 2 words after it: write node NAME");
  refused("link a s 1 1 1",
          ", line 1: link has 5 words after it: write link A B, link A B COST or link A B COST "
          "WIDTH");
  refused("node a\nnode a", ", line 2: there is a node a already, on line 1");
  refused("switch a\nnode a", ", line 2: there is a switch a already, on line 1");
  refused(ab + "link b t", ", line 5: there is no t: declare it by node t or switch t");
  refused(ab + "link a b",
          ", line 5: the link joins two nodes, a and b: put a switch between them");
  refused(ab + "link a s",
          ", line 5: the node a has a link already, on line 4: add the widths of "
          "links to one switch; describe others by hops");
  refused(ab, ": no link leads from b to a: add a line link b SWITCH");
  refused("node a\nnode b\nswitch s\nlink b s",
          ": no link leads from b to a: add a line link a SWITCH");
  refused(ab + "link b s\nswitch t", ": no link leads from t to a: add a line link t SWITCH");
  refused(ab + "switch t\nlink b t",
          ": no link leads from b to a: add a link between a switch of the one and a switch of the "
          "other");
  refused("node a\nnode b", ": it has neither links nor hops between its nodes");
  refused(ab + "link b s\nswitch t\nlink s t\nlink t s",
          ", line 8: the link closes a cycle: t and s are joined already. Make one switch of those "
          "that are side by side, or describe the network by hops");
  refused(ab + "link s s",
          ", line 5: the link closes a cycle: s and s are joined already. Make one "
          "switch of those that are side by side, or describe the network by hops");
  for (const std::string number : {"x", "0", "-1", "nan", "inf", "1x", "1e999", "+1"}) {
    refused(ab + "link b s " + number,
            ", line 5: the cost is " + number + ": write a number above 0");
    refused(ab + "link b s 1 " + number,
            ", line 5: the width is " + number + ": write a number above 0");
    refused("node a\nnode b\nhops a b " + number,
            ", line 3: the number of hops is " + number + ": write a number above 0");
  }
  refused("node a\nnode b\nnode c\nhops a b 1\nhops c a 1",
          ": the hops between b and c are missing: add a line hops b c NUMBER");
  refused("node a\nnode b\nhops a b 1\nhops b a 1",
          ", line 4: the hops between b and a are given twice");
  refused("node a\nhops a a 1", ", line 2: hops lead from a to itself");
  refused("node a\nswitch s\nhops a s 1", ", line 3: hops are between nodes, and s is a switch");
  refused(ab + "hops a b 1",
          ", line 5: links and hops are in one file: leave the links or the hops out");
  refused("node a\nplaces 1 1 x",
          ", line 2: the number of cores is x: write a whole number from 1 to 65534");
  refused("node a\nplaces 0 1 1",
          ", line 2: the number of packages is 0: write a whole number from 1 to 65534");
  refused("node a\nplaces 1000000 1 4",
          ", line 2: the number of packages is 1000000: write a whole number from 1 to 65534");
  const std::string binary("node a\nnod\0\x1b[31m", 13);
  refused(binary, ", line 2: there is a control character: this is no text");
  refused(
      "\x7f"
      "ELF",
      ", line 1: there is a control character: this is no text");
  refused("node a\nplaces 9999 9999 9999", ", line 2: a node has at most 65534 cores");
  refused("node a\nplaces 1 1 1\nplaces 1 1 1", ", line 3: there are places already, on line 2");
  refused("node a.x\nnode a.y\nhops a.x a.y 1",
          ", line 2: the node a.y is the host a.x once more: names count up to their first dot");
}

TEST_CASE("A network file costs what its size allows: what is larger is refused before") {
  const auto lines = [](const char* before, int n, const char* after) {
    std::string text;
    for (int i = 0; i < n; ++i) text += before + std::to_string(i) + after;
    return text;
  };
  const auto refused = [](const std::string& text, const std::string& message) {
    CHECK(refusal_of(text) == "papcoll: network file x.network" + message);
  };
  constexpr int many = 60000;  // whose matrix of hops would take 14 GB
  refused(lines("node n", many, "\n") + "hops n0 n1 1\nhops n0 n3 1\n",
          ": the hops between n0 and n2 are missing: add a line hops n0 n2 NUMBER");
  refused(
      lines("node n", 65, "\n") + "switch s\n" + lines("link s n", 65, "\n") + "places 1 1 65534\n",
      ", line 132: 65 nodes of 65534 cores are 4259710 places: at most 4194304");
  // A row of switches, with a node at each end: the one in the middle is found in one go.
  const auto row = [&](int switches) {
    std::string text = "node a\nnode b\n" + lines("switch s", switches, "\n");
    for (int i = 1; i < switches; ++i) {
      text += "link s" + std::to_string(i - 1) + " s" + std::to_string(i) + "\n";
    }
    return text + "link a s0\nlink b s" + std::to_string(switches - 1) + "\n";
  };
  refused(row(20001),
          ", line 40005: the node b is 10001 links away from the switch in the middle: at most 64");
  CHECK(read_network(row(127), "x.network").network().hops(0, 1) == 128);
  refused("\nnode " + std::string(256, 'n'), ", line 2: a word has 256 characters: at most 255");
}

TEST_CASE("A network file: what other programs put into files") {
  CHECK(read_network("\xEF\xBB\xBFnode a\n", "x.network").hosts ==
        std::vector<std::uint64_t>{hash_of_host("a")});
  for (const std::string name : {"n[1-4]", "n1,n2"}) {
    CHECK(refusal_of("node a\nnode " + name) ==
          "papcoll: network file x.network, line 2: the name " + name +
              " has a bracket or a comma, which is in no host's name: write a line node NAME for "
              "each host");
  }
}

TEST_CASE("A network file is read when it is asked for") {
  const TemporaryDirectory directory;
  const MachineSource source = network_file(directory.write("two.network", two_leaves));
  CHECK_FALSE(source.is_default());
  CHECK(source.read() == read_network(two_leaves, ""));
  CHECK(source == network_file(source.name()));
  const auto message = [](const std::string& file) -> std::string {
    try {
      network_file(file).read();
    } catch (const system_error& e) {
      return e.what();
    }
    return "it is read";
  };
  const std::string missing = (directory.path() / "missing").string();
  CHECK(message(missing) ==
        "papcoll: cannot read the network file " + missing + ": No such file or directory");
  const std::string other = directory.path().string();
  CHECK(message(other) == "papcoll: cannot read the network file " + other + ": Is a directory");
  CHECK_THROWS_WITH(network_file("/dev/zero").read(),
                    Catch::Matchers::Contains("network file /dev/zero, line 1"));
}

TEST_CASE("Hosts are told apart by their names up to the first dot, and by addresses") {
  CHECK(hash_of_host("n1") == hash_of_host("n1.example.org"));
  CHECK(hash_of_host("n1") != hash_of_host("n2"));
  CHECK(hash_of_host("10.0.0.1") != hash_of_host("10.0.0.2"));
}
