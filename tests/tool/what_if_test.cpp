// SPDX-License-Identifier: BSD-3-Clause
// `papcoll what-if`.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "node_costs_of_tests.hpp"
#include "run_tool.hpp"
#include "simulated.hpp"
#include "temporary_directory.hpp"
#include "trace_writer.hpp"

using nlohmann::json;

namespace {

std::string trace_of(int calls, const char* line) {
  std::string text;
  for (int i = 0; i < calls; ++i) text += line;
  return text;
}

// Four ranks: at one place 8-byte allreduces of which rank 2 is 50 µs late, at another alltoalls of
// 4 KB for each rank, at a third a non-blocking barrier. The clock of ranks 2 and 3 is known up to
// `bound` nanoseconds.
void write_run(const TemporaryDirectory& directory, std::int64_t bound = 0) {
  using papcoll::profile::MpiCollective;
  RunWriter writer{4};
  std::uint64_t at = 2'000'000'000;
  for (std::uint64_t i = 0; i < 60; ++i) {
    TraceWriter::Call c;
    c.site = static_cast<std::uint32_t>(i % 3);
    if (i % 3 == 1) {
      c.collective = MpiCollective::alltoall;
      c.bytes = 16384;
    } else if (i % 3 == 2) {
      c.collective = MpiCollective::barrier;
      c.bytes = 0;
      c.flags = papcoll::profile::record_nonblocking;
    }
    for (std::size_t r = 0; r < 4; ++r) {
      const std::uint64_t late = r == 2 && i % 3 == 0 ? 50'000 : 0;
      writer.traces[r].call(c, at + late, at + 90'000);
    }
    at += 200'000;
  }
  for (TraceWriter& t : writer.traces) {
    t.header.ended = at;
    if (bound == 0 || t.header.world_rank < 2) continue;
    t.header.clock = 2;
    t.header.clock_begin = {1'000'000'000, 0, bound, 1};
    t.header.clock_end = {static_cast<std::int64_t>(at), 0, bound, 1};
  }
  writer.write(directory.path());
}

}  // namespace

TEST_CASE("what-if DIR: places of a recorded run, and where most is saved") {
  const TemporaryDirectory directory;
  write_run(directory);
  const Written costs{node_costs_text()};
  const std::string name = directory.path().string();
  const auto with = [&](const std::vector<const char*>& more) {
    std::vector<const char*> all{"what-if", name.c_str(), "--simulate", "--node-costs",
                                 costs.name()};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const Outcome o = with({});
  INFO(o.out << o.err);
  CHECK(o.status == 0);
  CHECK(contains(o.out, "solver+0x100: allreduce of 8 bytes, 4 ranks, 20 calls, simulated\n"));
  CHECK(contains(o.out, "solver+0x120: alltoall of 4 KB"));
  CHECK(contains(o.out, "would have saved most: "));
  CHECK_FALSE(contains(o.out, "other calls at this place"));
  // What ranks only start there is no time of theirs.
  CHECK_FALSE(contains(o.out, "solver+0x140: barrier"));

  const Outcome one = with({"--call-site", "0x120", "--json"});
  INFO(one.out << one.err);
  REQUIRE(one.status == 0);
  const json all = json::parse(one.out);
  REQUIRE(all.size() == 1);
  CHECK(all[0]["collective"] == "alltoall");
  CHECK(all[0]["bytes"] == 4096);
  CHECK(all[0]["recorded"]["in_call"].get<double>() == Approx(90e-6));

  CHECK_FALSE(contains(o.out, "clocks"));
  write_run(directory, 5'000'000);
  CHECK(contains(with({"--call-site", "0x100"}).out,
                 "\nclocks are compared up to 5 ms only, and ranks were 77.5 µs in the call: who "
                 "waited for whom is not known, and so none of this is\n"));

  const Outcome barrier = with({"--call-site", "0x140"});
  CHECK(barrier.status == 2);
  CHECK(contains(barrier.err, "there is no call that ranks wait in"));
  const Outcome none = with({"--call-site", "nowhere"});
  CHECK(none.status == 2);
  CHECK(contains(none.err, "--call-site: there is no place 'nowhere'"));
  const Outcome two = with({"--arrival", ("trace:" + std::string(costs.name())).c_str()});
  CHECK(two.status == 2);
}

TEST_CASE("what-if: the best, what it saves, and the error beside it") {
  const Written costs{node_costs_text()};
  const Written trace{trace_of(20, "0 0 0 50e-6\n")};
  const std::string arrival = "trace:" + std::string(trace.name());
  const Written durations{trace_of(20, "80e-6 80e-6 80e-6 30e-6\n")};
  const Outcome o =
      run({"what-if", "--arrival", arrival.c_str(), "--durations", durations.name(), "--collective",
           "allreduce", "--bytes", "64", "--simulate", "--node-costs", costs.name()});
  INFO(o.out << o.err);
  CHECK(o.status == 0);
  CHECK(o.err.empty());
  CHECK(
      o.out.starts_with("allreduce of 64 bytes, 4 ranks, 20 calls, simulated\n"
                        "recorded: 67.5 µs in the call, a rank in the mean, with a tail of 30 µs\n"
                        "  algorithm "));
  CHECK(contains(o.out, "±25 %"));
  CHECK(contains(o.out, " would have taken least, and saved "));
  CHECK(contains(o.out, " % of a rank's time in the call ("));
  CHECK(contains(o.out, "\nleft out: how ranks that leave earlier would come to what follows\n"));
  CHECK(contains(o.out, "more (--all shows them)\n"));
  CHECK(contains(o.out, "static schedules pass messages of the default model"));
  CHECK(contains(o.out, "costs as in "));
}

TEST_CASE("what-if --json: all outcomes, in order") {
  const Written costs{node_costs_text()};
  const Written trace{trace_of(20, "0 0 0 50e-6\n")};
  const std::string arrival = "trace:" + std::string(trace.name());
  const Outcome o = run({"what-if", "--arrival", arrival.c_str(), "--collective", "allreduce",
                         "--bytes", "64", "--simulate", "--node-costs", costs.name(), "--json"});
  INFO(o.err);
  REQUIRE(o.status == 0);
  const json all = json::parse(o.out);
  CHECK(all["method"] == "simulated");
  CHECK(all["ranks"] == 4);
  CHECK(all["calls"] == 20);
  CHECK(all["best"] == all["outcomes"][0]["algorithm"]);
  CHECK(!all.contains("recorded"));
  double before = 0;
  for (const json& one : all["outcomes"]) {
    CHECK(one["in_call"].get<double>() >= before);
    before = one["in_call"].get<double>();
    CHECK(!one.contains("saved"));
  }
}

TEST_CASE("what-if: without --simulate, it says why it is not replayed") {
  // No machine has so many processors.
  const Written costs{node_costs_text()};
  std::string line;
  for (int r = 0; r < 250; ++r) line += "0 ";
  const Written trace{line + "\n"};
  const std::string arrival = "trace:" + std::string(trace.name());
  const Outcome o = run({"what-if", "--arrival", arrival.c_str(), "--collective", "MPI_Barrier",
                         "--node-costs", costs.name(), "--launcher", "/nowhere/mpirun"});
  INFO(o.out << o.err);
  CHECK(o.status == 0);
  CHECK(contains(o.out, "it is not replayed here: there "));
  refused({"what-if", "--arrival", arrival.c_str(), "--collective", "barrier", "--replay",
           "--launcher", "/nowhere/mpirun"},
          "--replay: there ");
}

TEST_CASE("what-if: ranks on several nodes") {
  const Written topology{R"({"ranks_per_node": 2, "between": {"latency": 5e-6}})"};
  const Written costs{node_costs_text()};
  const Written trace{trace_of(3, "0 0 0 1e-6\n")};
  const std::string arrival = "trace:" + std::string(trace.name());
  const Outcome o =
      run({"what-if", "--arrival", arrival.c_str(), "--collective", "allreduce", "--bytes", "64",
           "--link-costs", topology.name(), "--node-costs", costs.name()});
  INFO(o.out << o.err);
  CHECK(o.status == 0);
  CHECK(contains(o.out, "the ranks are on several nodes: static schedules alone were simulated"));
  CHECK(!contains(o.out, "Exchange"));
}

TEST_CASE("what-if: bad input is refused in a sentence") {
  const Written costs{node_costs_text()};
  const auto says = [&](const char* text, std::vector<const char*> words,
                        std::string_view message) {
    const Written trace{text};
    const std::string arrival = "trace:" + std::string(trace.name());
    words.insert(words.begin(),
                 {"what-if", "--arrival", arrival.c_str(), "--node-costs", costs.name()});
    refused(std::move(words), message);
  };
  const char* const good = "0 1e-6\n";
  says("", {"--collective", "allreduce", "--bytes", "8"}, "the trace has no call");
  says("0 1\n2\n", {"--collective", "allreduce", "--bytes", "8"}, "line 2");
  says(good, {"--collective", "allreduce"}, "--bytes is required");
  says(good, {"--collective", "barrier", "--bytes", "8"}, "a barrier moves no data");
  says(good, {"--collective", "all", "--bytes", "8"}, "there is no all");
  says(good, {"--collective", "bcast", "--bytes", "8", "--root", "2"},
       "--root 2: there are ranks 0 to 1");
  says(good, {"--collective", "allreduce", "--bytes", "8", "--root", "0"}, "allreduce has none");
  std::string line;
  for (int r = 0; r < 257; ++r) line += "0 ";
  says(line.c_str(), {"--collective", "allreduce", "--bytes", "8"},
       "257 ranks on one node are simulated to 256 at most: write --link-costs");
  says(good, {"--collective", "bcast", "--bytes", "8", "--simulate", "--replay"}, "--simulate");
  const Written durations{"0\n"};
  says(good, {"--collective", "bcast", "--bytes", "8", "--durations", durations.name()},
       "it has 1 lines of 1 times");
  refused({"what-if", "--arrival", "trace:/nowhere/x", "--collective", "bcast", "--bytes", "8"},
          "cannot read the trace /nowhere/x");
  refused({"what-if", "--collective", "bcast"}, "--arrival trace:FILE");
}
