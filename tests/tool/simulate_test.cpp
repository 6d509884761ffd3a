// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/simulate/simulate.hpp>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "run_tool.hpp"
#include "simulated.hpp"

using namespace papcoll;
using nlohmann::json;

TEST_CASE("simulate: time, tail, messages and the critical path, for people") {
  const Outcome o = run({"simulate", "Ring", "--ranks", "8", "--bytes", "1M", "--arrival",
                         "one-late", "--spread", "100us"});
  CHECK(o.status == 0);
  CHECK(o.err.empty());
  INFO(o.out);
  CHECK(o.out.starts_with("Ring allreduce of 1 MB, 8 ranks\n  time "));
  CHECK(contains(o.out, "from the last arrival to the last exit\n  messages         112\n"));
  CHECK(contains(o.out, "100 µs"));
  CHECK(contains(o.out, "%  late arrival\n"));
  CHECK(contains(o.out, "%  latency\n"));
  CHECK(contains(o.out, "%  bytes on their way\n"));
  CHECK(contains(o.out, "%  combining\n"));
  CHECK(contains(o.out, " combines 128 KB\n"));
  CHECK(contains(o.out, "more (--full-path shows them)\n"));
  const Outcome full = run({"simulate", "Ring", "--ranks", "8", "--bytes", "1M", "--full-path"});
  CHECK(full.out.size() > o.out.size());
  CHECK(!contains(full.out, "--full-path"));
}

TEST_CASE("simulate --json: what the simulator says") {
  const json all = simulated(
      {"Ring", "--ranks", "6", "--bytes", "96k", "--arrival", "ascending", "--spread", "50us"});
  CHECK(all.at("algorithm") == "Ring");
  CHECK(all.at("collective") == "allreduce");
  CHECK(all.at("ranks") == 6);
  CHECK(all.at("bytes") == 98304);
  CHECK(!all.contains("root"));
  CHECK(all.at("messages") == 60);
  CHECK(all.at("arrivals").back() == Approx(50e-6));

  Shape shape;
  shape.collective = Collective::allreduce;
  shape.size = 6;
  shape.count = 98304 / 8;
  shape.element_size = 8;
  SimulateOptions options;
  options.arrivals = all.at("arrivals").get<std::vector<double>>();
  const Simulated s = simulate(Ring{}, shape, static_order(shape), LogGops{}, options);
  CHECK(all.at("time") == Approx(s.time()));
  CHECK(all.at("tail") == Approx(s.tail()));
  CHECK(all.at("exits").get<std::vector<double>>() == s.exits);

  double in_parts = 0;
  for (const auto& [name, seconds] : all.at("critical_path").at("parts").items()) {
    in_parts += seconds.get<double>();
  }
  CHECK(in_parts == Approx(s.time()));
  const json& last = all.at("critical_path").at("steps").back();
  CHECK(last.at("end") == Approx(50e-6 + s.tail()));
  CHECK(last.at("rank").is_number());
  CHECK(last.at("act").is_string());
}

TEST_CASE("simulate: the collective is the one that is named, or the first that is served") {
  CHECK(simulated({"Chain", "--ranks", "3", "--bytes", "8"}).at("collective") == "bcast");
  CHECK(simulated({"Bruck", "--ranks", "3", "--bytes", "8"}).at("collective") == "allgather");
  const json reduce =
      simulated({"Chain", "--ranks", "3", "--bytes", "7", "--collective", "reduce", "--root", "2"});
  CHECK(reduce.at("root") == 2);
  CHECK(reduce.at("bytes") == 7);
  CHECK(reduce.at("messages") == 2);
  CHECK(simulated({"Dissemination", "--ranks", "4"}).at("messages") == 8);
}

TEST_CASE("simulate: the model of a file") {
  const Written model{R"({"latency": 1e-3, "gap_per_byte": 0, "combine_per_byte": 0})"};
  const auto time = [](const char* file) {
    return simulated({"Binomial", "--collective", "bcast", "--ranks", "8", "--bytes", "8",
                      "--model", file})
        .at("time")
        .get<double>();
  };
  CHECK(time(model.name()) == Approx(3e-3));
  // As papcoll-bench --measure model writes it.
  const Written fitted{
      R"({"papcoll_model": 1, "machine": "mine", "log_gops": {"latency": 2e-3, "gap_per_byte": 0},
          "schedules": []})"};
  CHECK(time(fitted.name()) == Approx(6e-3));
}

TEST_CASE("simulate: MIF is in one-way times of a message") {
  const Written model{R"({"latency": 1e-5, "overhead": 1e-6, "gap_per_byte": 1e-8})"};
  const json all = simulated({"Chain", "--ranks", "3", "--bytes", "1000", "--model", model.name(),
                              "--arrival", "ascending", "--mif", "10"});
  CHECK(all.at("arrivals").back() == Approx(10 * (1e-5 + 2e-6 + 1e-5)));
}

TEST_CASE("simulate: arrivals of a trace") {
  const Written trace{"# three ranks\n0.5, 0.501, 0.5\n0 0 1\n"};
  const std::string name = std::string("trace:") + trace.name();
  const json all = simulated({"Chain", "--ranks", "3", "--bytes", "8", "--arrival", name.c_str()});
  CHECK(all.at("arrivals").at(1) == Approx(1e-3));
  const Written broken{"0 soon 0\n"};
  const std::string other = std::string("trace:") + broken.name();
  refused({"simulate", "Chain", "--ranks", "3", "--bytes", "8", "--arrival", other.c_str()},
          "line 1, column 3: 'soon' is not a time");
  refused({"simulate", "Chain", "--ranks", "4", "--bytes", "8", "--arrival", name.c_str()},
          "it has 3 columns, a column a rank, and there are 4 ranks");
}

TEST_CASE("simulate: a topology's links") {
  const Written nodes{R"({"ranks_per_node": 2, "within": {"latency": 0, "gap_per_byte": 0},
                          "between": {"latency": 1e-3, "gap_per_byte": 0}})"};
  const auto time = [](const char* file) {
    return simulated({"Chain", "--ranks", "4", "--bytes", "8", "--link-costs", file})
        .at("time")
        .get<double>();
  };
  CHECK(time(nodes.name()) == Approx(1e-3));
  const Written listed{R"({"nodes": [[0, 2], [3, 1]], "between": {"latency": 1e-3}})"};
  CHECK(time(listed.name()) == Approx(3e-3).epsilon(0.01));
}

TEST_CASE("simulate: in predicted order the latest are nearest to the root of a reduce") {
  const auto path = [](const char* algorithm) {
    return simulated({algorithm, "--collective", "reduce", "--ranks", "8", "--bytes", "8k",
                      "--arrival", "ascending", "--spread", "1ms"});
  };
  CHECK(path("PredictedOrder+Chain").at("tail") < path("Chain").at("tail"));
}

TEST_CASE("simulate, several algorithms: what is played in predicted order stands apart") {
  const json all =
      simulated({"Ring", "--ranks", "4", "--bytes", "8k", "--arrival", "one-late", "--spread",
                 "1ms", "--algorithm", "PredictedOrder+Ring", "Ring", "SortedLinearTree"});
  std::vector<std::string> names;
  for (const json& one : all) names.push_back(one["algorithm"]);
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"PredictedOrder+Ring", "Ring", "SortedLinearTree"});
}

TEST_CASE("simulate, several algorithms: a table, the fastest first") {
  const Outcome o = run({"simulate", "Linear", "--ranks", "16", "--bytes", "64k", "--algorithm",
                         "RecursiveDoubling", "KNomial:4"});
  CHECK(o.status == 0);
  INFO(o.out);
  CHECK(o.out.starts_with("allreduce of 64 KB, 16 ranks\n  algorithm "));
  CHECK(o.out.find("RecursiveDoubling") < o.out.find("KNomial"));
  CHECK(o.out.find("KNomial") < o.out.find("Linear"));
  CHECK(contains(o.out, " 1.00\n"));
  CHECK(contains(o.out, "costs its rank nothing"));
  const Written model{R"({"overhead": 3e-7})"};
  const Outcome dear = run({"simulate", "Linear", "--ranks", "16", "--bytes", "64k", "--model",
                            model.name(), "--algorithm", "KNomial:4"});
  CHECK(dear.status == 0);
  CHECK_FALSE(contains(dear.out, "costs its rank nothing"));

  const json all =
      simulated({"Ring", "--ranks", "4", "--bytes", "8k", "--algorithm", "all", "Ring"});
  REQUIRE(all.is_array());
  CHECK(all.size() >= 10);
  for (std::size_t i = 1; i < all.size(); ++i) {
    CHECK(all[i - 1].at("time") <= all[i].at("time"));
    CHECK(all[i].at("algorithm") != all[i - 1].at("algorithm"));
  }
  refused({"simulate", "Ring", "--ranks", "4", "--bytes", "8", "--algorithm", "Bruck"},
          "Bruck does not serve allreduce");
}

TEST_CASE("simulate: a hierarchy on the nodes of a machine") {
  const auto call = [](const char* name, const char* collective) {
    return simulated({name, "--collective", collective, "--ranks", "8", "--bytes", "64",
                      "--machine", "nodes=4,cores=2"});
  };
  // Two ranks of a node combine, four nodes double, and two ranks share the result.
  const json sum = call("Hierarchical:Linear,RecursiveDoubling", "allreduce");
  CHECK(sum["algorithm"] == "Hierarchical:Linear,RecursiveDoubling");
  CHECK(sum["messages"] == 4 + 4 * 2 + 4);
  CHECK(call("Hierarchical", "bcast")["messages"] == 7);
  // The steps of the path are in all three phases.
  const json steps = sum["critical_path"]["steps"];
  CHECK(std::count_if(steps.begin(), steps.end(),
                      [](const json& s) { return s["act"] == "receive"; }) == 1 + 2 + 1);
  // By a file of link costs, and of three levels.
  const Written links{R"({"ranks_per_node": 2, "within": {"latency": 0}, "between": {}})"};
  const json by_file = simulated({"Hierarchical:Linear,RecursiveDoubling", "--ranks", "8",
                                  "--bytes", "64", "--link-costs", links.name()});
  CHECK(by_file["messages"] == sum["messages"]);
  CHECK(by_file["time"] < sum["time"]);
  const json racks = simulated({"Hierarchical:Linear,Linear,RecursiveDoubling", "--ranks", "8",
                                "--bytes", "64", "--machine", "nodes=4,cores=2,leaf=2"});
  CHECK(racks["messages"] == 4 + 2 + 2 + 2 + 4);
}

TEST_CASE("simulate: refusals") {
  const auto call = [](std::vector<const char*> more, std::string_view message) {
    more.insert(more.begin(), {"simulate", "Binomial", "--ranks", "4", "--bytes", "8"});
    refused(std::move(more), message);
  };
  refused({"simulate", "Binomial", "--ranks", "4"}, "--bytes is required");
  refused({"simulate", "Binomial", "--bytes", "8"}, "--ranks");
  refused({"simulate", "Dissemination", "--ranks", "4", "--bytes", "8"}, "moves no data");
  refused({"simulate", "Hierarchical:Binomial,Ring", "--ranks", "4", "--bytes", "8"},
          "Hierarchical:Binomial,Ring: which ranks are on a node? Write --machine or --link-costs");
  const auto hierarchy = [](const char* name, std::string_view message) {
    refused({"simulate", name, "--ranks", "4", "--bytes", "8", "--machine", "nodes=2,cores=2"},
            message);
  };
  hierarchy("Hierarchical:DynamicLeader,Ring",
            "DynamicLeader decides by who arrives when, and the plan of a hierarchy is made of "
            "static schedules in rank order: write one in its place, such as Binomial, or auto; "
            "`papcoll simulate` takes it alone, on one node");
  hierarchy("Hierarchical:Binomial,PredictedOrder+Ring", "PredictedOrder+Ring goes by an order");
  hierarchy("Hierarchical:Binomial,Ring,Ring,Ring", "a machine has levels for three algorithms");
  refused({"simulate", "Hierarchical", "--ranks", "4", "--bytes", "8", "--machine",
           "nodes=2,cores=2", "--order", "machine"},
          "follows the machine by its nodes: leave --order out");
  refused({"simulate", "Ring+ShmTransport", "--ranks", "4", "--bytes", "8"},
          "papcoll: Ring+ShmTransport: the simulator times messages, as MpiTransport passes them, "
          "and not ShmTransport: write Ring+MpiTransport");
  call({"--algorithm", "PredictedOrder+Ring+RmaTransport"},
       "write PredictedOrder+Ring+MpiTransport");
  CHECK(run({"simulate", "Ring+MpiTransport", "--ranks", "4", "--bytes", "8"}).status == 0);
  refused({"simulate", "auto", "--ranks", "4", "--bytes", "8"}, "names no schedule to simulate");
  call({"--collective", "allgather"}, "does not serve allgather: it serves allreduce, bcast");
  call({"--collective", "bcats"}, "there is no bcats: did you mean bcast");
  call({"--root", "1"}, "--root: allreduce has none");
  refused({"simulate", "--algorithm", "all", "Ring", "--ranks", "4"},
          "write an algorithm before it");
  call({"--collective", "bcast", "--root", "4"}, "there are ranks 0 to 3");
  call({"--arrival", "uniform"}, "--arrival uniform: it needs --mif or --spread");
  call({"--spread", "1ms"}, "--arrival balanced: leave --mif and --spread out");
  call({"--arrival", "late"}, "papcoll: --arrival: no arrival pattern is called 'late'");
  call({"--arrival", "uniform", "--spread", "5"}, "--spread");
  call({"--arrival", "uniform", "--mif", "5", "--spread", "5us"}, "excludes");
  call({"--arrival", "trace:/nonexistent"}, "cannot read the arrival trace /nonexistent");
  call({"--ports", "open"}, "--ports");
  for (const std::string text : {"nan", "1,5", "1us", "-1"}) {
    call({"--mif", text.c_str()}, "--mif: '" + text + "' is no number from 0 on");
  }
  call({"--seed", "-1"}, "--seed: '-1' is no whole number from 0 to 9223372036854775807");
  for (const char* option : {"--model", "--link-costs", "--collective"}) {
    call({option, ""}, std::string(option) + ": it is empty");
  }
  call({"--model", "/nonexistent"}, "cannot read the model file /nonexistent");
  call({"--model", "/tmp"}, "cannot read the model file /tmp: it is a directory");
}

TEST_CASE("simulate: a collective may have MPI's name") {
  for (const char* name : {"MPI_Reduce", "mpi_reduce", "Reduce"}) {
    CHECK(simulated({"Chain", "--ranks", "3", "--bytes", "8", "--collective", name})
              .at("collective") == "reduce");
  }
  refused({"simulate", "Ring", "--ranks", "4", "--bytes", "8", "--collective", "MPI_Barrier"},
          "does not serve barrier: it serves");
  refused({"simulate", "Ring", "--ranks", "4", "--bytes", "8", "--collective", "MPI_Iallreduce"},
          "there is no MPI_Iallreduce: did you mean allreduce?");
  for (const char* command : {"simulate", "draw", "map", "verify"}) {
    std::vector<const char*> call{command, "MPI_Allreduce"};
    if (command[0] != 'v') call.insert(call.end(), {"--ranks", "4"});
    if (command[0] == 'd') call.insert(call.end(), {"-o", "-"});
    if (command[0] == 'm') call.insert(call.end(), {"--machine", "nodes=4"});
    refused(call,
            "'MPI_Allreduce' is a collective: name an algorithm for it, of those that "
            "`papcoll list allreduce` shows");
  }
  const char* const block = "MPI_Reduce_scatter_block";
  CHECK(contains(run({"explain", block, "--ranks", "4", "--bytes", "8"}).out, "because"));
  CHECK(run({"list", block}).out == run({"list", "reduce_scatter"}).out);
  refused({"list", "MPI_Allgatherv"}, "an allgatherv is an allgather with counts");
}

TEST_CASE("simulate: bytes are a number") {
  const auto bytes = [](const char* text, std::string_view message) {
    refused({"simulate", "Ring", "--ranks", "4", "--bytes", text}, message);
    refused({"explain", "allreduce", "--ranks", "4", "--bytes", text}, "--bytes: ");
  };
  bytes("-8", "--bytes: '-8' is not a number of bytes: write 8, 64k, 1.5M or 1e6");
  bytes("", "--bytes: '' is not a number of bytes");
  bytes("k", "--bytes: 'k' is not a number of bytes");
  bytes("99999999999999999999999", "is too large: write 8");
  bytes("16E", "--bytes: '16E' is too large");
  bytes("8x", "--bytes: '8x' is not a number of bytes");
  bytes("1.3k", "--bytes: '1.3k' is no whole number of bytes: write 8");
  const auto simulated_bytes = [](const char* text) {
    return simulated({"Ring", "--ranks", "4", "--bytes", text}).at("bytes");
  };
  CHECK(simulated_bytes("1.5M") == 1572864);
  CHECK(simulated_bytes("1e6") == 1000000);
}

TEST_CASE("whole numbers are decimal, and told what they may be") {
  CHECK(simulated({"Ring", "--ranks", "010", "--bytes", "8"}).at("ranks") == 10);
  CHECK(contains(run({"verify", "Ring", "--max-ranks", "03"}).out, "1 to 3 ranks"));
  CHECK(contains(
      run({"map", "Binomial", "--machine", "nodes=12", "--collective", "bcast", "--root", "011"})
          .out,
      "root 11"));
  for (const char* text :
       {"0x10", "4k", "1,024", "4.0", "+4", " 4", "", "-4", "16385", "18446744073709551620"}) {
    refused({"simulate", "Ring", "--ranks", text, "--bytes", "8"},
            "--ranks: '" + std::string(text) + "' is no whole number from 1 to 16384");
  }
  refused({"simulate", "Ring", "--ranks", "4", "--bytes", "8", "--seed", "99999999999999999999"},
          "--seed: '99999999999999999999' is no whole number");
  refused({"simulate", "Binomial", "--ranks", "4", "--bytes", "8", "--root", "MPI_ROOT"},
          "--root: 'MPI_ROOT' is no whole number from 0");
  refused({"explain", "allreduce", "--ranks", "4", "--nodes", "n[1-4]", "--bytes", "8"},
          "--nodes: 'n[1-4]' is no whole number from 1");
  refused({"map", "Ring", "--machine", "nodes=4", "--seed", "-1"}, "--seed: '-1' is no whole");
}

TEST_CASE("simulate: times have units, as the tools print them") {
  const auto time = [](const char* spread) {
    return simulated({"Ring", "--ranks", "4", "--bytes", "8", "--arrival", "one-late", "--spread",
                      spread})
        .at("time");
  };
  CHECK(time("200\u00b5s") == time("200us"));   // the sign of micro
  CHECK(time("200 \u03bcs") == time("200us"));  // the Greek letter
  for (const char* option : {"--spread", "--hop-latency"}) {
    refused({"simulate", "Ring", "--ranks", "4", "--bytes", "8", "--machine", "nodes=4",
             "--arrival", "one-late", option, "200"},
            std::string(option) +
                ": '200' is not a duration: write a number and ns, us, µs, ms "
                "or s, as 100us");
  }
}

TEST_CASE("simulate: what takes too much is refused at once, and told what to do") {
  refused({"simulate", "Ring", "--ranks", "16384", "--bytes", "16M"},
          "simulate fewer ranks or bytes, or longer segments, or allow more (most_steps; on the ");
  refused({"simulate", "Linear", "--collective", "allgather", "--ranks", "16384", "--bytes", "8"},
          "(most_memory; on the command line --no-size-limit)");
  refused({"draw", "PipelinedChain:8", "--ranks", "128", "--bytes", "64M", "-o", "-"},
          "million steps or more");
}
