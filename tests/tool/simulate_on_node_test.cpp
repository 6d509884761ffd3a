// SPDX-License-Identifier: BSD-3-Clause
// `papcoll simulate` of algorithms that decide by who arrives when.

#include <papcoll/simulate/virtual_node.hpp>
#include <papcoll/tools/files/node_costs_file.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "node_costs_of_tests.hpp"
#include "run_tool.hpp"
#include "simulated.hpp"

using nlohmann::json;

TEST_CASE("simulate on a node: what the virtual node says") {
  const Written costs{node_costs_text()};
  const json all =
      simulated({"DynamicLeader", "--collective", "allreduce", "--ranks", "4", "--bytes", "64",
                 "--arrival", "ascending", "--spread", "3us", "--node-costs", costs.name()});
  papcoll::Shape shape;
  shape.collective = papcoll::Collective::allreduce;
  shape.size = 4;
  shape.count = 8;
  shape.element_size = 8;
  const papcoll::Simulated run =
      papcoll::simulate_on_node(*papcoll::find_virtual_algorithm("DynamicLeader"), shape,
                                virtual_costs(), {0, 1e-6, 2e-6, 3e-6});
  CHECK(all["algorithm"] == "DynamicLeader");
  CHECK(all["collective"] == "allreduce");
  CHECK(all["bytes"] == 64);
  CHECK(all["tail"].get<double>() == Approx(run.tail()).epsilon(1e-9));
  CHECK(all["time"].get<double>() == Approx(run.time()).epsilon(1e-9));
  CHECK(all["exits"].size() == 4);
  CHECK(all["error"] == virtual_costs().error);
}

TEST_CASE("simulate on a node: for people, alone and compared") {
  const Written costs{node_costs_text()};
  const Outcome one = run({"simulate", "Exchange+ShmTransport", "--ranks", "3", "--bytes", "64",
                           "--node-costs", costs.name()});
  INFO(one.out << one.err);
  CHECK(one.status == 0);
  CHECK(one.out.starts_with("Exchange allreduce of 64 bytes, 3 ranks on one node\n  time "));
  CHECK(contains(one.out, "from the last arrival to the last exit\n  in call "));
  CHECK(contains(one.out, "in the call, from 0 s on\n"));
  CHECK(contains(one.out, "a tail may be wrong by 25 %\n"));
  const Outcome all = run({"simulate", "Exchange", "--ranks", "3", "--bytes", "64", "--algorithm",
                           "all", "--node-costs", costs.name()});
  CHECK(all.out.starts_with("allreduce of 64 bytes, 3 ranks on one node\n  algorithm "));
  for (const char* const name :
       {"  Exchange ", "  DynamicLeader ", "  SplitTail ", "  Accumulator "}) {
    CHECK(contains(all.out, name));
  }
  CHECK(!contains(all.out, "BlockCopies"));
  const Outcome two = run({"simulate", "Exchange", "--ranks", "3", "--bytes", "64", "--algorithm",
                           "DynamicLeader", "--json", "--node-costs", costs.name()});
  CHECK(json::parse(two.out).size() == 2);
  // More ranks than this machine has processors are as on one that has them.
  const Outcome many =
      run({"simulate", "Exchange", "--ranks", "200", "--bytes", "8", "--node-costs", costs.name()});
  CHECK(many.status == 0);
}

TEST_CASE("simulate on a node: caches as a machine has them") {
  const Written costs{node_costs_text()};
  const auto tail = [&](const char* machine) {
    return simulated({"Exchange", "--ranks", "2", "--bytes", "64", "--machine", machine,
                      "--node-costs", costs.name()})["tail"]
        .get<double>();
  };
  CHECK(tail("nodes=1,packages=2,cores=1") > 1.5 * tail("nodes=1,packages=1,cores=2"));
  refused({"simulate", "Exchange", "--ranks", "2", "--bytes", "64", "--machine",
           "nodes=2,packages=1,cores=1", "--node-costs", costs.name()},
          "the ranks are on several nodes");
}

TEST_CASE("simulate on a node: what makes no sense is refused in a sentence") {
  const Written costs{node_costs_text()};
  const auto says = [&](std::vector<const char*> words, std::string_view message) {
    words.insert(words.begin(), "simulate");
    words.insert(words.end(), {"--ranks", "2", "--bytes", "64", "--node-costs", costs.name()});
    refused(std::move(words), message);
  };
  says({"Exchange", "--ports", "shared"}, "--ports is about messages");
  says({"Exchange", "--pipeline-depth", "2"}, "--pipeline-depth is about messages");
  says({"Exchange", "--algorithm", "SplitTail,Ring"}, "write a blank between names");
  says({"Exchange", "--algorithm", "Ring"},
       "Ring passes messages, and Exchange runs in the memory");
  says({"SplitTail", "--collective", "bcast"},
       "SplitTail does not serve bcast: it serves allreduce");
  says({"Exchange", "--algorithm", "BlockCopies"}, "BlockCopies does not serve allreduce");
  says({"Exchange", "--collective", "allredce"}, "there is no allredce");
  const auto bad = [](const std::string& text, std::string_view message) {
    const Written file{text};
    refused({"simulate", "Exchange", "--ranks", "2", "--bytes", "64", "--node-costs", file.name()},
            message);
  };
  bad("[]", "it is array: write an object");
  bad("{}", "field papcoll_node_costs: it is missing: write a file by papcoll-bench");
  const auto with = [&](const char* field, const nlohmann::ordered_json& value,
                        std::string_view message) {
    auto all = papcoll::tool::node_costs_json(virtual_costs());
    all[field] = value;
    bad(all.dump(), message);
  };
  with("cal", 1, "field cal: there is no such field: did you mean");
  with("call", -1, "field call: it is -1: write a number of seconds");
  with("copy", 3, "field copy: it is 3: write a list of pairs");
  with("copy", nlohmann::ordered_json::array({1, 2}),
       "field copy: it has 1: write a list of pairs");
  with("copy", nlohmann::ordered_json::array({{64, 1e-9}, {64, 1e-9}}),
       "sizes of a table do not grow");
  with("poll", 0, "poll is 0");
  with("near", 3, "field near: it is number");
  with("error", 11, "field error: it is 11: write a number of a part");
  with("own_cache", 0, "field own_cache: it is 0: write a whole number from 1");
  with("own_cache", 1LL << 40U, "field own_cache: it is 1099511627776: write at most 33554432");
  refused({"simulate", "Exchange", "--ranks", "2", "--bytes", "64", "--node-costs", "/nowhere/x"},
          "cannot read the file of node costs /nowhere/x");
}

TEST_CASE("a file of node costs says what was written to it") {
  papcoll::NodeCosts costs = virtual_costs();
  costs.code["Exchange"] = 1.5e-8;
  const Written file{papcoll::tool::node_costs_json(costs).dump()};
  CHECK(papcoll::tool::read_node_costs(file.name()) == costs);
  costs.cross_l3 = {};
  const Written one{papcoll::tool::node_costs_json(costs).dump()};
  CHECK(papcoll::tool::read_node_costs(one.name()) == costs);
}
