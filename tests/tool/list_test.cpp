// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "catch.hpp"
#include "run_tool.hpp"

using namespace papcoll;
using nlohmann::json;

TEST_CASE("list: every algorithm by name") {
  const Outcome o = run({"list"});
  CHECK(o.status == 0);
  CHECK(o.err.empty());
  for (const CatalogueRow& row : catalogue())
    CHECK(contains(o.out, "\n  " + std::string(row.sentence)));
}

TEST_CASE("list NAME: some of them") {
  const Outcome ring = run({"list", "Ring"});
  CHECK(ring.status == 0);
  CHECK(ring.out.starts_with("Ring\n  Pa"));
  CHECK(!contains(ring.out, "\n\n"));  // one
  const Outcome gathers = run({"list", "gather", "--json"});
  REQUIRE(gathers.status == 0);
  std::set<std::string> names;
  for (const json& one : json::parse(gathers.out)) {
    CHECK(one.at("collective") == "gather");
    names.insert(one.at("name").get<std::string>());
  }
  CHECK(names ==
        std::set<std::string>{"Binomial", "BlockCopies", "Exchange", "Hierarchical", "Linear"});
  // A policy stands for all algorithms that have it.
  const Outcome chains = run({"list", "Chain"});
  CHECK(contains(chains.out, "ArrivalOrder+Chain\n"));
  CHECK(contains(chains.out, "serves        reduce, bcast, scan, exscan\n"));
  CHECK(json::parse(run({"list", "Chain", "allreduce", "--json"}).out).size() == 1);
}

TEST_CASE("list: the arrival policies that a static schedule may have instead of its own") {
  CHECK(contains(run({"list", "Ring"}).out,
                 "\n  policies      StaticOrder (or OnTopology, PredictedOrder), Ring\n"));
  CHECK(contains(run({"list", "StragglAR"}).out, "\n  policies      PredictedOrder, StragglAR\n"));
  for (const char* policy : {"OnTopology", "PredictedOrder"}) {
    const Outcome o = run({"list", policy, "allreduce"});
    INFO(o.err);
    CHECK(o.status == 0);
    CHECK(contains(o.out, "Ring\n  Pa"));
    CHECK_FALSE(contains(o.out, "DynamicLeader"));
    CHECK(contains(o.out, "StragglAR\n") == (policy == std::string("PredictedOrder")));
  }
  const json ring = json::parse(run({"list", "Ring", "--json"}).out).at(0).at("policies");
  CHECK(ring.at("arrival") == "StaticOrder");
  CHECK(ring.at("other_arrivals") == json::parse(R"(["OnTopology", "PredictedOrder"])"));
  refused({"list", "allreduce,bcast"}, "write a blank between names");
  refused({"list", "OnTopolgy"}, "did you mean OnTopology");
}

TEST_CASE("list: parameters, with the values that they have if left out") {
  CHECK(
      contains(run({"list", "KNomial"}).out, "  parameter     radix: at least 2 (left out: 4)\n"));
  CHECK(contains(run({"list", "StragglAR"}).out,
                 "bytes of a block: at least 1 (left out: chosen for each call)"));
  CHECK(contains(run({"list", "Hierarchical"}).out, "among nodes: an algorithm"));
  CHECK(!contains(run({"list", "Ring"}).out, "parameter"));
  const json radix = json::parse(run({"list", "KNomial", "--json"}).out).at(0).at("parameters");
  CHECK(radix == json::parse(R"([{"name": "radix", "least": 2, "default": "4"}])"));

  for (const CatalogueRow& row : catalogue()) {
    if (row.plan == nullptr) continue;
    INFO(row.name);
    CHECK((row.proven_with.empty() || !row.parameters.empty()));
    std::string written;
    std::string least;
    for (const Parameter& p : row.parameters) {
      const bool none_is_chosen = p.standard.empty() && p.values.empty() && p.least == 0;
      if (!p.standard.empty() || none_is_chosen) {
        add_argument(written, none_is_chosen ? "0" : p.standard);
      }
      if (p.values.empty() && p.least > 0) least = std::to_string(p.least);
    }
    if (!written.empty()) CHECK(plan_of(row, written, catalogue()) == row.plan());
    if (least.empty() || row.parameters.size() != 1) continue;
    CHECK_NOTHROW(plan_of(row, least, catalogue()));
    CHECK_THROWS_AS(plan_of(row, std::to_string(row.parameters[0].least - 1), catalogue()),
                    argument_error);
  }
}

TEST_CASE("list: what runs across nodes by tickets does not require one node") {
  const Outcome o = run({"list", "ArrivalOrder+Chain"});
  CHECK(contains(o.out, "read each other's memory; but over RmaTransport: any nodes"));
  const json all = json::parse(run({"list", "--json"}).out);
  for (const json& one : all) {
    CHECK(one.at("without_node_memory").empty() == (one.at("name") != "ArrivalOrder+Chain"));
  }
}

TEST_CASE("list: only what combines requires an operator that commutes") {
  CHECK(contains(run({"list", "TwoTreeComplete"}).out,
                 "papcoll::commutative(op) if it does (allreduce, reduce)\n"));
  CHECK(contains(run({"list", "PreReducedRing"}).out, "papcoll::commutative(op) if it does\n"));
}

TEST_CASE("list: how templates are written in a program") {
  const std::string suara = run({"list", "Suara"}).out;
  CHECK(
      contains(suara, "  in C++        Suara<Ring, Rabenseifner>; Suara<Ring, Rabenseifner>{{8}}"));
  CHECK(contains(suara, "AnySuara: all chosen"));
  CHECK(contains(run({"list", "ReduceThenBcast"}).out, "ReduceThenBcast<KNomial, Chain>{{8}, {}}"));
  CHECK(!contains(run({"list", "Ring"}).out, "in C++"));
}

TEST_CASE("list --json: an object for each algorithm and collective") {
  const Outcome o = run({"list", "--json"});
  REQUIRE(o.status == 0);
  const json all = json::parse(o.out);
  REQUIRE(all.is_array());
  std::set<std::string> collectives;
  for (const json& one : all) {
    collectives.insert(one.at("collective").get<std::string>());
    CHECK(one.at("name").is_string());
    CHECK(one.at("policies").at("transports").size() >= 1);
    CHECK(one.at("requirements").is_array());
    CHECK(one.at("contract").is_string());
    CHECK(one.at("sentence").get<std::string>().size() > 10);
  }
  CHECK(collectives.size() == collective_count);
}

TEST_CASE("list: refusals") {
  refused({"list", "--xml"}, "--xml");
  refused({"list", "--xml"}, "see papcoll list --help");
  refused({"list", "Rnig"}, "did you mean Ring");
  refused({"list", "allredcue"}, "did you mean allreduce");
  refused({"list", "allgatherv"}, "list allgather");
  refused({"list", "Bruck", "allreduce"}, "none of these serves");
}

TEST_CASE("list: algorithms on memory of devices") {
  const Outcome o = run({"list", "SharedDevice"});
  CHECK(o.status == 0);
  CHECK(contains(o.out, "\n  serves        allreduce, reduce\n"));
  CHECK(contains(o.out, "\n  runs on       CudaIpcTransport\n"));
  CHECK(contains(o.out, "papcoll::gpu::allreduce<SharedDevice, CudaIpcTransport>"));
  CHECK(contains(run({"list", "Ring"}).out, "RmaTransport, CudaIpcTransport\n"));
}
