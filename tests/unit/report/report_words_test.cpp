// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/html.hpp>
#include <papcoll/report/read.hpp>
#include <papcoll/report/report.hpp>
#include <papcoll/report/tables.hpp>
#include <papcoll/report/words.hpp>
#include <papcoll/simulate/quantity_text.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "planted_run.hpp"
#include "temporary_directory.hpp"
#include "trace_writer.hpp"

namespace {
papcoll::report::Report reported(RunWriter& writer) {
  const TemporaryDirectory dir;
  writer.write(dir.path());
  return papcoll::report::report_of(papcoll::report::read_run(dir.path().string()));
}
}  // namespace

TEST_CASE("a rate that no integer holds is said", "[report]") {
  papcoll::report::Report r{{}, {}};
  papcoll::report::TimeUse& use = r.time_use;
  use.top.calls = 1;
  use.top.bytes = 1e18;
  use.top_after = 1e-9;
  use.top_kind = papcoll::report::TimeKind::volume;
  CHECK(papcoll::report::detail::top_text(r).find(
            "volume (" + papcoll::detail::bytes_text(std::size_t{1'000'000'000'000'000'000}) +
            "/s a rank)") != std::string::npos);
}

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
  REQUIRE(found.size() == 2);
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

TEST_CASE("the answer says from when to when a rank is late", "[report]") {
  RunWriter writer{2};
  std::uint64_t at = 2'000'000'000;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const double late = i >= 100 && i < 140 ? 2'000'000 : 0;
    writer.call({}, at, {30, late});
    at += 3'000'000;
  }
  const auto found = findings(reported(writer));
  REQUIRE(!found.empty());
  INFO(found[0].text);
  CHECK(found[0].text.find("Rank 1 is late for a while at ") == 0);
  CHECK(found[0].text.find("from 300 ms to 417 ms after the first call of the records it came last "
                           "in 40 of its 300 calls, typically by 2 ms.") != std::string::npos);
}

TEST_CASE("the answer says that calls of papcoll are not recorded", "[report]") {
  RunWriter writer{2};
  writer.call({}, 2'000'000'000, {0, 10});
  auto r = reported(writer);
  REQUIRE(!r.run.places.empty());
  r.run.places[0].function = "papcoll::v0_1::detail::FunctionRef<void()>::call";
  CHECK(findings(r)[0].text.find("The program calls papcoll.") == 0);
  r.run.places[0].module = "/lib/libpapcoll_run_openmpi.so";
  CHECK(findings(r)[0].kind != papcoll::report::Finding::Kind::unseen);
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

TEST_CASE("a rank is named in a reduction that other ranks leave at once", "[report]") {
  RunWriter writer{4};
  TraceWriter::Call reduce;
  reduce.collective = papcoll::profile::MpiCollective::reduce;
  reduce.root = 0;
  constexpr std::uint64_t begin = 2'000'000'000;
  std::uint64_t root = begin + 900'000;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::uint64_t ahead = begin + i * 1'000'000;
    const std::uint64_t late = begin + i * 6'000'000 + 6'000'000;
    writer.traces[0].call(reduce, root, late + 10'000);
    writer.traces[1].call(reduce, ahead, ahead + 1000);
    writer.traces[2].call(reduce, late, late + 1000);
    writer.traces[3].call(reduce, ahead + 50, ahead + 1050);
    root = late + 900'000;
  }
  const auto r = reported(writer);
  REQUIRE(r.lateness.stragglers.size() == 1);
  CHECK(r.lateness.stragglers[0].at.rank == 2);
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
  REQUIRE(found.size() == 2);
  CHECK(found[0].text.find("and nobody is late") != std::string::npos);
  CHECK(found[1].text.find("No rank stands out: most often last is rank 0, in 33 % of its calls") ==
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

namespace {
using papcoll::pattern::Random;
using Kinds = std::vector<papcoll::report::Finding::Kind>;
using Kind = papcoll::report::Finding::Kind;

Kinds kinds_of(const papcoll::report::Report& r) {
  Kinds kinds;
  for (const auto& f : findings(r)) kinds.push_back(f.kind);
  return kinds;
}

bool says(const papcoll::report::Report& r, std::size_t finding, const std::string& text) {
  return findings(r).at(finding).text.find(text) != std::string::npos;
}

/// Three to eight ranks and 40 to 139 calls, with what is planted.
void for_each_seed(const std::function<void(PlantedRun, Random&)>& check) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Random random{seed, 7};
    PlantedRun planted;
    planted.seed = seed;
    planted.ranks = 3 + random.below(6);
    planted.calls = 40 + random.below(100);
    check(planted, random);
  }
}

/// Rank `late`, if there is one, works 40 ms longer than the others.
PlantedRun::Work work_of(std::size_t late) {
  return [late](std::uint64_t, Random& random, std::vector<double>& micros) {
    for (double& m : micros) m = 5000 + PlantedRun::exponential(random, 50);
    if (late < micros.size()) micros[late] += 40'000;
  };
}
}  // namespace

TEST_CASE("planted: a rank that is late by 40 ms", "[report]") {
  for_each_seed([](PlantedRun planted, Random& random) {
    const std::size_t late = random.below(planted.ranks);
    planted.work = work_of(late);
    RunWriter writer = planted.written();
    const auto r = reported(writer);
    INFO(findings(r)[0].text);
    CHECK(kinds_of(r) == Kinds{Kind::straggler, Kind::time});
    CHECK(says(r, 0, "Rank " + std::to_string(late) + " is late at "));
    CHECK(r.time_use.waiting > 0.8 * r.time_use.collectives);
  });
}

TEST_CASE("planted: nobody is late", "[report]") {
  for_each_seed([](const PlantedRun& of, Random&) {
    PlantedRun planted = of;
    RunWriter writer = planted.written();
    const auto r = reported(writer);
    INFO(findings(r)[0].text);
    CHECK(kinds_of(r) == Kinds{Kind::time, Kind::nothing});
    CHECK(says(r, 0, "recorded is in collectives, and nobody is late"));
    CHECK(r.clocks.faults().empty());
  });
}

TEST_CASE("planted: a clock that jumps", "[report]") {
  for (const bool is_late : {false, true}) {
    for_each_seed([is_late](PlantedRun planted, Random& random) {
      const std::size_t jumps = 1 + random.below(planted.ranks - 1);
      const std::size_t late = is_late ? (jumps + 1) % planted.ranks : planted.ranks;
      const double when = PlantedRun::begin + (10 + 100 * random.fraction()) * 1e6;
      planted.work = work_of(late);
      planted.shown = [=](std::size_t rank, double time) {
        return time + (rank != jumps ? 0 : 1e12 + (time > when ? 150e6 : 0));
      };
      RunWriter writer = planted.written();
      planted.measure(writer, jumps, 3000);
      const auto r = reported(writer);
      INFO(findings(r)[0].text);
      CHECK(kinds_of(r) == (is_late ? Kinds{Kind::clock, Kind::straggler, Kind::time}
                                    : Kinds{Kind::clock, Kind::time, Kind::nothing}));
      CHECK(
          says(r, 0, "The clock of rank " + std::to_string(jumps) + " jumped by 150 ms against "));
      CHECK(r.clocks.faults()[0].calls <= planted.calls);
      if (is_late) CHECK(says(r, 1, "Rank " + std::to_string(late) + " is late at "));
      // No less than what it is, but for the bound.
      for (const auto& i : r.imbalances) CHECK(i.gap < (is_late ? 41e6 : 1e6));
    });
  }
}

TEST_CASE("planted: the clock of rank 0 jumps", "[report]") {
  for_each_seed([](PlantedRun planted, Random& random) {
    const double when = PlantedRun::begin + (10 + 100 * random.fraction()) * 1e6;
    planted.work = work_of(planted.ranks);
    planted.ranks_on_node = 1;
    planted.shown = [=](std::size_t rank, double time) {
      return rank != 0 ? time + 1e12 : time + (time > when ? 150e6 : 0);
    };
    RunWriter writer = planted.written();
    for (std::size_t rank = 1; rank < planted.ranks; ++rank) planted.measure(writer, rank, 3000);
    const auto r = reported(writer);
    INFO(findings(r)[0].text);
    CHECK(kinds_of(r) == Kinds{Kind::clock, Kind::time, Kind::nothing});
    CHECK(says(r, 0, "The clock of rank 0 jumped by 150 ms against all others, or drifted by "));
    CHECK(r.rank_seconds / static_cast<double>(planted.ranks) ==
          Approx((planted.end - PlantedRun::begin) * 1e-9).epsilon(0.01));
    // But for the call within which it jumped.
    CHECK(r.all.omega.p90 < 1e6);

    // By a few times what clocks may drift.
    planted.shown = [=](std::size_t rank, double time) {
      return rank != 0 ? time + 1e12 : time + (time > when ? 600e3 : 0);
    };
    writer = planted.written();
    for (std::size_t rank = 1; rank < planted.ranks; ++rank) planted.measure(writer, rank, 3000);
    CHECK(says(reported(writer), 0, "The clock of rank 0 jumped by 600 µs against all others"));

    // One other clock that is taken for that of two ranks does not outvote it.
    planted.ranks = 4;
    planted.ranks_on_node = 2;
    planted.shown = [=](std::size_t rank, double time) {
      return rank < 2 ? time : time + 1e12 + (rank == 3 ? 3e6 : 0) + (time > when ? 150e6 : 0);
    };
    writer = planted.written();
    planted.measure(writer, 2, 3000);
    writer.traces[3].header.clock = 2;
    CHECK(says(reported(writer), 0, "The clock of rank 2 jumped by 150 ms against rank 0's"));
  });
}

TEST_CASE("planted: each of many ranks has a clock of its own that is taken for one", "[report]") {
  PlantedRun planted;
  planted.ranks = 40;
  planted.calls = 20;
  planted.shown = [](std::size_t rank, double time) {
    return time + 1e9 * static_cast<double>(rank);
  };
  RunWriter writer = planted.written();
  const auto r = reported(writer);
  CHECK(r.clocks.faults().size() == planted.ranks - 1);
  for (const auto& fault : r.clocks.faults()) {
    CHECK(fault.ranks[0] != 0);
    CHECK(fault.calls == planted.calls);
  }
  const std::vector<papcoll::report::Finding> found = papcoll::report::findings(r);
  const auto is_of_clock = [](const papcoll::report::Finding& f) {
    return f.kind == papcoll::report::Finding::Kind::clock;
  };
  CHECK(std::count_if(found.begin(), found.end(), is_of_clock) == 5);
  CHECK(found[4].text == "So it is with 35 more clocks, of ranks 5–39.");
}

TEST_CASE("planted: a rank that is late once is not taken for a clock that is wrong", "[report]") {
  for_each_seed([](PlantedRun planted, Random&) {
    planted.ranks = 8;
    planted.calls = 120;
    planted.ranks_on_node = 2;
    planted.work = [](std::uint64_t call, Random& noise, std::vector<double>& micros) {
      for (double& m : micros) m = 5000 + PlantedRun::exponential(noise, 50);
      if (call == 20) micros[4] += 600'000;
    };
    planted.shown = [](std::size_t rank, double time) {
      const double jumps = (time > PlantedRun::begin + 52e6 ? -100e6 : 0.0) +
                           (time > PlantedRun::begin + 900e6 ? 45e6 : 0.0);
      return time + static_cast<double>(rank / 2) * 1e12 + (rank > 5 ? jumps : 0);
    };
    RunWriter writer = planted.written();
    for (std::size_t rank = 2; rank < planted.ranks; rank += 2) {
      planted.measure(writer, rank, 3000);
      writer.traces[rank + 1].header.clock = static_cast<std::int32_t>(rank);
    }
    const auto r = reported(writer);
    INFO(findings(r)[0].text);
    REQUIRE(r.clocks.faults().size() == 1);
    CHECK(r.clocks.faults()[0].ranks == std::vector<std::int32_t>{6, 7});
  });
}

TEST_CASE("planted: a small jump is that of the clock that made it, whoever is late", "[report]") {
  for_each_seed([](PlantedRun planted, Random& random) {
    planted.ranks += 2;
    planted.calls = 200;
    planted.ranks_on_node = 1;
    planted.work = [](std::uint64_t call, Random& noise, std::vector<double>& micros) {
      for (double& m : micros) m = 5000 + PlantedRun::exponential(noise, 50);
      micros[call % micros.size()] += 2000;
    };
    const std::size_t jumps = 1 + random.below(planted.ranks - 1);
    const double by = random.below(2) == 0 ? 40e3 : -40e3;  // clocks may drift so far
    const double when = PlantedRun::begin + (400 + 400 * random.fraction()) * 1e6;
    planted.shown = [=](std::size_t rank, double time) {
      return time + static_cast<double>(rank) * 1e12 + (rank == jumps && time > when ? by : 0);
    };
    RunWriter writer = planted.written();
    for (std::size_t rank = 1; rank < planted.ranks; ++rank) planted.measure(writer, rank, 3000);
    const auto r = reported(writer);
    INFO(findings(r)[0].text);
    REQUIRE(r.clocks.faults().size() == 1);
    CHECK(r.clocks.faults()[0].ranks == std::vector<std::int32_t>{static_cast<int>(jumps)});
    CHECK(r.clocks.faults()[0].worst <= 40e3);
  });
}

TEST_CASE("planted: a clock that jumps within calls", "[report]") {
  for_each_seed([](PlantedRun planted, Random& random) {
    planted.ranks = 4;
    planted.in_call = 20'000;
    planted.work = work_of(planted.ranks);
    const double when = PlantedRun::begin + (100 + 400 * random.fraction()) * 1e6;
    const auto part = [&](double jump) {
      planted.shown = [=](std::size_t rank, double time) {
        return time + (rank == 3 ? 1e12 + (time > when ? jump : 0) : 0);
      };
      RunWriter writer = planted.written();
      planted.measure(writer, 3, 3000);
      return reported(writer).time_use;
    };
    const auto use = part(10e9);
    CHECK(std::fabs(use.collectives - part(0).collectives) <= use.moved + 1e-3);
    CHECK(use.collectives < 1);
  });
}

TEST_CASE("planted: a clock that was measured badly", "[report]") {
  for_each_seed([](PlantedRun planted, Random&) {
    planted.ranks = 3;
    planted.shown = [](std::size_t, double time) { return time; };
    // At the end only: the time that was recorded is what it is.
    RunWriter writer = planted.written();
    planted.measure(writer, 2, 1000);
    writer.traces[2].header.clock_end.offset += 300'000'000;
    writer.traces[2].header.clock_end.bound = 400'000'000;
    const auto known = reported(writer);
    CHECK(known.rank_seconds == Approx(3 * (planted.end - PlantedRun::begin) * 1e-9).epsilon(1e-3));
    CHECK(known.clocks.bound(2, static_cast<std::uint64_t>(planted.end)) < 100'000);

    // At both ends: whoever comes last by the others' clock need not be the last.
    planted.calls = 400;
    planted.work = [](std::uint64_t, Random& noise, std::vector<double>& micros) {
      for (double& m : micros) m = 3600 + PlantedRun::exponential(noise, 50);
      micros[1] += 1000;
      micros[2] += 3000;
    };
    planted.shown = [](std::size_t, double time) { return time; };
    writer = planted.written();
    planted.measure(writer, 2, 5'200'000);
    writer.traces[2].header.clock_begin.offset = -5'000'000;
    writer.traces[2].header.clock_end.offset = -5'000'000;
    const auto open = reported(writer);
    INFO(findings(open)[0].text);
    CHECK(open.lateness.stragglers.empty());
    CHECK(says(open, 0, "nobody is late as far as clocks tell"));

    // And delays that only its clock shows may have been those of others.
    planted.work = [](std::uint64_t, Random& noise, std::vector<double>& micros) {
      for (double& m : micros) m = 3600 + PlantedRun::exponential(noise, 1080);
    };
    writer = planted.written();
    planted.measure(writer, 2, 5'200'000);
    writer.traces[2].header.clock_begin.offset = 5'000'000;
    writer.traces[2].header.clock_end.offset = 5'000'000;
    const auto often = reported(writer);
    INFO(findings(often)[0].text);
    CHECK(often.lateness.stragglers.empty());
  });
}

TEST_CASE("planted: clocks of two nodes that are taken for one", "[report]") {
  for (const int on_node : {4, 64}) {  // where each node has several ranks, and one has all
    for_each_seed([on_node](PlantedRun planted, Random& random) {
      planted.ranks = 8;
      planted.ranks_on_node = on_node;
      const double ahead = random.below(2) == 0 ? 1e12 : 3e6;
      planted.shown = [=](std::size_t rank, double time) {
        return time + (on_node == 4 ? (rank < 4 ? 0 : ahead) : rank == 5 ? ahead : 0);
      };
      RunWriter writer = planted.written();
      const auto r = reported(writer);
      INFO(findings(r)[0].text);
      CHECK(kinds_of(r) == Kinds{Kind::clock, Kind::time, Kind::nothing});
      CHECK(says(r, 0,
                 on_node == 4 ? "The clocks of ranks 4–7 cannot be right: in "
                              : "The clock of rank 5 cannot be right: in "));
      CHECK(r.all.omega.worst < 1e6);
    });
  }
}

TEST_CASE("planted: more ranks than processors", "[report]") {
  for_each_seed([](PlantedRun planted, Random& random) {
    // In slices of 4 ms, always the same ranks first.
    const std::size_t processors = 1 + random.below(planted.ranks - 1);
    planted.work = [=](std::uint64_t, Random& noise, std::vector<double>& micros) {
      for (std::size_t r = 0; r < micros.size(); ++r) {
        const std::size_t slices = r / processors;
        micros[r] = 200 + PlantedRun::exponential(noise, 20) + 4000 * static_cast<double>(slices);
      }
    };
    RunWriter writer = planted.written();
    for (TraceWriter& t : writer.traces) {
      t.header.processors = static_cast<std::int32_t>(processors);
    }
    const auto r = reported(writer);
    INFO(findings(r)[0].text);
    CHECK(kinds_of(r)[0] == Kind::crowded);
    CHECK(says(r, 0,
               std::to_string(planted.ranks) + " ranks share " + std::to_string(processors) +
                   " processor"));
    for (TraceWriter& t : writer.traces) {
      t.header.processors = static_cast<std::int32_t>(planted.ranks);
    }
    CHECK(reported(writer).time_use.crowded.empty());

    // Of nodes of which it is so alike, one sentence.
    for (TraceWriter& t : writer.traces) {
      t.header.node = t.header.world_rank / 2 * 2;
      t.header.processors = 1;
    }
    const std::string nodes = std::to_string(planted.ranks / 2);
    const auto several = reported(writer);
    CHECK(several.time_use.crowded.size() == 1);
    if (planted.ranks > 3) {
      CHECK(
          says(several, 0, "2 ranks share 1 processor on each of " + nodes + " nodes (host, host"));
    }
  });
}

TEST_CASE("planted: time that goes into volume, an algorithm, and the number of calls",
          "[report]") {
  struct {
    std::uint64_t bytes;
    double in_call;
    double alpha;
    const char* why;
  } const all[]{{4U << 20U, 32e6, 1000, ": volume ("},
                {64, 1e6, 1000, ": algorithm (as long as "},
                {64, 4, 1000, ": their number ("},
                {64, 4, 100, ": their number ("}};
  for (const auto& [bytes, in_call, one_way, why] : all) {
    for_each_seed(
        [&, b = bytes, time = in_call, alpha = one_way, what = why](PlantedRun planted, Random&) {
          planted.call.bytes = b;
          planted.in_call = time;
          planted.work = [time](std::uint64_t, Random& random, std::vector<double>& micros) {
            for (double& m : micros) m = time / 20 + PlantedRun::exponential(random, time / 50);
          };
          RunWriter writer = planted.written();
          for (TraceWriter& t : writer.traces) {
            t.header.one_way_on_node[0] = t.header.one_way_on_node[6] = alpha;
            t.header.one_way_on_node[22] = 1e6;
          }
          const auto r = reported(writer);
          INFO(findings(r)[0].text);
          CHECK(kinds_of(r) == Kinds{Kind::time, Kind::nothing});
          CHECK(says(r, 0, what));
          CHECK(says(r, 0, " is MPI_Allreduce of " + std::string(b == 64 ? "64 bytes" : "4 MB")));
          CHECK(r.time_use.collectives > 0.85);
          CHECK(r.time_use.waiting < 0.1);
          CHECK(r.time_use.top_part == r.time_use.collectives);
        });
  }
}
