#include <papcoll/report/html.hpp>
#include <papcoll/report/read.hpp>
#include <papcoll/report/report.hpp>
#include <papcoll/report/tables.hpp>
#include <papcoll/report/words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "temporary_directory.hpp"
#include "trace_writer.hpp"

namespace {
papcoll::report::Report reported(RunWriter& writer) {
  const TemporaryDirectory dir;
  writer.write(dir.path());
  return papcoll::report::report_of(papcoll::report::read_run(dir.path().string()));
}
}  // namespace

TEST_CASE("the answer names rank, place, how often and the cost", "[report]") {
  RunWriter writer{4};
  for (TraceWriter& t : writer.traces) {
    t.header.one_way_on_node[0] = 200;
    t.header.one_way_on_node[4] = 250;
  }
  std::uint64_t at = 2'000'000'000;
  for (std::uint64_t i = 0; i < 300; ++i) {
    TraceWriter::Call c;
    c.site = static_cast<std::uint32_t>(i % 3);
    const double late = i % 3 == 1 ? 2'000'000 : 0;
    writer.call(c, at,
                {static_cast<double>(i * 37 % 50), static_cast<double>(i * 11 % 50), 40 + late,
                 static_cast<double>(i * 23 % 50)});
    at += 3'000'000;
  }
  const auto r = reported(writer);
  const auto found = findings(r);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == papcoll::report::Finding::Kind::straggler);
  CHECK(
      found[0].text ==
      "Rank 2 is late at solver+0x120, MPI_Allreduce of 8 bytes: it came last in 100 of 100 calls "
      "(100 %; by chance it would be 25 %), typically by 2 ms, all through the run. Each other "
      "rank "
      "waited 200 ms for it, 11 % of the 1.897 s recorded.");
  for (const auto& t : tables_of(r)) {
    for (const auto& row : t.rows) CHECK(row.size() == t.columns.size());
  }
  CHECK(remarks(r) == std::vector<std::string>{
                          "Sizes of messages: small up to 1 KB, medium up to 1 MB, large beyond."});
}

TEST_CASE("a rank is named where it is last most often, whatever its last call is", "[report]") {
  RunWriter writer{4};
  TraceWriter::Call barrier;
  barrier.collective = papcoll::profile::MpiCollective::barrier;
  barrier.site = 2;
  std::uint64_t at = 2'000'000'000;
  for (int i = 0; i < 100; ++i, at += 3'000'000) {
    writer.call({}, at, {0, 2'000'000, 10, 20});
  }
  // Rank 1 leaves out an allreduce: its barrier has the number of the others' allreduce.
  for (std::size_t r = 0; r < 4; ++r) {
    if (r == 1) {
      writer.traces[r].call(barrier, at + 2'000'000, at + 2'100'000);
    } else {
      writer.traces[r].call({}, at, at + 2'050'000);
      writer.traces[r].call(barrier, at + 2'060'000, at + 2'100'000);
    }
  }
  const auto r = reported(writer);
  REQUIRE(r.lateness.stragglers.size() == 1);
  CHECK(papcoll::report::detail::sentence(r, r.lateness.stragglers[0])
            .find("Rank 1 is late at solver+0x100, MPI_Allreduce of 8 bytes: it came last in 100 "
                  "of 100 calls") == 0);
}

TEST_CASE("a rank is named though messages were slow as they were measured", "[report]") {
  RunWriter writer{4};
  // Four of these are more than what rank 1 is late by.
  for (TraceWriter& t : writer.traces) t.header.one_way_on_node[3] = 600'000;
  for (std::uint64_t i = 0; i < 200; ++i) {
    writer.call({}, 2'000'000'000 + i * 3'000'000, {0, 2'100'000, 10, 20}, 50'000);
  }
  const auto r = reported(writer);
  REQUIRE(r.lateness.stragglers.size() == 1);
  CHECK(r.lateness.stragglers[0].at.rank == 1);
  CHECK(r.lateness.stragglers[0].at.lasts == 200);
}

TEST_CASE("labels of places keep the function and where in it", "[report]") {
  papcoll::report::Run run;
  const auto label = [&run](const std::string& function, const std::string& module) {
    papcoll::report::Place place;
    place.function = function;
    place.module = "/usr/lib/" + module;
    place.into_function = 0x88;
    run.places = {place};
    return papcoll::report::detail::place_label(run, 0);
  };
  CHECK(label("step", "libsolver.so") == "step+0x88 (libsolver.so)");
  CHECK(label("Thermo::lost_check()", "liblammps.so.0") == "Thermo::lost_check+0x88");
  CHECK(label("LAMMPS_NS::ReadData::assign_all()", "liblammps.so.0") ==
        "LAMMPS_NS…ata::assign_all+0x88");
}

TEST_CASE("what a rank is late by is the same in all tables", "[report]") {
  RunWriter writer{4};
  std::uint64_t at = 2'000'000'000;
  for (int i = 0; i < 41; ++i, at += 1'000'000) {
    // Rank 3 comes last in most calls only because it left the one before last.
    writer.call({}, at, {0, 10, 20, i % 4 == 0 ? 0.0 : 30'000.0});
    for (std::size_t r = 0; r < 3; ++r) writer.traces[r].ring.back().exit += 970'000;
    writer.traces[3].ring.back().exit += 999'000;
  }
  const auto tables = tables_of(reported(writer));
  const auto cell = [&tables](const std::string& table, std::size_t row, const std::string& key) {
    const auto t = std::find_if(tables.begin(), tables.end(),
                                [&](const auto& one) { return one.key == table; });
    REQUIRE(t != tables.end());
    for (std::size_t c = 0; c < t->columns.size(); ++c) {
      if (t->columns[c].key == key) return t->rows.at(row).at(c).text;
    }
    return std::string("no such column");
  };
  for (const std::string key : {"gap_median", "gap_worst", "waited_for_last_alone"}) {
    CHECK(cell("late_at", 0, key) == cell("ranks", 3, key));
    CHECK(cell("ranks", 0, key) == "–");  // never last
  }
  CHECK(cell("ranks", 3, "gap_median") == "29.98 µs");
}

TEST_CASE("a run of an interpreter is called by its script, too", "[report]") {
  const auto name = [](const std::string& program, const std::string& arguments) {
    RunWriter writer{1};
    TraceWriter::put(writer.traces[0].header.program, program);
    TraceWriter::put(writer.traces[0].header.arguments, arguments);
    writer.call({}, 2'000'000'000, {0});
    return program_of(reported(writer).run);
  };
  CHECK(name("/usr/bin/python3.11", "-u calls.py --steps 3") == "/usr/bin/python3.11 -u calls.py");
  CHECK(name("/usr/bin/python3", "-m mpi4py calls.py") == "/usr/bin/python3 -m mpi4py calls.py");
  CHECK(name("/usr/bin/python3", "-m solver 3") == "/usr/bin/python3 -m solver");
  CHECK(name("/usr/bin/python3", "-c import") == "/usr/bin/python3 -c …");
  CHECK(name("/opt/solver", "input") == "/opt/solver");
}

TEST_CASE("of a run that hangs the time until now counts", "[report]") {
  RunWriter writer{2};
  writer.call({}, 1'000'000'500, {0, 0});
  for (TraceWriter& t : writer.traces) t.header.state = 0;
  const TemporaryDirectory dir;
  writer.write(dir.path());
  auto run = papcoll::report::read_run(dir.path().string());
  for (auto& r : run.ranks) r.alive = true;
  const std::int64_t now = run.ranks[0].header.began_unix + 12'000'000'000;
  const auto r = report_of(std::move(run), papcoll::report::usual_ranges(), now);
  CHECK(about(r) == "2 ranks on 1 node (host), recorded for 12 s");
}

TEST_CASE("where nobody is late, the answer says so", "[report]") {
  RunWriter writer{3};
  for (std::uint64_t i = 0; i < 90; ++i) {
    writer.call(
        {}, 2'000'000'000 + i * 10'000'000,
        {static_cast<double>(i % 3 == 0 ? 5000 : 0), static_cast<double>(i % 3 == 1 ? 5000 : 0),
         static_cast<double>(i % 3 == 2 ? 5000 : 0)});
  }
  const auto found = findings(reported(writer));
  REQUIRE(found.size() == 1);
  CHECK(found[0].text.find("No rank stands out: most often last is rank 0, in 33 % of its calls") ==
        0);
}

TEST_CASE("the answer says who has not come, and what was left out", "[report]") {
  RunWriter writer{4};
  TraceWriter::Call allreduce;
  TraceWriter::Call barrier;
  barrier.collective = papcoll::profile::MpiCollective::barrier;
  barrier.bytes = 0;
  barrier.site = 1;
  std::uint64_t at = 2'000'000'000;
  for (int i = 0; i < 20; ++i, at += 1000) {
    writer.call(i % 2 == 0 ? allreduce : barrier, at, {0, 10, 20, 30});
  }
  for (std::size_t r = 0; r < 4; ++r) {
    writer.traces[r].call(r == 1 ? barrier : allreduce, at, 0);
    writer.traces[r].header.state = 0;
  }
  const auto found = findings(reported(writer));
  REQUIRE(found.size() >= 2);
  CHECK(found[0].kind == papcoll::report::Finding::Kind::fault);
  CHECK(found[0].text ==
        "MPI_Allreduce of 8 bytes, call 20 on MPI_COMM_WORLD, at solver+0x100: ranks 0, 2 and 3 "
        "were inside; rank 1 has not come: its process ended inside MPI_Barrier, "
        "call 20 on MPI_COMM_WORLD, at solver+0x120. Rank 1 left out MPI_Allreduce of 8 bytes, "
        "call 20 on MPI_COMM_WORLD, at solver+0x100, which the others made.");
  CHECK(found[1].text.find("The run ended early: ranks 0–3 ended without a word") == 0);
}
