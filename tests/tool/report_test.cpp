// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/pattern/trace.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
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

namespace {
/// Rank 2 is late at the second of three places.
RunWriter late_run() {
  RunWriter writer{4};
  std::uint64_t at = 2'000'000'000;
  for (std::uint64_t i = 0; i < 300; ++i) {
    TraceWriter::Call c;
    c.site = static_cast<std::uint32_t>(i % 3);
    c.bytes = i % 3 == 0 ? 8 : i % 3 == 1 ? 4096 : std::uint64_t{2} << 20U;
    const double late = i % 3 == 1 ? 2'000'000 : 0;
    writer.call(c, at,
                {static_cast<double>(i * 37 % 50), static_cast<double>(i * 11 % 50), 40 + late,
                 static_cast<double>(i * 23 % 50)});
    at += 3'000'000;
  }
  for (TraceWriter& t : writer.traces) t.header.ended = at;
  return writer;
}

std::string file_text(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// A text that was broken into lines.
std::string in_one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n  ", at)) != std::string::npos;) {
    text.replace(at, 3, " ");
  }
  return text;
}

/// Runs `papcoll report` on a directory, with more arguments.
Outcome reported(const TemporaryDirectory& dir, std::vector<std::string> more = {}) {
  const std::string name = dir.path().string();
  std::vector<const char*> arguments{"report", name.c_str()};
  for (const std::string& m : more) arguments.push_back(m.c_str());
  return run(arguments);
}
}  // namespace

TEST_CASE("report: the answer comes first, then tables") {
  const TemporaryDirectory dir;
  late_run().write(dir.path());
  const Outcome o = reported(dir);
  INFO(o.out);
  CHECK(o.status == 0);
  CHECK(o.err.empty());
  CHECK(o.out.find("/opt/solver: 4 ranks on 1 node (host), recorded for 1.9 s\n\n"
                   "Rank 2 is late at solver+0x120, MPI_Allreduce of 4 KB: it came last in 100 of "
                   "100 calls") == 0);
  for (const char* title :
       {"Where ranks come last", "Ranks: how often last", "Calls and time of the whole run",
        "Imbalance by collective and size", "Imbalance by place"}) {
    CHECK(contains(o.out, title));
  }
  for (const char* remark : {"- Sizes of messages: small up to 1 KB, medium up to 1 MB",
                             "- There are no imbalance factors", "- /opt/solver is not here"}) {
    CHECK(contains(o.out, remark));
  }
  const Outcome ranges = reported(dir, {"--size-classes", "16,8k,64k"});
  CHECK(contains(ranges.out, "≤ 16 bytes"));
  CHECK(contains(ranges.out, "> 64 KB"));
}

TEST_CASE("report: all rows as JSON and CSV") {
  const TemporaryDirectory dir;
  late_run().write(dir.path());
  const std::string file = (dir.path() / "all.json").string();
  const std::string csv = (dir.path() / "csv" / "all").string();
  CHECK(reported(dir, {"--json=" + file, "--csv", csv, "--no-lines"}).status == 0);
  const auto all = nlohmann::json::parse(file_text(file));
  CHECK(all["world_size"] == 4);
  CHECK(all["ranks"].size() == 4);
  CHECK(all["running"] == false);
  REQUIRE(all["stragglers"].size() == 1);
  CHECK(all["stragglers"][0]["rank"] == 2);
  CHECK(all["stragglers"][0]["place"] == "solver+0x120");
  CHECK(all["stragglers"][0]["late_by"].get<double>() > 1.9e-3);
  CHECK(all["findings"][0]["kind"] == "straggler");
  CHECK(all["time_use"]["waiting"].get<double>() > 0.07);
  CHECK(all["calls"].size() == 300);
  CHECK(all["calls"][7].size() == all["call_columns"].size());
  CHECK(all["totals"].size() == 3);
  CHECK(all["totals"][0]["calls"] == 400);
  CHECK(all["imbalance"][0]["omega_factor_mean"].is_null());
  CHECK(lines_in(file_text(csv + "/calls.csv")) == 301);
  CHECK(lines_in(file_text(csv + "/arrivals.csv")) == 1201);
  CHECK(lines_in(file_text(csv + "/ranks.csv")) == 5);
  CHECK(file_text(csv + "/places.csv").find("place,collective,calls,") == 0);
  const Outcome out = reported(dir, {"--json"});
  CHECK(nlohmann::json::parse(out.out)["world_size"] == 4);
}

TEST_CASE("report: a page without anything from elsewhere") {
  const TemporaryDirectory dir;
  RunWriter writer = late_run();
  for (TraceWriter& t : writer.traces) TraceWriter::put(t.header.program, "/opt/<b>solver</b>&co");
  writer.write(dir.path());
  const std::string name = (dir.path() / "page.html").string();
  CHECK(reported(dir, {"--html", name}).status == 0);
  const std::string page = file_text(name);
  CHECK(page.find("<!doctype html>") == 0);
  CHECK_FALSE(contains(page, "<b>solver"));
  CHECK(contains(page, "Rank 2 is late at solver+0x120"));
  CHECK(contains(page, "const D = {ranks: 4,"));
  CHECK_FALSE(contains(page, "src="));
  CHECK_FALSE(contains(page, "https:"));
}

TEST_CASE("report: bytes that are no UTF-8 are replaced in files") {
  const TemporaryDirectory dir;
  RunWriter writer = late_run();
  for (TraceWriter& t : writer.traces) {
    TraceWriter::put(t.header.program, "/opt/s\xf6lver");
    TraceWriter::put(t.modules[0].path, "/opt/\xf6lver");
    TraceWriter::put(t.communicators[0].name, "W\xc3");
  }
  writer.write(dir.path());
  const std::string page = (dir.path() / "page.html").string();
  const std::string csv = (dir.path() / "csv").string();
  CHECK(reported(dir, {"--html", page, "--csv", csv}).status == 0);
  for (const std::string& file :
       {page, csv + "/places.csv", csv + "/communicators.csv", csv + "/calls.csv"}) {
    INFO(file);
    const std::string text = file_text(file);
    CHECK(contains(text, "�"));
    CHECK_NOTHROW(nlohmann::json(text).dump());
  }
  const std::string path = dir.path().string();
  const Written costs{node_costs_text()};
  const Outcome o = run({"what-if", path.c_str(), "--call-site", "+0x100", "--simulate",
                         "--node-costs", costs.name(), "--json"});
  CHECK(o.status == 0);
  CHECK(contains(nlohmann::json::parse(o.out)[0]["place"].get<std::string>(), "�lver+0x100"));
}

TEST_CASE("report: a file that cannot be written whole is not left behind") {
  const TemporaryDirectory dir;
  late_run().write(dir.path());
  // A full file system looks like this limit.
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit little = before;
  little.rlim_cur = 10000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  std::vector<std::string> options{"--json", "--html", "--perfetto"};
#ifdef PAPCOLL_TOOL_WITH_OTF2
  options.emplace_back("--otf2");
#endif
  for (const std::string& option : options) {
    INFO(option);
    const bool is_archive = option == "--otf2";
    const std::string name =
        is_archive ? (dir.path() / "otf2").string() : dir.write("file", "of before");
    REQUIRE(setrlimit(RLIMIT_FSIZE, &little) == 0);
    const Outcome o = reported(dir, {option + "=" + name});
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(o.status == 2);
    CHECK(contains(o.err, is_archive ? "cannot be written: File is too large"
                                     : "papcoll: cannot write " + name + ": File too large"));
    CHECK((!std::filesystem::exists(name) || (is_archive && std::filesystem::is_empty(name))));
  }
  std::signal(SIGXFSZ, handler);
}

TEST_CASE("report: trace events for Perfetto") {
  const TemporaryDirectory dir;
  RunWriter writer = late_run();
  for (TraceWriter& t : writer.traces) t.call({}, 4'000'000'000, 0);
  // Before all others, a call that is joined with none.
  const auto foreign = writer.traces[1].communicator("", 0, 2, 5);
  writer.traces[1].communicators[foreign].flags = papcoll::profile::communicator_foreign;
  TraceWriter::Call first;
  first.communicator = foreign;
  writer.traces[1].call(first, 1'500'000'000, 1'500'001'000);
  writer.write(dir.path());
  const std::string name = (dir.path() / "events.json").string();
  CHECK(reported(dir, {"--perfetto", name}).status == 1);
  const auto all = nlohmann::json::parse(file_text(name));
  std::size_t complete = 0;
  std::size_t open = 0;
  double least = 1e9;
  for (const auto& e : all["traceEvents"]) {
    if (e["ph"] != "M") least = std::min(least, e["ts"].get<double>());
    complete += e["ph"] == "X" ? 1 : 0;
    open += e["ph"] == "B" ? 1 : 0;
    if (e["ph"] == "X") CHECK(e["dur"].get<double>() > 0);
  }
  CHECK(complete == 1201);
  CHECK(open == 4);
  CHECK(least == 0);  // Perfetto takes no negative times
}

#ifdef PAPCOLL_TOOL_WITH_OTF2
TEST_CASE("report: an OTF2 archive") {
  const TemporaryDirectory dir;
  RunWriter writer = late_run();
  writer.traces[3].call({}, 4'000'000'000, 0);
  writer.write(dir.path());
  const std::string to = (dir.path() / "otf2").string();
  CHECK(reported(dir, {"--otf2", to}).status == 1);
  CHECK(std::filesystem::exists(dir.path() / "otf2" / "traces.otf2"));
  const std::string path = dir.path().string();
  refused({"report", path.c_str(), "--otf2", to.c_str()}, "is not empty: name a new directory");
  if (std::system("command -v otf2-print >/dev/null 2>&1") != 0) return;
  const std::string text = (dir.path() / "printed").string();
  REQUIRE(std::system(("otf2-print " + to + "/traces.otf2 >" + text).c_str()) == 0);
  const std::string printed = file_text(text);
  std::size_t ends = 0;
  for (std::size_t at = 0; (at = printed.find("MPI_COLLECTIVE_END", at)) != std::string::npos;) {
    ++ends;
    ++at;
  }
  CHECK(ends == 1200);
  CHECK(contains(printed, "MPI_COMM_WORLD"));
  REQUIRE(std::system(("otf2-print -G " + to + "/traces.otf2 >" + text).c_str()) == 0);
  CHECK(contains(file_text(text), "solver+0x120"));
}
#else
TEST_CASE("report: without OTF2 is said how to get it") {
  const TemporaryDirectory dir;
  late_run().write(dir.path());
  const Outcome o = reported(dir, {"--otf2", (dir.path() / "otf2").string()});
  CHECK(o.status == 2);
  CHECK(contains(o.err, "this papcoll was built without OTF2: install it"));
}
#endif

TEST_CASE("report: arrivals of a place as papcoll-bench reads them") {
  const TemporaryDirectory dir;
  late_run().write(dir.path());
  const std::string name = (dir.path() / "arrivals.txt").string();
  CHECK(reported(dir, {"--export-arrivals", "+0x120", name}).status == 0);
  const auto trace = papcoll::pattern::parse_trace(file_text(name));
  CHECK(trace.ranks == 4);
  CHECK(trace.calls() == 100);
  CHECK(trace.spread() == Catch::Detail::Approx(2.04e-3).epsilon(0.02));
  const std::string path = dir.path().string();
  refused({"report", path.c_str(), "--export-arrivals", "main.c:3", name.c_str()},
          "there is no place 'main.c:3': there are solver+0x100, solver+0x120");
  refused({"report", path.c_str(), "--export-arrivals", "solver", name.c_str()},
          "'solver' names several places");
}

TEST_CASE("report: a run that hangs or ended early has status 1") {
  const TemporaryDirectory dir;
  RunWriter writer = late_run();
  for (std::size_t r = 0; r < 4; ++r) {
    if (r != 1) writer.traces[r].call({}, 4'000'000'000, 0);
    writer.traces[r].header.state = r == 1 ? 4 : 0;
    writer.traces[r].header.abort_code = 42;
  }
  writer.write(dir.path());
  const Outcome o = reported(dir);
  INFO(o.out);
  CHECK(o.status == 1);
  CHECK(
      contains(in_one_line(o.out),
               "MPI_Allreduce of 8 bytes, call 300 on MPI_COMM_WORLD, at solver+0x100: ranks 0, 2 "
               "and 3 were inside; rank 1 has not come: it called MPI_Abort with code 42"));
  CHECK(contains(o.out, "The run ended early: rank 1 called MPI_Abort with code 42"));
}

TEST_CASE("report: what a run must be like") {
  const TemporaryDirectory dir;
  late_run().write(dir.path());
  const std::string path = dir.path().string();
  CHECK(reported(dir, {"--expect", "Late < 3000 \u00b5s", "--expect", "collectives<99.9%",
                       "--expect", "omega.worst<1s"})
            .status == 0);
  const Outcome o = reported(dir, {"--expect", "late<10us", "--expect", "late<1s", "--expect",
                                   "waiting<1%", "--expect", "omega.p90<1e3ns"});
  INFO(o.out);
  CHECK(o.status == 3);
  CHECK(contains(o.out,
                 "\n\nExpected late<10us: it is 2 ms, rank 2 at solver+0x120.\n"
                 "Expected waiting<1%: it is 7.9 %, most at solver+0x120.\n"
                 "Expected omega.p90<1e3ns: it is 2 ms, most at solver+0x120.\n"));
  const Outcome json = reported(dir, {"--json", "--expect", "late<10us"});
  CHECK(json.status == 3);
  CHECK(nlohmann::json::parse(json.out)["world_size"] == 4);
  CHECK(contains(json.err, "Expected late<10us: it is 2 ms"));
  refused({"report", path.c_str(), "--expect", "omega<1ms"},
          "--expect omega<1ms: there is no figure 'omega': ");
  refused({"report", path.c_str(), "--expect", "late<10"},
          "write < and a time in ns, us, µs, ms or s");
  for (const char* rule :
       {"late", "late>10ms", "late<=10ms", "late<-1ms", "late<infs", "late<10%"}) {
    refused({"report", path.c_str(), "--expect", rule},
            "write < and a time in ns, us, µs, ms or s");
  }
  refused({"report", path.c_str(), "--expect", "late<1ms,waiting<5%"}, "--expect before each rule");
  refused({"report", path.c_str(), "--expect", "waiting<5ms"}, "write < and a part in %");
  refused({"report", path.c_str(), "--expect", "waiting"}, "write < and a part in %");

  // Ranks that never met, and one that hangs: what is not known is not as expected.
  const TemporaryDirectory alone;
  RunWriter one{1};
  one.call({}, 2'000'000'000, {0});
  one.write(alone.path());
  const Outcome unknown = reported(alone, {"--expect", "late<1s"});
  CHECK(unknown.status == 3);
  CHECK(contains(unknown.out, "Expected late<1s: that is not known, as there is no call"));
  RunWriter apart = late_run();
  apart.traces[2].header.clock = 2;
  apart.traces[2].header.clock_begin = {1'000'000'000, 0, 500, 1};
  apart.traces[2].header.clock_end = {3'000'000'000, 0, 500'000, 1};
  apart.write(alone.path());
  const Outcome clocks = reported(alone, {"--expect", "late<2.1ms", "--expect", "late<3ms"});
  CHECK(clocks.status == 3);
  CHECK(contains(clocks.out,
                 "\n\nExpected late<2.1ms: it is 1.8 ms, or up to 401 µs more by clocks, "
                 "rank 2 at solver+0x120.\n"));
  // Calls on one node say nothing of calls on several.
  RunWriter near{4};
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint64_t at = 2'000'000'000 + i * 10'000'000;
    if (i % 5 == 0) near.call({}, at, {0, 0, 2e6, 0});
    for (std::size_t r = 0; i % 5 != 0 && r < 2; ++r) {
      if (i == 1) near.traces[r].communicator("near", static_cast<int>(r), 2, 78);
      TraceWriter::Call c;
      c.communicator = 1;
      near.traces[r].call(c, at, at + 1000);
    }
  }
  near.traces[2].header.clock = 2;
  near.traces[2].header.clock_begin = {1'000'000'000, 0, 5'000'000, 1};
  near.write(alone.path());
  const Outcome far = reported(alone, {"--expect", "late<1ms"});
  INFO(far.out);
  CHECK(far.status == 3);
  CHECK(contains(far.out, "Expected late<1ms: it is 0 s, or up to 10"));
  RunWriter hangs = late_run();
  hangs.traces[0].call({}, 4'000'000'000, 0);
  hangs.write(dir.path());
  CHECK(reported(dir, {"--expect", "late<10us"}).status == 1);
}

TEST_CASE("report: bad input is refused in a sentence") {
  const TemporaryDirectory dir;
  const std::string path = dir.path().string();
  refused({"report", "/no/such/directory"}, "/no/such/directory does not exist");
  refused({"report", path.c_str()}, "there is no trace file rank-….trace in");
  late_run().write(dir.path());
  refused({"report", path.c_str(), "--size-classes", "1M,1k"},
          "--size-classes: write sizes that grow");
  for (const char* wait : {"much", "nan", "2m", "0.01"}) {
    refused({"report", path.c_str(), "--wait", wait}, "is not a duration: write a number and ns");
  }
  CHECK(contains(reported(dir, {"--wait", "10ms"}).out, "late"));
  refused({"report", path.c_str(), "--size-classes", "much"}, "'much' is not a number of bytes");
  const Outcome o = reported(dir, {"--json=/no/such/file"});
  CHECK(o.status == 2);
  CHECK(contains(o.err,
                 "papcoll: cannot write /no/such/file: No such file or directory (--json "
                 "/no/such/file)"));
}
