// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/choice/selection/learned_file.hpp>
#include <papcoll/choice/selection/learner.hpp>
#include <papcoll/choice/selection/selection_file.hpp>
#include <papcoll/core.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/topology/processor_set.hpp>

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "run_tool.hpp"
#include "tuning_file.hpp"

using namespace papcoll;
using nlohmann::json;

TEST_CASE("explain: what would run, and why") {
  const auto says = [](std::vector<const char*> arguments, std::string_view algorithm,
                       std::string_view reason) {
    arguments.insert(arguments.begin(), {"explain", "--bytes"});
    const Outcome o = run(std::move(arguments));
    CHECK(o.status == 0);
    CHECK(o.err.empty());
    INFO(o.out);
    CHECK(o.out.starts_with(std::string(algorithm) + "\n  because "));
    CHECK(contains(o.out, reason));
  };
  says({"64", "allreduce", "--ranks", "2"}, "Exchange+ShmTransport",
       "because    the model of the node expects least of it");
  says({"64", "allreduce", "--ranks", "2"}, "Exchange+ShmTransport",
       "candidates Exchange: expected 0.17 µs; MultiLeader: expected ");
  says({"1M", "allreduce", "--ranks", "8", "--mean-wait", "10ms"}, "Accumulator+ShmTransport",
       "mean wait for the last 10000.00 µs; imbalanced above");
  says({"1.0M", "MPI_Allreduce", "--ranks", "8", "--mean-wait", "10000\u00b5s"},
       "Accumulator+ShmTransport", "mean wait for the last 10000.00 µs; imbalanced above");
  says({"1M", "allreduce", "--ranks", "8", "--mean-wait", "10ms", "--op", "Other"},
       "MultiLeader+ShmTransport", ", Ring, SegmentedRing, ");
  says({"1M", "allreduce", "--ranks", "8", "--mean-wait", "10ms", "--op", "MPI_SUM", "--contract",
        "reproducible"},
       "MultiLeader+ShmTransport+Reproducible", "bits must not depend on arrivals");
  says({"8k", "allreduce", "--ranks", "4", "--buffers", "private"}, "MultiLeader+ShmTransport",
       "buffers are private");
  says({"8k", "allreduce", "--ranks", "4", "--buffers", "arena"}, "PeerSlices+ShmTransport",
       "in the arena");
  says({"512", "allreduce", "--ranks", "8", "--oversubscribed"}, "Exchange+ShmTransport",
       "; Accumulator: expected ");
  says({"64k", "allreduce", "--ranks", "8", "--oversubscribed"}, "Accumulator+ShmTransport",
       "Accumulator: expected ");
  says({"512", "allreduce", "--ranks", "8", "--oversubscribed", "--op", "other"},
       "Exchange+ShmTransport", "DynamicLeader: expected ");
  says({"8", "allreduce", "--ranks", "8", "--nodes", "4"}, "Hierarchical", "of several ranks");
  says({"8", "allreduce", "--ranks", "8", "--nodes", "4"}, "Hierarchical",
       "ArrivalOrder+Chain: the ranks that run it have no memory in common: the ranks are on "
       "4");
  says({"8", "alltoall", "--ranks", "16", "--nodes", "4"}, "Hierarchical",
       "several nodes of several ranks, the model of the network expects least of it");
  says({"8k", "alltoall", "--ranks", "8", "--nodes", "4"}, "Linear+MpiTransport",
       "candidates Linear: expected ");
  says({"8", "alltoall", "--ranks", "64", "--nodes", "64"}, "Bruck:8+MpiTransport",
       "; by network.alpha_ns");
  says({"8", "scan", "--ranks", "8", "--nodes", "4"}, "Hierarchical",
       "candidates Hierarchical: expected ");
  says({"4k", "bcast", "--ranks", "8"}, "DynamicLeader+ShmTransport", "PeerSlices: expected ");
  says({"64k", "reduce", "--ranks", "4", "--buffers", "arena"}, "PeerSlices+ShmTransport",
       "in the arena");
  says({"64k", "reduce_scatter", "--ranks", "4", "--buffers", "private"}, "Exchange+ShmTransport",
       "buffers are private");
  says({"8", "gather", "--ranks", "4"}, "Exchange+ShmTransport", "BlockCopies: expected ");
  says({"8", "alltoall", "--ranks", "4"}, "BlockCopies+ShmTransport",
       "because    no other candidate is promising");
  says({"8", "gather", "--ranks", "4", "--nonblocking"}, "Linear+ShmTransport",
       "Binomial: expected 3.00 µs");
  says({"8", "reduce_scatter", "--ranks", "4", "--op", "other", "--nonblocking"},
       "Linear+ShmTransport", "ranks pass messages: no other candidate is promising");
  says({"8", "allreduce", "--ranks", "4", "--nodes", "4"}, "RecursiveDoubling+MpiTransport",
       "ranks pass messages: the model of the network expects least of it");
  says({"8", "allreduce", "--ranks", "2", "--nonblocking"}, "RecursiveDoubling+ShmTransport",
       "Hierarchical: the call is non-blocking");
  CHECK(run({"explain", "barrier", "--ranks", "3"}).status == 0);
  says({"12", "allreduce", "--ranks", "8", "--type", "MPI_INT", "--op", "MPI_BAND"},
       "Exchange+ShmTransport", "because    the model");
  refused({"explain", "MPI_Iallreduce", "--ranks", "4", "--bytes", "8"},
          "there is no MPI_Iallreduce: did you mean allreduce?");
}

TEST_CASE("explain --algorithm: what it requires, and whether it can run the call") {
  const auto says = [](std::vector<const char*> arguments, std::string_view beginning,
                       std::string_view more) {
    arguments.insert(arguments.begin(), {"explain", "--bytes", "1k", "--algorithm"});
    const Outcome o = run(std::move(arguments));
    INFO(o.out << o.err);
    CHECK(o.status == 0);
    CHECK(o.out.starts_with(beginning));
    CHECK(contains(o.out, more));
  };
  says(
      {"Ring", "allreduce", "--ranks", "4"},
      "Ring+ShmTransport\n  because    the call names it\n  requires   an operator that commutes; ",
      "\n  arrivals   ");
  says({"Ring", "allreduce", "--ranks", "4", "--op", "other"}, "Ring+ShmTransport\n  because  ",
       "\n  cannot run Ring combines contributions out of rank order, and this operator is not "
       "known "
       "to commute: ");
  says(
      {"DynamicLeader", "bcast", "--ranks", "4", "--nodes", "2"}, "DynamicLeader",
      "cannot run DynamicLeader reads its peers' memory, and the ranks that run it have no memory");
  says({"DynamicLeader", "bcast", "--ranks", "4"}, "DynamicLeader+ShmTransport",
       "\n  requires   all ranks on one node, and ");
  says({"Ring+MpiTransport", "bcast", "--ranks", "4"}, "Ring+MpiTransport",
       "cannot run Ring does not serve bcast, only allreduce");
  says({"MpiTransport", "allreduce", "--ranks", "4"}, "RecursiveDoubling+MpiTransport",
       "ranks pass messages");
  says({"Hierarchical:DynamicLeader,Ring", "allreduce", "--ranks", "8", "--nodes", "2"},
       "Hierarchical:DynamicLeader,Ring\n  because    the call names it\n  requires   a blocking",
       "\n  arrivals");
  says({"Hierarchical:DynamicLeader,Exchange", "allreduce", "--ranks", "8", "--nodes", "2"},
       "Hierarchical:DynamicLeader,Exchange",
       "cannot run Exchange within Hierarchical reads its peers' memory");
  says({"Hierarchical", "allreduce", "--ranks", "8", "--nodes", "2", "--nonblocking"},
       "Hierarchical\n", "cannot run Hierarchical moves only while its rank waits");
  refused({"explain", "allreduce", "--ranks", "4", "--bytes", "8", "--algorithm", "Rnig"},
          "did you mean Ring");
}

TEST_CASE("explain: calls whose blocks differ") {
  const auto chosen = [](const char* collective, const char* nodes) {
    const Outcome o =
        run({"explain", collective, "--ranks", "4", "--nodes", nodes, "--bytes", "64", "--json"});
    INFO(o.err);
    REQUIRE(o.status == 0);
    const json all = json::parse(o.out);
    CHECK(all.at("collective") == collective);
    return all.at("algorithm").get<std::string>();
  };
  for (const char* const collective : {"allgatherv", "gatherv", "scatterv", "alltoallv"}) {
    CHECK(chosen(collective, "1") == "BlockCopies+ShmTransport");
  }
  CHECK(chosen("allgatherv", "4") == "Ring+MpiTransport");
  CHECK(chosen("gatherv", "4") == "Linear+MpiTransport");
  CHECK(chosen("alltoallv", "4") == "SpreadOut+MpiTransport");
  const Outcome bruck =
      run({"explain", "MPI_Alltoallv", "--ranks", "4", "--bytes", "64", "--algorithm", "Bruck"});
  CHECK(contains(bruck.out,
                 "cannot run Bruck passes blocks on for other ranks, and the call has counts"));
  const Outcome exchange =
      run({"explain", "allgatherv", "--ranks", "4", "--bytes", "64", "--algorithm", "Exchange"});
  CHECK(contains(exchange.out, "cannot run Exchange takes of each rank as many elements"));
}

TEST_CASE("explain: by the thresholds of a tuning file") {
  const std::string file = "/tmp/papcoll_explain_test." + std::to_string(getpid());
  std::FILE* const out = std::fopen(file.c_str(), "w");
  REQUIRE(out != nullptr);
  std::fputs(R"({"papcoll_selection": 1, "thresholds": {"network": {"alpha_ns": 0}}})", out);
  std::fclose(out);
  const Outcome o = run({"explain", "allreduce", "--ranks", "2", "--bytes", "64", "--nonblocking",
                         "--tuning", file.c_str(), "--json"});
  unlink(file.c_str());
  REQUIRE(o.status == 0);
  const json all = json::parse(o.out);
  CHECK(all.at("algorithm") == "Rabenseifner+ShmTransport");
  CHECK(all.at("reason") == "ranks pass messages: the model of the network expects least of it");
  CHECK(all.at("collective") == "allreduce");
  CHECK(all.at("ranks") == 2);
  CHECK(all.at("nodes") == 1);
  CHECK(all.at("bytes") == 64);
  CHECK(all.at("mean_wait_us") == 0);
  CHECK(all.at("imbalanced_above_us") > 0);
  CHECK(all.at("refused").is_array());
}

TEST_CASE("explain: by what a tuning file has learned") {
  const int here = ProcessorSet::of_this_thread().count();
  const auto processors = static_cast<std::size_t>(here);
  SelectionFile f;
  f.made_by = MadeBy::here();
  f.costs.push_back({{2, 2, processors}, {.pull_ns = 4711}});
  f.calls.push_back({{2, 2, processors},
                     CallKind::key_of(Collective::allreduce, 4096, 0),
                     detail::kept_algorithm("PeerSlices"),
                     12340,
                     0});
  const auto says = [&f, here](const char* bytes, bool shares = false) {
    const TuningFile file{detail::text_of<>(f)};
    const std::string name = file.name();
    std::vector<const char*> words{"explain", "allreduce", "--ranks",  "2",
                                   "--bytes", bytes,       "--tuning", name.c_str()};
    if ((here < 2) != shares) words.push_back("--oversubscribed");
    const Outcome o = run(words);
    CHECK(o.status == 0);
    return o.out;
  };
  const std::string known = says("4k");
  CHECK(known.starts_with("PeerSlices+ShmTransport\n  because    from the file: it was the quick"));
  CHECK(contains(known, ", measured 12.34 µs"));
  CHECK(contains(known, " has learned 1 kind of calls; each begins with what was the quickest\n"));
  CHECK(contains(says("64k"), "; but none is of such calls of 2 ranks, 2 on a node, on "));
  f.calls.push_back(f.calls[0]);
  f.calls[1].kind = CallKind::key_of(Collective::allreduce, 65536, 0);
  f.calls[1].best = detail::kept_algorithm("PeerSlices by the kernel");
  CHECK(contains(says("64k"), "because    from the file: it was the quickest before"));
  CHECK(contains(says("64k"), "PeerSlices by the kernel: expected "));
  const std::string others = says("4k", true);
  CHECK(!contains(others, "from the file"));
  CHECK(contains(others, "; but none counts, since 2 ranks on a node "));
  f.made_by.kernel = "0.1";
  const std::string foreign = says("4k");
  CHECK(!contains(foreign, "from the file"));
  CHECK(contains(foreign, " has learned is ignored: it was made under kernel 0.1, and this is "));
}

TEST_CASE("explain: one rank") {
  const Outcome o = run({"explain", "allreduce", "--ranks", "1", "--bytes", "64"});
  CHECK(contains(o.out, "because    a rank alone exchanges nothing"));
}

TEST_CASE("explain: as a program is answered") {
  ThreadTeam team{3};
  std::string differences;
  team.run([&](ThreadTeam::Rank& comm) {
    if (comm.rank() != 0) return;
    for (std::size_t i = 0; i < collective_count; ++i) {
      const auto c = static_cast<Collective>(i);
      const std::string name{name_of(c)};
      for (std::size_t bytes = 8; bytes <= std::size_t{8} << 20U; bytes *= 2) {
        const Explanation e = explain(comm, c, bytes);
        const std::string n = std::to_string(bytes);
        std::vector<const char*> words{"explain", name.c_str(), "--ranks", "3", "--json"};
        if (c != Collective::barrier) words.insert(words.end(), {"--bytes", n.c_str()});
        if (comm.core().waiter().oversubscribed) words.push_back("--oversubscribed");
        const json all = json::parse(run(words).out);
        const auto algorithm = all.at("algorithm").get<std::string>();
        const auto schedule = [](const std::string& text) {
          return text.substr(0, text.find('+'));
        };
        if (schedule(algorithm) != schedule(e.algorithm) || all.at("reason") != e.reason) {
          differences += name + " " + n + ": " + algorithm + ", " + e.algorithm + "\n";
        }
        if (c == Collective::barrier) break;
      }
    }
  });
  CHECK(differences == "");
}

TEST_CASE("explain: refusals") {
  const auto explains = [&](std::vector<const char*> more, std::string_view message) {
    more.insert(more.begin(), {"explain", "allreduce", "--ranks", "2", "--bytes"});
    refused(std::move(more), message);
  };
  refused({"explain"}, "--collective is required");
  refused({"explain", "allreduce", "--bytes", "8"}, "--ranks");
  refused({"explain", "allreduce"}, "see papcoll explain --help");
  refused({"explain", "alreduce", "--ranks", "2", "--bytes", "8"}, "did you mean allreduce");
  refused({"explain", "allreduce", "--ranks", "0", "--bytes", "8"}, "--ranks");
  refused({"explain", "allreduce", "--ranks", "2"}, "--bytes is required");
  refused({"explain", "barrier", "--ranks", "2", "--bytes", "8"}, "a barrier moves no data");
  explains({"12"}, "no whole number of double");
  explains({"8 parsecs"}, "--bytes");
  explains({"8", "--nodes", "3"}, "--nodes 3: there are 2 ranks");
  explains({"8", "--type", "half"}, "--type: there is no half");
  explains({"8", "--op", "summ"}, "did you mean sum");
  explains({"8", "--mean-wait", "5"}, "--mean-wait: '5' is not a duration: write a number and ns");
  explains({"8", "--mean-wait", "-5us"}, "--mean-wait");
  explains({"8", "--contract", "Exact"}, "there is no Exact");
  explains({"8", "--buffers", "public"}, "--buffers");
  explains({"8", "--tuning", "/nonexistent"}, "cannot read the tuning file /nonexistent");
}

TEST_CASE("explain --buffers device: what papcoll::gpu runs") {
  const auto says = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"explain", "--buffers", "device", "--ranks", "4"});
    const Outcome o = run(std::move(arguments));
    CHECK(o.status == 0);
    CHECK(o.err.empty());
    return o.out;
  };
  const std::string ring = says({"allreduce", "--bytes", "1M"});
  CHECK(ring.starts_with("Ring+CudaIpcTransport\n  because    more than 16 KB"));
  CHECK(contains(ring, "\n  by name    DeviceSlices: "));
  CHECK(says({"allreduce", "--bytes", "64"}).starts_with("RecursiveDoubling+CudaIpcTransport\n"));
  CHECK(contains(says({"bcast", "--bytes", "64M", "--nodes", "2"}), "through the host"));
  const json gather = json::parse(says({"gather", "--bytes", "1k", "--json"}));
  CHECK(gather.at("algorithm") == "Linear+CudaIpcTransport");
  refused({"explain", "scan", "--buffers", "device", "--ranks", "4", "--bytes", "8"},
          "leave --buffers device out");
  refused(
      {"explain", "bcast", "--buffers", "device", "--ranks", "4", "--bytes", "8", "--tuning", "x"},
      "--buffers device: leave --tuning out");
}
