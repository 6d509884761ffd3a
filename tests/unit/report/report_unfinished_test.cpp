// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/calls.hpp>
#include <papcoll/report/clocks.hpp>
#include <papcoll/report/read.hpp>
#include <papcoll/report/unfinished.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "catch.hpp"
#include "temporary_directory.hpp"
#include "trace_writer.hpp"

namespace {
using papcoll::profile::MpiCollective;
using papcoll::profile::RunState;
using papcoll::report::Ending;
using papcoll::report::Unfinished;
using papcoll::report::Whereabouts;

constexpr std::uint64_t began = 2'000'000'000;

/// Ranks that go through a loop of three calls until they wait for each other.
class Loop {
 public:
  explicit Loop(std::size_t ranks) : writer{static_cast<int>(ranks)}, next_(ranks) {
    for (TraceWriter& t : writer.traces) t.header.state = 0;
  }

  static TraceWriter::Call call(std::size_t n) {
    TraceWriter::Call c;
    c.site = static_cast<std::uint32_t>(n % 3);
    if (n % 3 == 2) {
      c.collective = MpiCollective::barrier;
      c.bytes = 0;
    }
    return c;
  }

  /// All ranks do so many calls.
  void all(std::size_t calls) {
    for (std::size_t i = 0; i < calls; ++i) {
      for (std::size_t r = 0; r < next_.size(); ++r) one(r, true);
    }
  }
  void skip(std::size_t rank) { ++next_[rank]; }

  void one(std::size_t rank, bool returns) {
    const std::uint64_t at = began + writer.traces[rank].header.records_begun * 1000;
    writer.traces[rank].call(call(next_[rank]), at, returns ? at + 100 : 0);
    ++next_[rank];
  }

  Ending ending(const std::vector<std::size_t>& living) {
    const TemporaryDirectory dir;
    writer.write(dir.path());
    papcoll::report::Run run = papcoll::report::read_run(dir.path().string());
    for (const std::size_t r : living) run.ranks[r].alive = true;
    const papcoll::report::Clocks clocks{run};
    constexpr std::int64_t seconds = 1'000'000'000;
    return ending_of(run, join_calls(run, clocks),
                     writer.traces[0].header.began_unix + 13 * seconds);
  }

  RunWriter writer;

 private:
  std::vector<std::size_t> next_;
};
}  // namespace

TEST_CASE("a run that went well leaves nothing open", "[report]") {
  Loop loop{3};
  loop.all(30);
  for (TraceWriter& t : loop.writer.traces) t.header.state = 2;
  const Ending e = loop.ending({});
  CHECK_FALSE(e.is_fault());
  CHECK_FALSE(e.alive);
  CHECK(e.unfinished.empty());
  CHECK(e.mismatches.empty());
}

TEST_CASE("a rank that left out a call is named while the program hangs", "[report]") {
  for (const std::size_t before : {9U, 10U, 11U, 30U}) {
    // Left out: both calls of the pair of allreduces, and the barrier.
    Loop loop{4};
    loop.all(before);
    loop.skip(1);
    // They go on as long as what meets is the same collective.
    std::size_t n = before;
    while (Loop::call(n).collective == Loop::call(n + 1).collective) {
      for (std::size_t r = 0; r < 4; ++r) loop.one(r, true);
      ++n;
    }
    for (std::size_t r = 0; r < 4; ++r) loop.one(r, false);
    const Ending e = loop.ending({0, 1, 2, 3});
    INFO(before);
    CHECK(e.is_fault());
    CHECK(e.alive);
    REQUIRE(e.unfinished.size() == 1);
    const Unfinished& u = e.unfinished[0];
    CHECK(u.hopeless);
    CHECK(u.inside == std::vector<std::int32_t>{0, 2, 3});
    CHECK(u.call.number == n);
    REQUIRE(u.since);
    CHECK(*u.since > 11);
    CHECK(*u.since < 13);
    REQUIRE(u.missing.size() == 1);
    CHECK(u.missing[0].rank == 1);
    CHECK(u.missing[0].kind == Whereabouts::Kind::inside);
    REQUIRE(u.skipped);
    CHECK(u.skipped->rank == 1);
    CHECK(u.skipped->call.number == before);
    CHECK(u.skipped->call.collective == Loop::call(before).collective);
    CHECK(u.skipped->call.place == before % 3);
    REQUIRE(e.mismatches.size() == 1);
    CHECK(e.mismatches[0].call.number == n);
    REQUIRE(e.mismatches[0].others.size() == 1);
    CHECK(e.mismatches[0].others[0].first == 1);
  }
}

TEST_CASE("a call left out among many of one place is found when the others cannot go on",
          "[report]") {
  // All call from place 0 but for one call from place 1, which rank 1 goes without.
  for (const std::size_t after : {0U, 1U, 7U}) {
    Loop loop{3};
    std::vector<std::uint64_t> made(3, 0);
    const auto one = [&](std::size_t r, std::uint32_t site, bool returns) {
      TraceWriter::Call c;
      c.site = site;
      const std::uint64_t at = began + 1000 * made[r]++;
      loop.writer.traces[r].call(c, at, returns ? at + 100 : 0);
    };
    constexpr std::size_t before = 20;
    for (std::size_t r = 0; r < 3; ++r) {
      for (std::size_t i = 0; i < before; ++i) one(r, 0, true);
      if (r != 1) one(r, 1, after != 0);
      for (std::size_t i = 0; i < after; ++i) one(r, 0, r == 1 || i + 1 < after);
    }
    loop.writer.traces[1].header.state = static_cast<std::uint32_t>(RunState::finalizing);
    const Ending e = loop.ending({0, 1, 2});
    INFO(after);
    CHECK(e.is_fault());
    REQUIRE(e.unfinished.size() == 1);
    const Unfinished& u = e.unfinished[0];
    CHECK(u.call.number == before + after);
    REQUIRE(u.missing.size() == 1);
    CHECK(u.missing[0].kind == Whereabouts::Kind::finalizing);
    // At the end of all calls nothing tells a call left out from one that is yet to come.
    REQUIRE(u.skipped.has_value() == (after != 0));
    if (after == 0) continue;
    CHECK(u.skipped->rank == 1);
    CHECK(u.skipped->call.number == before);
    CHECK(u.skipped->call.place == 1);
  }
}

TEST_CASE("of a rank that does not come is told what it does", "[report]") {
  const auto missing = [](RunState state, bool lives) {
    Loop loop{3};
    loop.all(10);
    loop.one(0, false);
    loop.one(2, false);
    loop.writer.traces[1].header.state = static_cast<std::uint32_t>(state);
    loop.writer.traces[1].header.abort_code = 42;
    const Ending e =
        loop.ending(lives ? std::vector<std::size_t>{0, 1, 2} : std::vector<std::size_t>{0, 2});
    REQUIRE(e.unfinished.size() == 1);
    REQUIRE(e.unfinished[0].missing.size() == 1);
    CHECK_FALSE(e.unfinished[0].skipped);
    CHECK(e.is_fault() == e.unfinished[0].hopeless);
    const Whereabouts& w = e.unfinished[0].missing[0];
    CHECK(w.rank == 1);
    CHECK(w.calls == 10);
    REQUIRE(w.call);
    CHECK(w.call->number == 9);
    return std::pair{w.kind, e.is_fault()};
  };
  using Kind = Whereabouts::Kind;
  CHECK(missing(RunState::running, true) == std::pair{Kind::outside, false});
  CHECK(missing(RunState::running, false) == std::pair{Kind::gone, true});
  CHECK(missing(RunState::finalizing, true) == std::pair{Kind::finalizing, true});
  CHECK(missing(RunState::finished, true) == std::pair{Kind::finished, true});
  CHECK(missing(RunState::exited, false) == std::pair{Kind::exited, true});
  CHECK(missing(RunState::aborted, false) == std::pair{Kind::aborted, true});
}

TEST_CASE("a rank that died in a call keeps the others in it", "[report]") {
  Loop loop{3};
  loop.all(10);
  for (std::size_t r = 0; r < 3; ++r) loop.one(r, false);
  const Ending e = loop.ending({0, 2});
  REQUIRE(e.unfinished.size() == 1);
  CHECK(e.unfinished[0].inside == std::vector<std::int32_t>{0, 2});
  REQUIRE(e.unfinished[0].missing.size() == 1);
  CHECK(e.unfinished[0].missing[0].kind == Whereabouts::Kind::gone);
  CHECK(e.unfinished[0].hopeless);
  // While all live they may still get ready; when all are dead, this is what they were in.
  CHECK(loop.ending({0, 1, 2}).unfinished.empty());
  const Ending dead = loop.ending({});
  REQUIRE(dead.unfinished.size() == 1);
  CHECK(dead.unfinished[0].inside.size() == 3);
  CHECK(dead.early);
  CHECK(dead.not_finished.size() == 3);
}

TEST_CASE("a rank that has left a call already is not missing in it", "[report]") {
  Loop loop{3};
  loop.all(10);
  loop.one(0, false);
  loop.one(1, true);
  const Ending e = loop.ending({0, 1, 2});
  REQUIRE(e.unfinished.size() == 1);
  REQUIRE(e.unfinished[0].missing.size() == 1);
  CHECK(e.unfinished[0].missing[0].rank == 2);
}
