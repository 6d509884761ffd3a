#include <papcoll/report/read.hpp>
#include <papcoll/report/report.hpp>
#include <papcoll/report/tables.hpp>
#include <papcoll/report/words.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
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
      "waited 200 ms for it, 22 % of the time of these records.");
  for (const auto& t : tables_of(r)) {
    for (const auto& row : t.rows) CHECK(row.size() == t.columns.size());
  }
  CHECK(remarks(r) == std::vector<std::string>{
                          "Sizes of messages: small up to 1 KB, medium up to 1 MB, large beyond."});
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
