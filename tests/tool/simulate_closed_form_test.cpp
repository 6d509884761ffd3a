// SPDX-License-Identifier: BSD-3-Clause
// `papcoll simulate`: what the closed form says beside what the simulation does.

#include <papcoll/model/closed_forms.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "run_tool.hpp"
#include "simulated.hpp"

using nlohmann::json;

namespace {

json call(const char* algorithm, const char* collective, const char* ranks = "16") {
  std::vector<const char*> words{algorithm, "--collective", collective, "--ranks", ranks};
  if (std::string(collective) != "barrier") words.insert(words.end(), {"--bytes", "1M"});
  return simulated(words);
}

/// The closed form over the simulated time.
double factor(const char* algorithm, const char* collective) {
  const json all = call(algorithm, collective);
  CAPTURE(algorithm, collective);
  REQUIRE(all.contains("closed_form"));
  return all["closed_form"].get<double>() / all["time"].get<double>();
}

bool has_form(const char* algorithm, const char* collective) {
  return call(algorithm, collective).contains("closed_form");
}

}  // namespace

TEST_CASE("simulate: the closed forms of schedules whose messages follow one another") {
  struct Case {
    const char* algorithm;
    std::vector<const char*> collectives;
  };
  const std::vector<Case> cases{
      {"Linear",
       {"allreduce", "reduce", "bcast", "allgather", "gather", "scatter", "alltoall", "scan",
        "exscan"}},
      {"Chain", {"reduce", "bcast", "scan", "exscan"}},
      {"Binomial", {"allreduce", "reduce", "bcast", "gather", "scatter"}},
      {"KNomial:4", {"allreduce", "reduce", "bcast"}},
      {"KNomial:16", {"bcast"}},
      {"RecursiveDoubling", {"allreduce", "allgather"}},
      {"Rabenseifner", {"allreduce"}},
      {"ReduceScatterGather", {"reduce"}},
      {"ReduceThenBcast:Binomial,Chain", {"allreduce"}},
      {"GatherThenBcast:Binomial,Chain", {"allgather"}},
      {"Ring", {"allreduce", "allgather", "reduce_scatter", "alltoall"}},
      {"SpreadOut:4", {"alltoall"}},
      {"Bruck", {"alltoall"}},
      {"NeighbourExchange", {"allgather"}},
      {"Pairwise", {"reduce_scatter", "alltoall"}},
      {"RecursiveHalving", {"reduce_scatter"}},
      {"PipelinedChain:8k", {"bcast"}},
      {"Dissemination", {"barrier"}},
  };
  for (const Case& c : cases) {
    for (const char* collective : c.collectives) {
      const double times = factor(c.algorithm, collective);
      CAPTURE(c.algorithm, collective, times);
      CHECK(times == Approx(1).epsilon(1e-3));
    }
  }
}

TEST_CASE("simulate: the closed forms of schedules whose messages overlap, or come in parts") {
  struct Case {
    const char* algorithm;
    const char* collective;
  };
  for (const Case& c :
       {Case{"BinaryTree", "allreduce"}, Case{"BinaryTree", "reduce"}, Case{"BinaryTree", "bcast"},
        Case{"ScatterAllgather", "bcast"}, Case{"PipelinedChain:8k", "reduce"},
        Case{"PipelinedBinaryTree:8k", "reduce"}, Case{"PipelinedBinaryTree:8k", "bcast"},
        Case{"TwoTreeComplete", "allreduce"}, Case{"TwoTreeComplete", "reduce"},
        Case{"TwoTreeComplete", "bcast"}, Case{"SegmentedRing:8k", "allreduce"},
        Case{"Linear", "reduce_scatter"}, Case{"Bruck", "allgather"}, Case{"Bruck:4", "alltoall"},
        Case{"PipelinedChain:8k", "scan"}, Case{"RecursiveDoubling", "scan"},
        Case{"RecursiveDoubling", "exscan"}}) {
    const double times = factor(c.algorithm, c.collective);
    CAPTURE(c.algorithm, c.collective, times);
    CHECK(times > 0.75);
    CHECK(times < 1.35);
  }
}

TEST_CASE("simulate: no closed form is made up") {
  CHECK(!has_form("TwoTreeSanders", "bcast"));
  CHECK(!has_form("Linear", "barrier"));
  CHECK(!has_form("ReduceThenBcast:PipelinedChain,PipelinedChain", "allreduce"));
  const auto has = [](std::vector<const char*> more) {
    std::vector<const char*> words{"Chain", "--ranks", "4", "--bytes", "1k"};
    words.insert(words.end(), more.begin(), more.end());
    return simulated(words).contains("closed_form");
  };
  CHECK(has({}));
  CHECK(!has({"--arrival", "one-late", "--spread", "1ms"}));
  CHECK(!has({"--ports", "shared"}));
  const Written links{R"({"ranks_per_node": 2, "within": {"latency": 0}})"};
  CHECK(!has({"--link-costs", links.name()}));
  const Written bytes_cost{R"({"overhead_per_byte": 1e-10})"};
  CHECK(!has({"--model", bytes_cost.name()}));
}

TEST_CASE("simulate: the closed form of what Suara takes") {
  const json suara = call("Suara", "allreduce");
  const std::string chosen = suara.at("chosen");
  CHECK(suara.at("closed_form") == call(chosen.c_str(), "allreduce").at("closed_form"));
}

TEST_CASE("simulate: the closed form is that of the model's parameters") {
  const Written model{R"({"latency": 1e-5, "overhead": 1e-6, "gap": 3e-6, "gap_per_byte": 1e-9,
                          "combine_per_byte": 2e-9})"};
  const papcoll::HockneyWithGap h{{1e-5 + 2e-6, 1e-9, 2e-9}, 3e-6};
  const auto form = [&](const char* algorithm, const char* collective) {
    return simulated({algorithm, "--collective", collective, "--ranks", "6", "--bytes", "3000",
                      "--model", model.name()})
        .at("closed_form")
        .get<double>();
  };
  using namespace papcoll::closed_form;
  CHECK(form("Linear", "reduce") == Approx(linear_reduce(h, 6, 3000)));
  CHECK(form("Linear", "gather") == Approx(linear_gather(h, 6, 6 * 3000)));
  CHECK(form("KNomial:3", "bcast") == Approx(knomial_bcast(h, 6, 3000, 3)));
  CHECK(form("PipelinedChain:500", "bcast") == Approx(pipelined_chain_bcast(h, 6, 3000, 496)));
  CHECK(form("TwoTreeComplete:1000", "reduce") == Approx(two_tree_reduce(h, 6, 3000, 1000)));
}

TEST_CASE("simulate: the closed form, for people") {
  const Outcome even = run({"simulate", "Chain", "--ranks", "3", "--bytes", "16000"});
  CHECK(even.status == 0);
  INFO(even.out);
  // Two messages of 1.5 µs and 16000 bytes at 16 GB/s.
  CHECK(contains(even.out, "\n  by formula      5 µs  what the schedule's closed form says\n"));
  const Outcome late = run({"simulate", "Chain", "--ranks", "3", "--bytes", "16000", "--arrival",
                            "one-late", "--spread", "1us"});
  CHECK(!contains(late.out, "by formula"));
  const json compared = json::parse(run({"simulate", "Ring", "--ranks", "4", "--bytes", "1k",
                                         "--algorithm", "StragglAR", "--json"})
                                        .out);
  REQUIRE(compared.size() == 2);
  for (const json& one : compared) {
    CHECK(one.contains("closed_form") == (one["algorithm"] == "Ring"));
  }
}
