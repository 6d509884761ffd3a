// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/topology/linux.hpp>
#include <papcoll/topology/network_file.hpp>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "catch.hpp"
#include "run_tool.hpp"
#include "temporary_directory.hpp"

using namespace papcoll;

namespace {

/// The same as ibnetdiscover prints of the one end of a link to a host, or of both of one between
/// two switches.
class Printed {
 public:
  void section(const std::string& id, const std::string& description) {
    const bool is_switch = id[0] == 'S';
    text += "\nvendid=0x2c9\ndevid=0xcb20\n" + std::string(is_switch ? "switchguid" : "caguid") +
            "=0x1\n" + (is_switch ? "Switch\t40 \"" : "Ca\t1 \"") + id + "\"\t\t# \"" +
            description + "\"" + (is_switch ? " enhanced port 0 lid 3 lmc 0" : "") + "\n";
  }
  void port(int own, const std::string& id, int other, const std::string& description,
            const std::string& speed) {
    text += "[" + std::to_string(own) + "]\t\"" + id + "\"[" + std::to_string(other) + "]" +
            (id[0] == 'H' ? "(1070fd0300aa)" : "") + " \t\t# \"" + description + "\" lid 7 " +
            speed + "\n";
  }
  void port_of_host(const std::string& id, int other, const std::string& description,
                    const std::string& speed) {
    text += "[1](1070fd0300aa) \t\"" + id + "\"[" + std::to_string(other) +
            "]\t\t# lid 7 lmc 0 \"" + description + "\" lid 3 " + speed + "\n";
  }

  std::string text = "#\n# Topology file: of a test\n#\n";
};

/// What the command makes of a text.
Outcome converted(const std::string& format, const std::string& text) {
  const TemporaryDirectory directory;
  const std::string file = directory.write("printed", text);
  return run({"topology", "--from", format.c_str(), file.c_str()});
}

Network network_of(const Outcome& o) {
  INFO(o.err);
  REQUIRE(o.status == 0);
  return read_network(o.out, "converted").network();
}

}  // namespace

TEST_CASE("topology: this machine") {
  const Outcome o = run({"topology"});
  CHECK(o.status == 0);
  CHECK(o.err.empty());
  CHECK(o.out.starts_with("Linux\n"));
  CHECK(contains(o.out, "  node 0: "));
  CHECK(run({"topology", "--machine", "linux"}).out == o.out);
  CHECK(run({"topology", "--machine", "Linux"}).out == o.out);
}

TEST_CASE("topology: a network file, with and without places") {
  const TemporaryDirectory directory;
  const std::string lines =
      "node a\nnode b\nnode c\nswitch x\nswitch y\nswitch top\n"
      "link a x\nlink b x\nlink c y\nlink x top\nlink y top\n";
  const std::string alone = directory.write("alone", lines);
  CHECK(run({"topology", "--machine", alone.c_str()}).out ==
        "network file " + alone +
            "\n"
            "  network of 3 nodes: a tree of 3 switches, 2 to 4 hops between two\n"
            "    together: nodes 0-1\n"
            "    together: node 2\n");
  const std::string places = directory.write("places", lines + "places 2 1 3\n");
  CHECK(contains(run({"topology", "--machine", places.c_str()}).out,
                 "  nodes 0-2, each: 2 packages, 2 NUMA domains, 2 L3 caches, 6 cores\n"
                 "    package 0\n"
                 "      NUMA domain 0\n"
                 "        L3 cache 0: cores 0-2\n"));
}

namespace {

/// Two leaf switches, leaf1 and leaf2, each with an adapter by each of some descriptions.
std::string two_leafs(const std::vector<std::string>& descriptions) {
  Printed p;
  const std::size_t half = descriptions.size() / 2;
  for (int leaf = 1; leaf <= 2; ++leaf) {
    p.section("S-" + std::to_string(leaf), "leaf" + std::to_string(leaf));
    p.port(40, "S-" + std::to_string(3 - leaf), 40, "", "4xEDR");
    for (std::size_t i = leaf == 1 ? 0 : half; i < (leaf == 1 ? half : descriptions.size()); ++i) {
      p.port(static_cast<int>(i), "H-" + std::to_string(i), 1, "", "4xEDR");
    }
  }
  for (std::size_t i = 0; i < descriptions.size(); ++i) {
    p.section("H-" + std::to_string(i), descriptions[i]);
  }
  return p.text;
}

}  // namespace

TEST_CASE("topology: machines that there are not") {
  refused({"topology", "--machine", "/nowhere/at/all"},
          "cannot read the network file /nowhere/at/all: No such file");
  refused({"topology", "--machine", ""}, "it is empty");
  refused({"topology", "--machine", "package:2 core:8 pu:1*4"},
          "there is no file package:2 core:8 pu:1*4: did you mean 'synthetic:package:2 core:8 "
          "pu:1*4'?");
  refused({"topology", "--machine", "Package:2 Core:8"},
          "did you mean 'synthetic:Package:2 Core:8'");
  for (const char* name : {"nodes:4", "lin", "cluster"}) {
    refused({"topology", "--machine", name},
            "there is no file " + std::string{name} + ": write linux, hwloc, FILE.xml[*NODES]");
  }
  refused({"report", ""}, "DIR: it is empty");
  const TemporaryDirectory directory;
  const std::string packed = directory.write("big.xml.gz", "\x1f\x8b\x08");
  refused({"topology", "--machine", packed.c_str()}, "is compressed by gzip: unpack it by gunzip");
  const auto file_refused = [&](const std::string& text, std::string_view message) {
    const std::string file = directory.write("other", text);
    refused({"topology", "--machine", file.c_str()}, message);
  };
  file_refused("{\"ranks_per_node\": 2}", "other is JSON, no machine: name it by --link-costs");
  file_refused("SwitchName=s0 Nodes=n[0-5]\n", "other is a file of Slurm's, no machine: write");
  file_refused(two_leafs({"n0 mlx5_0", "n1 mlx5_0"}),
               "other is what ibnetdiscover prints, no machine: make a network file");
  file_refused("100g 0x1 1 FI n0\n<->  0xa 1 SW a\n", "make a network file of it by papcoll");
  file_refused("\xff\xfen", "other is in UTF-16: convert it by iconv -f UTF-16 -t UTF-8");
  file_refused(std::string{"a\0", 2}, "other has a zero byte: it is no text");
  file_refused("# SwitchName=s0\nnod a\n", "there is no word nod: did you mean node?");
  const std::string network = directory.write("network", "node a\n");
  refused({"topology", "--machine", (network + "*4").c_str()}, "leave *4 out");
  refused({"topology", "x"}, "to show the machine of x, write --machine");
  refused({"topology", "--from", "ibnetdiscover"}, "needs a FILE");
  refused({"topology", "--from", "lspci", "x"}, "lspci");
  refused({"topology", "--from", "opareport", "/nowhere/at/all"}, "output of opareport /nowhere");
  refused({"topology", "--from", "opareport", "x", "--machine", "linux"}, "excludes");
#ifndef PAPCOLL_WITH_HWLOC
  refused({"topology", "--machine", "hwloc"}, "libhwloc-dev");
  refused({"topology", "--machine", "node.xml*4"}, "libhwloc-dev");
  refused({"topology", "--machine", "synthetic:pu:4"}, "libhwloc-dev");
  refused({"topology", "--machine", "HWLOC"}, "the machine hwloc needs hwloc");
  refused({"topology", "--machine", "Synthetic:PU:4"}, "the machine synthetic:PU:4 needs hwloc");
  refused({"topology", "--machine", "node.XML"}, "libhwloc-dev");
  for (const char* text : {"<?xml version=\"1.0\"?>", "\xef\xbb\xbf\n<!DOCTYPE topology>"}) {
    const std::string node = directory.write("node.txt", text) + "*16";
    refused({"topology", "--machine", node.c_str()}, "node.txt*16 needs hwloc");
  }
#endif
}

TEST_CASE("topology --from ibnetdiscover: two spines become one, with the sum of their links") {
  Printed p;
  for (const std::string spine : {"5", "6"}) {
    p.section("S-" + spine, "Quantum Mellanox Technologies");
    for (const std::string leaf : {"1", "2"}) {  // two links to each leaf switch
      p.port(2 * (leaf[0] - '0'), "S-" + leaf, 30 + spine[0] - '0', "leaf " + leaf, "4xHDR");
      p.port(2 * (leaf[0] - '0') + 1, "S-" + leaf, 20 + spine[0] - '0', "leaf " + leaf, "4xHDR");
    }
  }
  for (const std::string leaf : {"1", "2"}) {
    p.section("S-" + leaf, "leaf " + leaf);
    for (const std::string spine : {"5", "6"}) {  // once more
      p.port(30 + spine[0] - '0', "S-" + spine, 2 * (leaf[0] - '0'), "Quantum", "4xHDR");
      p.port(20 + spine[0] - '0', "S-" + spine, 2 * (leaf[0] - '0') + 1, "Quantum", "4xHDR");
    }
    for (const std::string host : {"1", "2"}) {
      p.port(host[0] - '0', "H-" + leaf + host, 1, "n" + leaf + host + " mlx5_0", "4xEDR");
    }
    p.port(40, "H-9" + leaf, 1, "Mellanox Technologies Aggregation Node", "4xHDR");
  }
  for (const std::string host : {"11", "12", "21", "22"}) {
    p.section("H-" + host, "n" + host + " mlx5_0");
    p.port_of_host("S-" + host.substr(0, 1), host[1] - '0', "leaf", "4xEDR");
  }
  for (const std::string leaf : {"1", "2"}) {
    p.section("H-9" + leaf, "Mellanox Technologies Aggregation Node");
  }
  const Outcome o = converted("ibnetdiscover", p.text);
  CHECK(o.out ==
        "# By papcoll topology, of ibnetdiscover's output.\n"
        "# Switches that are side by side are one here, with the sum of their widths.\n"
        "# Widths are in Gbit/s.\n"
        "node n11\nnode n12\nnode n21\nnode n22\n"
        "switch S-5\nswitch leaf_1\nswitch leaf_2\n"
        "link n11 leaf_1 1 100\nlink n12 leaf_1 1 100\n"
        "link n21 leaf_2 1 100\nlink n22 leaf_2 1 100\n"
        "link S-5 leaf_1 1 800\nlink S-5 leaf_2 1 800\n");
  const Network n = network_of(o);
  CHECK(n.levels() == 1);
  CHECK(n.hops(0, 3) == 4);
}

TEST_CASE("topology --from ibnetdiscover: three levels of switches become a tree of pods") {
  // Two pods of two leaf and two middle switches, each of the latter with a core switch of its own.
  Printed p;
  const auto id = [](const std::string& kind, int pod, int i) {
    return "S-" + kind + std::to_string(pod) + std::to_string(i);
  };
  for (int pod = 0; pod < 2; ++pod) {
    for (int leaf = 0; leaf < 2; ++leaf) {
      p.section(id("a", pod, leaf), "");
      const std::string host = std::to_string(pod) + std::to_string(leaf);
      p.port(1, "H-" + host, 1, "n" + host + " HCA-1", "4xNDR");
      for (int m = 0; m < 2; ++m) p.port(10 + m, id("b", pod, m), leaf, "", "4xFDR");
    }
    for (int m = 0; m < 2; ++m) {
      p.section(id("b", pod, m), "");
      p.port(20, id("c", 0, m), pod, "", "4xQDR");
    }
  }
  for (const std::string host : {"00", "01", "10", "11"}) {
    p.section("H-" + host, "n" + host + " HCA-1");
  }
  const Outcome o = converted("ibnetdiscover", p.text);
  const Network n = network_of(o);
  REQUIRE(n.is_tree());
  CHECK(n.levels() == 2);
  CHECK(n.hops(0, 1) == 4);
  CHECK(n.hops(0, 2) == 6);
  CHECK(contains(o.out, " 1 400\n"));
  CHECK(contains(o.out, " 1 112\n"));  // two of 56
  CHECK(contains(o.out, " 1 64\n"));   // two of 32
}

TEST_CASE("topology --from ibnetdiscover: a spine that lacks a link is still one of the top") {
  Printed p;
  for (int leaf = 0; leaf < 3; ++leaf) {
    p.section("S-" + std::to_string(leaf), "leaf" + std::to_string(leaf));
    p.port(1, "H-" + std::to_string(leaf), 1, "", "4xEDR");
    p.port(2, "S-8", leaf, "", "4xEDR");
    if (leaf > 0) p.port(3, "S-9", leaf, "", "4xEDR");
  }
  const Outcome o = converted("ibnetdiscover", p.text);
  const Network n = network_of(o);
  CHECK(n.is_tree());
  CHECK(n.hops(0, 2) == 4);
  CHECK(contains(o.out, " leaf0 1 100\n"));
  CHECK(contains(o.out, " leaf2 1 200\n"));
}

TEST_CASE("topology --from ibnetdiscover: what is no tree is told by hops") {
  Printed p;  // a ring of switches
  for (int s = 0; s < 4; ++s) {
    p.section("S-" + std::to_string(s), "sw" + std::to_string(s));
    p.port(1, "H-" + std::to_string(s), 1, "", "4xEDR");
    p.port(2, "S-" + std::to_string((s + 1) % 4), 3, "", "4xEDR");
  }
  for (int s = 0; s < 4; ++s) p.section("H-" + std::to_string(s), "n" + std::to_string(s));
  const Outcome o = converted("ibnetdiscover", p.text);
  const Network n = network_of(o);
  CHECK_FALSE(n.is_tree());
  CHECK(n.hops(0, 1) == 3);
  CHECK(n.hops(0, 2) == 4);
  CHECK(n.hops(0, 3) == 3);

  Printed rails;  // a host with an adapter on each of two switches, and no link between those
  for (int s = 0; s < 2; ++s) {
    rails.section("S-" + std::to_string(s), "sw" + std::to_string(s));
    rails.port(1, "H-0" + std::to_string(s), 1, "", "4xEDR");
    rails.port(2, "H-1" + std::to_string(s), 1, "", "4xEDR");
    rails.section("H-0" + std::to_string(s), "left mlx5_" + std::to_string(s));
    rails.section("H-1" + std::to_string(s), "right mlx5_" + std::to_string(s));
  }
  const Network two = network_of(converted("ibnetdiscover", rails.text));
  CHECK(two.nodes() == 2);
  CHECK(two.hops(0, 1) == 2);

  Printed none;
  none.section("S-0", "sw0");
  none.port(1, "H-0", 1, "", "1xSDR");
  none.section("S-1", "sw1");
  none.port(1, "H-1", 1, "", "1xSDR");
  const Outcome parts = converted("ibnetdiscover", none.text);
  CHECK(parts.status == 2);
  CHECK(contains(parts.err, "no links lead from H-0 to H-1"));
}

TEST_CASE("topology --from: adapters that call themselves alike are of several hosts") {
  for (const std::string alike :
       {"localhost mlx5_0", "localhost.localdomain mlx5_0", "(none) HCA-1", "mlx5_0", "HCA-1",
        "ibp59s0f1", "ibs1", "rocep1s0f0", "mlx5_bond_0", "mlx5_ib0", "bnxt_re0", "hns_0", "irdma0",
        "efa_0", "clone mlx5_0", "Mellanox Technologies", ""}) {
    INFO(alike);
    const Outcome o = converted("ibnetdiscover", two_leafs({alike, alike, "n3 mlx5_0", alike}));
    CHECK(contains(o.out, "# Adapters without a host's name of their own: 3. Each is a node here"));
    CHECK(contains(o.out, "node H-0\nnode H-1\nnode H-3\nnode n3\nswitch leaf1\n"));
    CHECK(network_of(o).is_tree());
  }
  const Outcome o = converted("opareport",
                              "100g 0x01 1 FI localhost hfi1_0\n<->  0xa1 3 SW edge\n"
                              "100g 0x02 1 FI hfi1_0\n<->  0xa1 4 SW edge\n"
                              "100g 0x03 1 FI n3 hfi1_0\n<->  0xa1 5 SW edge\n"
                              "100g 0x04 1 FI localhost hfi1_0\n<->  0xa1 6 SW edge\n");
  CHECK(contains(o.out, "of their own: 3. Each"));
  CHECK(contains(o.out, "node 0x01\nnode 0x02\nnode 0x04\nnode n3\nswitch edge\n"));
}

TEST_CASE("topology --from: a host has adapters of several names, one of which may not name it") {
  const Outcome o =
      converted("ibnetdiscover", two_leafs({"n1 mlx5_0", "n1 mlx5_1", "n2.cluster HCA-1",
                                            "n2 HCA-2", "n3", "n3", "n4", "n4"}));
  CHECK_FALSE(contains(o.out, "Adapters"));
  CHECK(contains(o.out, "node n1\nnode n2.cluster\nnode n3\nnode n4\n"));
  CHECK(network_of(o).nodes() == 4);
  CHECK(contains(o.out, "link n1 leaf1 1 200\n"));
  const Outcome one =
      converted("ibnetdiscover", two_leafs({"n1 mlx5_0", "localhost mlx5_1", "n2 mlx5_0", "n4 x"}));
  CHECK(contains(one.out, "of their own: 1. Each"));
  CHECK(contains(one.out, "node H-1\nnode n1\nnode n2\nnode n4\n"));
  // A host called as adapters are, names that are no words of a network file, and one that is
  // another adapter's id.
  const Outcome odd = converted(
      "ibnetdiscover", two_leafs({"ibs1 mlx5_0", "ibs2 mlx5_0", "a\x1b,b x",
                                  std::string(300, 'n') + " mlx5_0", "H-5 mlx5_0", "n5 mlx5_0"}));
  INFO(odd.err);
  CHECK(contains(odd.out, "node H-3\nnode H-4\nnode a__b\nnode ibs1\nnode ibs2\nnode n5\n"));
  CHECK(contains(odd.out, "of their own: 2. Each"));
  CHECK(network_of(odd).nodes() == 6);
  const Outcome shared = converted("ibnetdiscover", two_leafs({"leaf1 mlx5_0", "n2 mlx5_0"}));
  CHECK(contains(shared.out, "node leaf1\nnode n2\nswitch S-1\nswitch leaf2\n"));
}

TEST_CASE("topology --from: output that is not of the program") {
  const auto says = [](const std::string& format, const std::string& text,
                       const std::string& message) {
    const Outcome o = converted(format, text);
    CHECK(o.status == 2);
    CHECK(o.out.empty());
    INFO(o.err);
    CHECK(contains(o.err, message));
  };
  says("ibnetdiscover", "hello\n", "this is no output of ibnetdiscover");
  says("ibnetdiscover", "", "this is no output of ibnetdiscover");
  const std::string section = "Switch 4 \"S-1\" # \"a\"\n";
  says("ibnetdiscover", section, "it has no nodes");
  says("ibnetdiscover", section + "[1] \"H-1\n", "line 2: a port without the name and port");
  says("ibnetdiscover", section + "[1] \"H-1\"[1](2) # \"n HCA-1\" lid 1 4xABC\n",
       "line 2: a link without a speed");
  says("opareport", "hello\n", "this is no output of opareport -o links");
  says("opareport", "100g 0x1 1 FI n0 hfi1_0\n100g 0x2 1 FI n1 hfi1_0\n", "line 2: a link begins");
  says("opareport", "<->  0x1 1 FI n0 hfi1_0\n", "line 1: the other end");
  says("opareport", "fast 0x1 1 FI n0 hfi1_0\n", "line 1: the rate");
  says("opareport", "\n" + std::string(1025, 'x'), "line 2 of what is to be converted has 1025");
  // Each host at two switches, which is no tree: hops between all of them would fill the memory.
  std::string text;
  for (int i = 0; i < 2049; ++i) {
    for (const char* const at : {"<->  0xa 1 SW a\n", "<->  0xb 1 SW b\n"}) {
      text += "100g 0x" + std::to_string(i) + " 1 FI n" + std::to_string(i) + " hfi1_0\n" + at;
    }
  }
  says("opareport", text, "is no tree, and has 2049 hosts: hops are told between at most 2048");
}

TEST_CASE("topology --from opareport: hosts, switches, a link of several lines") {
  const std::string text =
      "Link Summary\n\n6 Links in Fabric:\n"
      "Rate NodeGUID          Port Type Name\n"
      "100g 0x0000000000000001   1 FI   n1 hfi1_0\n"
      "<->  0x00000000000000a1   3 SW   edge A\n"
      "    Cable: x      2m\n"
      "100g 0x0000000000000002   1 FI   n2 hfi1_0\n"
      "<->  0x00000000000000a1   4 SW   edge A\n"
      "100g 0x0000000000000003   1 FI   n3 hfi1_0\n"
      "<->  0x00000000000000a2   3 SW   edge B\n"
      "100g 0x00000000000000a1  40 SW   edge A\n"
      "<->  0x00000000000000b1   1 SW   spine\n"
      "100g 0x00000000000000a1  41 SW   edge A\n"
      "<->  0x00000000000000b1   2 SW   spine\n"
      "12.5g 0x00000000000000b1  3 SW   spine\n"
      "<->  0x00000000000000a2  40 SW   edge B\n"
      "-----------------------------------------\n";
  const Outcome o = converted("opareport", text);
  CHECK(o.out ==
        "# By papcoll topology, of opareport's output.\n"
        "# Widths are in Gbit/s.\n"
        "node n1\nnode n2\nnode n3\n"
        "switch edge_A\nswitch edge_B\nswitch spine\n"
        "link n1 edge_A 1 100\nlink n2 edge_A 1 100\nlink n3 edge_B 1 100\n"
        "link edge_A spine 1 200\nlink edge_B spine 1 12.5\n");
  CHECK(network_of(o).hops(0, 2) == 4);
}

TEST_CASE("topology: a rank that a launcher has started says where it is") {
  class Launched {
   public:
    explicit Launched(const char* rank) { setenv("OMPI_COMM_WORLD_RANK", rank, 1); }
    ~Launched() { unsetenv("OMPI_COMM_WORLD_RANK"); }
    Launched(const Launched&) = delete;
    Launched& operator=(const Launched&) = delete;
  };
  CHECK_FALSE(contains(run({"topology"}).out, "rank "));
  const std::string node = run({"topology"}).out;
  {
    const Launched rank{"0"};
    const std::string out = run({"topology"}).out;
    CHECK(out.substr(0, node.size()) == node);
    CHECK(out.substr(node.size(), 10) == "rank 0 on ");
  }
  const Launched rank{"17"};
  const Outcome o = run({"topology"});
  CHECK(o.status == 0);
  CHECK(o.out.substr(0, 11) == "rank 17 on ");
  CHECK(contains(o.out, ": "));
  CHECK(o.out.find('\n') == o.out.size() - 1);
  CHECK_FALSE(contains(run({"topology", "--machine", "nodes=2"}).out, "rank "));
}
