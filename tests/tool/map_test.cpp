// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "run_tool.hpp"
#include "svg_reader.hpp"
#include "temporary_directory.hpp"

using namespace papcoll;
using nlohmann::json;

namespace {

/// `papcoll map` with --json; rank r is on node r modulo 4, of 8 cores each.
json mapped(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "map");
  arguments.insert(arguments.end(), {"--machine", "nodes=4,packages=2,cores=4,leaf=2",
                                     "--placement", "by-node", "--json"});
  const Outcome o = run(std::move(arguments));
  INFO(o.err);
  REQUIRE(o.status == 0);
  return json::parse(o.out);
}

const json& by(const json& all, const std::string& who) {
  for (const json& order : all.at("orders")) {
    if (order.at("by") == who) return order;
  }
  FAIL("nothing by " << who);
  return all;
}

}  // namespace

TEST_CASE("map: what an order gains, and the thesis's heuristic beside it") {
  const json ring = mapped({"Ring"});
  CHECK(ring.at("algorithm") == "Ring");
  CHECK(ring.at("collective") == "allreduce");
  CHECK(ring.at("ranks") == 32);
  CHECK(ring.at("used") == true);
  CHECK(ring.at("why") == "used");
  const double share = 2.0 * 31 / 32;
  // In rank order each goes to the next node: of four ways two lead to the other leaf switch.
  CHECK(by(ring, "rank order").at("byte_hops").get<double>() ==
        Approx(share * 8 * (2 + 4 + 2 + 4)));
  CHECK(by(ring, "rank order").at("heaviest_link").get<double>() == Approx(share * 8));
  CHECK(by(ring, "papcoll").at("byte_hops").get<double>() == Approx(share * (2 + 4 + 2 + 4)));
  CHECK(by(ring, "papcoll").at("heaviest_link").get<double>() == Approx(share));
  CHECK(by(ring, "greedy").at("byte_hops").get<double>() == Approx(share * (2 + 4 + 2 + 4)));
  CHECK(ring.at("rank_of_position").at(1) == 4);
  CHECK(ring.at("rank_of_position").at(8) == 1);

  const json gather =
      mapped({"Binomial", "--collective", "gather", "--root", "5", "--ranks", "30"});
  CHECK(gather.at("root") == 5);
  CHECK(gather.at("rank_of_position").at(0) == 5);
  CHECK(gather.at("rank_of_position").size() == 30);
}

TEST_CASE("map: why an order is not used") {
  const json doubling = mapped({"RecursiveDoubling", "--collective", "allreduce"});
  CHECK(doubling.at("used") == false);
  CHECK(doubling.at("why") == "not used: it gains nothing");
  CHECK(doubling.at("rank_of_position").at(1) == 1);
  const Outcome trees = run({"map", "TwoTreeComplete", "--collective", "bcast", "--machine",
                             "nodes=2,cores=2", "--placement", "by-node"});
  CHECK(trees.status == 0);
  CHECK(contains(trees.out, "TwoTreeComplete bcast, 4 ranks by-node on 2 nodes, root 0"));
  CHECK(contains(trees.out, "not used: its heaviest link bears more than in rank order"));
  CHECK(contains(trees.out, "position 0, 1, … is rank 0, 1, 2, 3\n"));
  const Outcome all = run({"map", "Pairwise", "--machine", "nodes=4,cores=32"});
  CHECK(all.status == 0);
  CHECK(contains(all.out, "no order: everybody talks to everybody, or nearly so"));
}

TEST_CASE("map: where ranks are") {
  const auto byte_hops = [](const char* initial) {
    const Outcome o = run({"map", "Ring", "--machine", "nodes=4,packages=2,cores=4", "--placement",
                           initial, "--json"});
    REQUIRE(o.status == 0);
    return by(json::parse(o.out), "rank order").at("byte_hops").get<double>();
  };
  const double one_way = 2.0 * 31 / 32 * 2;
  CHECK(byte_hops("by-core") == Approx(one_way * 4));
  CHECK(byte_hops("by-socket") == Approx(one_way * 4));
  CHECK(byte_hops("by-node") == Approx(one_way * 32));
  CHECK(byte_hops("random") > one_way * 16);
  const Outcome dragonfly = run({"map", "Ring", "--machine", "nodes=4,group=2", "--json"});
  CHECK(by(json::parse(dragonfly.out), "rank order").at("byte_hops").get<double>() ==
        Approx(1.5 * (2 + 5 + 2 + 5)));
}

TEST_CASE("map: a machine that a file describes") {
  const TemporaryDirectory directory;
  const std::string file = directory.write(
      "cluster.network", "node a\nnode b\nswitch s\nlink a s\nlink b s\nplaces 1 1 4\n");
  const Outcome o = run({"map", "Ring", "--machine", file.c_str(), "--placement", "by-node"});
  INFO(o.err);
  CHECK(o.status == 0);
  CHECK(contains(o.out, "8 ranks by-node on 2 nodes"));
  const std::string alone =
      directory.write("alone.network", "node a\nnode b\nswitch s\nlink a s\nlink b s\n");
  const std::string sentence = alone + " describes a network alone: add a line of places";
  refused({"map", "Hierarchical:Linear,Ring", "--machine", "nodes=2,cores=2"},
          "follows the machine by its nodes: map those of its parts that are schedules");
  refused({"map", "Ring", "--machine", alone.c_str()}, sentence);
  for (const char* ranks : {"1", "6"}) {
    refused({"simulate", "Ring", "--ranks", ranks, "--bytes", "64k", "--machine", alone.c_str()},
            sentence);
  }
  refused({"draw", "Ring", "--ranks", "2", "--machine", alone.c_str(), "-o", "-"}, sentence);
}

TEST_CASE("map: what is asked for and what it takes") {
  const Outcome o = run({"map", "Suara", "--machine", "nodes=4,cores=2"});
  INFO(o.out << o.err);
  CHECK(o.status == 0);
  CHECK(o.out.starts_with("Suara = "));
  CHECK(contains(o.out, " allreduce, 8 ranks by-core on 4 nodes\n"));
  CHECK(run({"map", "Ring", "--machine", "nodes=4"}).out.starts_with("Ring allreduce, 4 ranks"));
  CHECK(run({"map", "OnTopology+Ring", "--machine", "nodes=4"}).out.starts_with("Ring allreduce"));
  const json suara = mapped({"Suara"});
  CHECK(suara.at("algorithm") == "Suara");
  CHECK(suara.at("chosen").is_string());
  CHECK_FALSE(mapped({"Ring"}).contains("chosen"));
}

TEST_CASE("map: pictures") {
  const std::vector<const char*> ring{"map",         "Ring",    "--machine", "nodes=2,cores=4",
                                      "--placement", "by-node", "--draw",    "-"};
  const svg::Reader reader{run(ring).out};
  std::size_t across = 0;
  std::size_t within = 0;
  for (const svg::Element& e : reader.elements()) {
    across += e.is("across") ? 1 : 0;
    within += e.is("within") ? 1 : 0;
  }
  CHECK(across == 8 + 2);  // before and after
  CHECK(within == 0 + 6);
  const TemporaryDirectory directory;
  const std::string file = (directory.path() / "ring.svg").string();
  const Outcome o = run({"map", "Chain", "--machine", "nodes=2,cores=4", "--draw", file.c_str()});
  CHECK(o.status == 0);
  CHECK(contains(o.out, "not used: it gains nothing"));
  std::ifstream in{file};
  const std::string picture{std::istreambuf_iterator<char>{in}, {}};
  CHECK(contains(picture, "In rank order"));
  CHECK_FALSE(contains(picture, "Along the machine"));
}

TEST_CASE("machines in a few words: refusals") {
  const auto refuses = [](const char* machine, const std::string& why) {
    refused({"topology", "--machine", machine}, why);
  };
  refuses("nodes=65535,cores=65535", "the nodes together have more than 4194304 cores: take fewer");
  refuses("nodes=65535,cores=65", "more than 4194304 cores");
  refuses("nodes=1,packages=65535,l3=65535,cores=65535", "a node has more than 65535 cores");
  refuses("nodes=4,leaf=4,group=4", "leaf is of a fat tree and group of a dragonfly");
  refuses("nodes=4,group=4,uplinks=1", "uplinks is of a fat tree and group of a dragonfly");
  refuses("nodes=4,uplinks=2", "uplinks=N are of leaf switches, and there are none: write leaf=N");
  refuses("nodes=4,nodes=8", "nodes is given twice: leave one out");
  refuses("nodes=4,leaf=2,leaf=2", "leaf is given twice");
  CHECK(run({"topology", "--machine", "nodes=4,leaf=8"}).status == 0);
  CHECK(run({"topology", "--machine", "nodes=4,uplinks=2,leaf=2"}).status == 0);
}

TEST_CASE("machines in a few words: what is meant") {
  refused({"topology", "--machine", "nod=8"}, "the machine nod=8: 'nod=8' is none of nodes=N");
  refused({"topology", "--machine", "nod=8"}, "group=N: did you mean nodes=N?");
  refused({"topology", "--machine", "node=8,cores=2"}, "did you mean nodes=N?");
  refused({"topology", "--machine", "nodes=8,core=2"}, "did you mean cores=N?");
  const Outcome other = run({"topology", "--machine", "nodes=8,cpus=2"});
  CHECK(other.status == 2);
  CHECK_FALSE(contains(other.err, "did you mean"));
  refused({"topology", "--machine", "cluster=8"}, "there is no file cluster=8: write linux, hwloc");
  const TemporaryDirectory directory;
  const std::string file = directory.write("node=8", "node a\n");
  CHECK(run({"topology", "--machine", file.c_str()}).status == 0);
}

TEST_CASE("map: a name with another order of the ranks") {
  refused({"map", "PredictedOrder+Ring", "--machine", "nodes=2"},
          "PredictedOrder+Ring: PredictedOrder orders the ranks by itself");
  refused({"map", "PredictedOrder+Ring", "--machine", "nodes=2"}, "write Ring or OnTopology+Ring");
}

TEST_CASE("map: refusals") {
  refused({"map", "Ring"}, "--machine");
  refused({"map", "--machine", "nodes=2"}, "--algorithm is required");
  refused({"map", "Rnig", "--machine", "nodes=2"}, "did you mean Ring");
  refused({"map", "DynamicLeader", "--machine", "nodes=2"}, "it has no plan to map");
  refused({"map", "Ring", "--machine", "nodes=2", "--ranks", "3"},
          "the machine has places for 2 ranks, and not for 3");
  refused({"map", "Ring", "--machine", "nodes=2", "--root", "1"}, "--root: allreduce has none");
  refused({"map", "Chain", "--machine", "nodes=2", "--root", "2"}, "there are ranks 0 to 1");
  refused({"map", "Ring", "--machine", "nodes=2", "--placement", "by-rack"}, "--placement");
  refused({"map", "Ring", "--machine", "cores=4"}, "nodes=N is missing");
  refused({"map", "Ring", "--machine", "nodes=2,core=4"}, "'core=4' is none of nodes=N");
  refused({"map", "Ring", "--machine", "nodes=0"}, "'nodes=0' is not from 1 to 65535");
  for (const char* wrong : {"nodes=4;cores=2", "nodes=4 cores=2", "nodes=4:cores=2", "nodes=4, "}) {
    refused({"map", "Ring", "--machine", wrong},
            "write commas between them, and no blanks, as in nodes=4,cores=2");
  }
  refused({"map", "Ring", "--machine", "nodes=2,packages=300,cores=300"}, "more than 65535 cores");
  refused({"map", "Ring", "--machine", "nodes=8,cores=128", "--draw", "-"}, "at most 512 ranks");
  refused({"map", "Pairwise", "--machine", "nodes=4,cores=32", "--draw", "-"},
          "everybody talks to everybody");
  refused({"map", "RecursiveDoubling", "--collective", "scan", "--machine", "nodes=2"},
          "in the order of the ranks");
}

TEST_CASE("simulate and draw: along a machine") {
  const auto simulated = [](std::vector<const char*> more) {
    std::vector<const char*> words{"simulate",    "Ring",    "--ranks",   "32",
                                   "--bytes",     "64k",     "--machine", "nodes=4,cores=8",
                                   "--placement", "by-node", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome o = run(words);
    INFO(o.err);
    REQUIRE(o.status == 0);
    return json::parse(o.out).at("time").get<double>();
  };
  const double in_rank_order = simulated({});
  CHECK(simulated({"--order", "machine"}) < in_rank_order);
  CHECK(simulated({"--hop-latency", "1us"}) > in_rank_order);
  CHECK(simulated({"--hop-latency", "0ns"}) < in_rank_order);
  const Outcome both =
      run({"simulate", "Ring", "--ranks", "32", "--bytes", "64k", "--machine", "nodes=4,cores=8",
           "--placement", "by-node", "--algorithm", "OnTopology+Ring"});
  CHECK(both.status == 0);
  CHECK(contains(both.out, "OnTopology+Ring"));
  CHECK(run({"simulate", "OnTopology+Ring", "--ranks", "4", "--bytes", "8", "--machine", "nodes=4"})
            .out.starts_with("OnTopology+Ring allreduce of 8 bytes, 4 ranks\n"));
  CHECK(contains(
      run({"draw", "OnTopology+Ring", "--ranks", "4", "--machine", "nodes=4", "-o", "-"}).out,
      ">OnTopology+Ring allreduce of 1 MB, 4 ranks<"));
  CHECK(contains(run({"simulate", "Binomial", "--collective", "bcast", "--root", "2", "--ranks",
                      "8", "--bytes", "8", "--machine", "nodes=2,cores=4", "--placement", "by-node",
                      "--order", "machine"})
                     .out,
                 "position 0, 1, … is rank 2, 0, 4, 6, 1, 3, 5, 7\n"));
  const Outcome picture =
      run({"draw", "Chain", "--collective", "bcast", "--ranks", "4", "--machine", "nodes=2,cores=2",
           "--placement", "by-node", "--order", "machine", "--root", "3", "-o", "-"});
  CHECK(picture.status == 0);
  CHECK(contains(picture.out, "Position 0 is rank 3."));
  refused({"simulate", "Ring", "--ranks", "4", "--bytes", "8", "--order", "machine"},
          "--order machine: which one");
  refused({"simulate", "OnTopology+Ring", "--ranks", "4", "--bytes", "8"}, "along which machine");
  refused({"simulate", "Ring", "--ranks", "4", "--bytes", "8", "--placement", "by-node"},
          "--machine");
  refused(
      {"simulate", "Ring", "--ranks", "4096", "--bytes", "8", "--machine", "nodes=128,cores=32"},
      "write --ranks 2048 or less");
}

TEST_CASE("simulate: ranks that are expected at the same time stay in the machine's order") {
  std::vector<const char*> words{
      "simulate", "PredictedOrder+Ring", "--ranks",         "8",           "--bytes",
      "64k",      "--machine",           "nodes=4,cores=2", "--placement", "by-node"};
  const Outcome o = run(words);
  CHECK(o.status == 0);
  CHECK(o.out.starts_with("PredictedOrder+Ring allreduce of 64 KB, 8 ranks\n"));
  CHECK(contains(o.out, "position 0, 1, … is rank 7, 3, 6, 2, 5, 1, 4, 0\n"));
  words.insert(words.end(), {"--order", "machine"});
  refused(words, "the order of PredictedOrder+Ring is that of the arrivals");
  words.insert(words.end(), {"--algorithm", "Ring"});
  CHECK(run(words).status == 0);
  refused({"draw", "StragglAR", "--ranks", "4", "--machine", "nodes=4", "--order", "machine", "-o",
           "-"},
          "the order of StragglAR is that of the arrivals");
}

TEST_CASE("map: what follows predicted arrivals has no order along a machine") {
  for (const char* name : {"ClairvoyantTree", "PreReducedRing", "SortedLinearTree"}) {
    refused({"map", name, "--machine", "nodes=4,cores=4"}, "by their predicted arrivals");
  }
}
