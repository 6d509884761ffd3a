#include <papcoll/catalogue/rows.hpp>
#include <papcoll/core.hpp>
#include <papcoll/team.hpp>
#include <papcoll/tools/papcoll_tool.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"

using namespace papcoll;
using nlohmann::json;

namespace {

/// A stream of the process, caught in a temporary file while the object lives.
class Caught {
 public:
  explicit Caught(FILE* stream) : stream_(stream), file_(std::tmpfile()) {
    std::fflush(stream_);
    kept_ = dup(fileno(stream_));
    dup2(fileno(file_), fileno(stream_));
  }
  Caught(const Caught&) = delete;
  Caught& operator=(const Caught&) = delete;
  ~Caught() {
    release();
    std::fclose(file_);
  }

  std::string text() {
    release();
    std::rewind(file_);
    std::string all;
    for (int c = 0; (c = std::fgetc(file_)) != EOF;) all += static_cast<char>(c);
    return all;
  }

 private:
  void release() {
    if (kept_ < 0) return;
    std::fflush(stream_);
    dup2(kept_, fileno(stream_));
    close(kept_);
    kept_ = -1;
  }

  FILE* stream_;
  FILE* file_;
  int kept_ = -1;
};

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

Outcome run(std::vector<const char*> arguments, Catalogue rows = catalogue()) {
  arguments.insert(arguments.begin(), "papcoll");
  Caught out{stdout};
  Caught err{stderr};
  const int status = tool_main(static_cast<int>(arguments.size()), arguments.data(), rows);
  return {status, out.text(), err.text()};
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Forgets all ranks but the first two.
struct Careless {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "Careless";
  static constexpr std::string_view sentence = "Forgets some.";
  static constexpr bool commutative_only = false;
  void emit(Reduce, Builder& b) const {
    if (b.size() < 2) return;
    if (b.position() == 1) b.send(0, b.whole());
    if (b.position() == 0) b.reduce(1, b.whole());
  }
  friend bool operator==(const Careless&, const Careless&) = default;
};

constexpr std::array own_rows{static_row<Careless>(), static_row<Ring>()};

}  // namespace

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
  CHECK(names == std::set<std::string>{"Binomial", "Hierarchical", "Linear"});
  // A policy stands for all algorithms that have it.
  const Outcome chains = run({"list", "Chain"});
  CHECK(contains(chains.out, "ArrivalOrder+Chain\n"));
  CHECK(contains(chains.out, "serves        reduce, bcast\n"));
  CHECK(json::parse(run({"list", "Chain", "allreduce", "--json"}).out).size() == 1);
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
    std::vector<std::string> written;
    std::string least;
    for (const Parameter& p : row.parameters) {
      if (!p.standard.empty()) written.emplace_back(p.standard);
      if (p.values.empty() && p.least > 0) least = std::to_string(p.least);
    }
    if (!written.empty()) CHECK(plan_of(row, join_arguments(written), catalogue()) == row.plan());
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

TEST_CASE("verify: what is right is proven") {
  const Outcome o = run({"verify", "--max-ranks", "5"});
  CHECK(o.status == 0);
  CHECK(o.err.empty());
  CHECK(contains(o.out, "proven  Rabenseifner allreduce, 1 to 5 ranks"));
  CHECK(contains(o.out, ", 0 at fault"));
}

TEST_CASE("verify --algorithm: with parameters, several times") {
  const Outcome o = run({"verify", "--max-ranks", "4", "--algorithm", "KNomial:3", "--algorithm",
                         "ReduceThenBcast:Binomial,Chain", "--json"});
  REQUIRE(o.status == 0);
  const json all = json::parse(o.out);
  REQUIRE(all.size() == 4);
  CHECK(all[0].at("name") == "KNomial:3");
  CHECK(all[3].at("name") == "ReduceThenBcast:Binomial,Chain");
  for (const json& one : all) {
    CHECK(one.at("proven") == true);
    CHECK(one.at("fault").is_null());
    CHECK(one.at("max_ranks") == 4);
    CHECK(one.at("cases") > 4);
  }
}

TEST_CASE("verify: a catalogue of one's own, and a fault in it") {
  const Outcome o = run({"verify", "--max-ranks", "4"}, own_rows);
  CHECK(o.status == 1);
  CHECK(contains(o.out, "FAULT   Careless reduce: missing"));
  CHECK(contains(o.out, "in reduce of 6 elements on 3 ranks, root 0"));
  CHECK(contains(o.out, "3 proven, 1 at fault"));

  const Outcome as_json = run({"verify", "--max-ranks", "4", "--json"}, own_rows);
  CHECK(as_json.status == 1);
  const json fault = json::parse(as_json.out).at(0).at("fault");
  CHECK(fault.at("kind") == "missing");
  CHECK(fault.at("rank") == 0);
  CHECK(fault.at("step").is_null());
  CHECK(fault.at("element") == 0);

  CHECK(run({"verify", "--max-ranks", "2"}, own_rows).status == 0);
  CHECK(run({"verify", "--algorithm", "Bruck"}, own_rows).status == 2);
}

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
       "balanced, two ranks, at most exchange_two_ranks (512) bytes");
  says({"1M", "allreduce", "--ranks", "8", "--imbalance", "10ms"}, "SplitTail+ShmTransport",
       "mean wait for the last 10000.00 µs; imbalanced above");
  says({"1M", "allreduce", "--ranks", "8", "--imbalance", "10ms", "--op", "other"},
       "CombiningTree+ShmTransport", "SplitTail, Ring, ");
  says({"1M", "allreduce", "--ranks", "8", "--imbalance", "10ms", "--contract", "Reproducible"},
       "PeerSlices+ShmTransport+Reproducible", "bits must not depend on arrivals");
  says({"8k", "allreduce", "--ranks", "4", "--private"}, "MultiLeader+ShmTransport",
       "buffers are private");
  says({"8k", "allreduce", "--ranks", "4", "--arena"}, "PeerSlices+ShmTransport",
       "in the arena, above multi_leader_arena (");
  says({"1k", "allreduce", "--ranks", "8", "--oversubscribed"}, "Exchange+ShmTransport",
       "at most exchange_oversubscribed (");
  says({"8", "allreduce", "--ranks", "8", "--nodes", "4"}, "Hierarchical", "of several ranks");
  says({"8", "allreduce", "--ranks", "8", "--nodes", "4"}, "Hierarchical",
       "ArrivalOrder+Chain: the communicator has no memory that all ranks share: the ranks are on "
       "4");
  says({"4k", "bcast", "--ranks", "8"}, "DynamicLeader+ShmTransport",
       "because    at most slices (");
  says({"4k", "bcast", "--ranks", "8", "--arena"}, "DynamicLeader+ShmTransport",
       "because    in the arena, at most slices_arena (");
  says({"64k", "reduce", "--ranks", "4", "--arena"}, "PeerSlices+ShmTransport",
       "because    balanced, in the arena, above slices_arena (");
  says({"8", "gather", "--ranks", "4"}, "Binomial+ShmTransport", "what a gather always runs");
  says({"8", "reduce_scatter", "--ranks", "4", "--op", "other", "--non-blocking"},
       "Linear+ShmTransport", "ranks pass messages: for operators not known to commute");
  says({"8", "allreduce", "--ranks", "4", "--nodes", "4"}, "RecursiveDoubling+MpiTransport",
       "ranks pass messages: at most recursive_doubling (8192) bytes");
  says({"8", "allreduce", "--ranks", "2", "--non-blocking"}, "RecursiveDoubling+ShmTransport",
       "Hierarchical: the call is non-blocking");
  CHECK(run({"explain", "barrier", "--ranks", "3"}).status == 0);
}

TEST_CASE("explain: by the thresholds of a tuning file") {
  const std::string file = "/tmp/papcoll_explain_test." + std::to_string(getpid());
  std::FILE* const out = std::fopen(file.c_str(), "w");
  REQUIRE(out != nullptr);
  std::fputs(R"({"papcoll_tuning": 1, "thresholds": {"exchange_two_ranks": {"value": 8}}})", out);
  std::fclose(out);
  const Outcome o = run({"explain", "allreduce", "--ranks", "2", "--bytes", "64", "--tuning",
                         file.c_str(), "--json"});
  unlink(file.c_str());
  REQUIRE(o.status == 0);
  const json all = json::parse(o.out);
  CHECK(all.at("algorithm") == "MultiLeader+ShmTransport");
  CHECK(all.at("reason") == "balanced, at most multi_leader (8192) bytes");
  CHECK(all.at("collective") == "allreduce");
  CHECK(all.at("ranks") == 2);
  CHECK(all.at("nodes") == 1);
  CHECK(all.at("bytes") == 64);
  CHECK(all.at("mean_wait_us") == 0);
  CHECK(all.at("imbalanced_above_us") > 0);
  CHECK(all.at("refused").is_array());
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

TEST_CASE("bad input: a message on stderr and status 2") {
  auto refused = [](std::vector<const char*> arguments, std::string_view message) {
    const Outcome o = run(std::move(arguments));
    CHECK(o.status == 2);
    CHECK(o.out.empty());
    INFO(o.err);
    CHECK(contains(o.err, message));
    CHECK(contains(o.err, "papcoll"));
  };
  refused({}, "subcommand is required");
  refused({"prove"}, "prove");
  refused({"list", "--xml"}, "--xml");
  refused({"list", "--xml"}, "see papcoll list --help");
  refused({"list", "Rnig"}, "did you mean Ring");
  refused({"list", "allredcue"}, "did you mean allreduce");
  refused({"list", "Bruck", "allreduce"}, "none of these serves");
  refused({"verify", "--max-ranks", "0"}, "--max-ranks");
  refused({"prove"}, "see papcoll --help");
  refused({"verify", "--max-ranks", "many"}, "--max-ranks");
  refused({"verify", "--algorithm"}, "--algorithm");
  refused({"verify", "--algorithm", "Rnig"}, "did you mean Ring");
  refused({"verify", "--algorithm", "KNomial:1"}, "at least 2");
  refused({"verify", "--algorithm", "MpiTransport"}, "names no schedule");
  refused({"verify", "--algorithm", "DynamicLeader"}, "no plan to verify");
  refused({"explain"}, "COLLECTIVE");
  refused({"explain", "allreduce", "--bytes", "8"}, "--ranks");
  refused({"explain", "allreduce"}, "see papcoll explain --help");
  const auto explains = [&](std::vector<const char*> more, std::string_view message) {
    more.insert(more.begin(), {"explain", "allreduce", "--ranks", "2", "--bytes"});
    refused(std::move(more), message);
  };
  refused({"explain", "alreduce", "--ranks", "2", "--bytes", "8"}, "did you mean allreduce");
  refused({"explain", "allreduce", "--ranks", "0", "--bytes", "8"}, "--ranks");
  refused({"explain", "allreduce", "--ranks", "2"}, "--bytes is required");
  refused({"explain", "barrier", "--ranks", "2", "--bytes", "8"}, "a barrier moves no data");
  explains({"12"}, "no whole number of double");
  explains({"8 parsecs"}, "--bytes");
  explains({"8", "--nodes", "3"}, "--nodes 3: there are 2 ranks");
  explains({"8", "--type", "long"}, "--type: there is no long");
  explains({"8", "--op", "summ"}, "did you mean sum");
  explains({"8", "--imbalance", "5"}, "--imbalance");
  explains({"8", "--imbalance", "-5us"}, "--imbalance");
  explains({"8", "--contract", "Exact"}, "there is no Exact");
  explains({"8", "--arena", "--private"}, "--private");
  explains({"8", "--tuning", "/nonexistent"}, "cannot read the tuning file /nonexistent");
}

TEST_CASE("help and version") {
  const Outcome help = run({"--help"});
  CHECK(help.status == 0);
  CHECK(contains(help.out, "verify"));
  const Outcome version = run({"--version"});
  CHECK(version.status == 0);
  CHECK(version.out == tool::version() + "\n");
}
