// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/calls.hpp>
#include <papcoll/report/clocks.hpp>
#include <papcoll/report/imbalance.hpp>
#include <papcoll/report/one_way.hpp>
#include <papcoll/report/read.hpp>
#include <papcoll/report/summary.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "catch.hpp"
#include "temporary_directory.hpp"
#include "trace_writer.hpp"

namespace {
using Catch::Detail::Approx;
using papcoll::profile::MpiCollective;
using papcoll::report::Call;
using papcoll::report::Calls;
using papcoll::report::Clocks;
using papcoll::report::Imbalance;
using papcoll::report::OneWayTimes;

struct Measured {
  papcoll::report::Run run;
  Clocks clocks;
  Calls calls;
  std::vector<Imbalance> all;
};

Measured measured(RunWriter& writer) {
  const TemporaryDirectory dir;
  writer.write(dir.path());
  papcoll::report::Run run = papcoll::report::read_run(dir.path().string());
  const Clocks clocks{run};
  Calls calls = join_calls(run, clocks);
  std::vector<Imbalance> all = imbalances(run, clocks, calls);
  return {std::move(run), clocks, std::move(calls), std::move(all)};
}
}  // namespace

TEST_CASE("imbalances are as they are defined", "[report]") {
  RunWriter writer{4};
  for (TraceWriter& t : writer.traces) {
    t.header.node = t.header.world_rank / 2 * 2;
    t.header.one_way_on_node[3] = 100;
    t.header.one_way_between_nodes[3] = 1000;
  }
  writer.call({}, 2'000'000'000, {0, 4000, 1000, 7000}, 500);
  const Measured m = measured(writer);
  REQUIRE(m.all.size() == 1);
  const Imbalance& i = m.all[0];
  CHECK(i.known);
  CHECK(i.omega == 7000);
  CHECK(i.delta == Approx((3000 + 1000 + 2000 + 4000) / 4.0));
  CHECK(i.node_omega == Approx((4000 + 6000) / 2.0));
  CHECK(i.node_delta == Approx((2000 + 3000) / 2.0));
  CHECK(i.alpha == Approx(1000));
  CHECK(i.node_alpha == Approx(100));
  CHECK(i.decided);
  CHECK(i.last == 3);
  CHECK(i.gap == 3000);
  CHECK(i.others == 4000);
  CHECK(i.own == 3 * 3000);
  CHECK(i.waited == 7000 + 3000 + 6000);
}

TEST_CASE("a message takes no longer than the calls show", "[report]") {
  RunWriter writer{4};
  for (TraceWriter& t : writer.traces) {
    t.header.node = t.header.world_rank / 2 * 2;
    // As two ranks measured it that shared a processor with others.
    t.header.one_way_on_node[3] = 2e6;
    t.header.one_way_between_nodes[3] = 3e6;
  }
  for (std::uint64_t i = 0; i < 20; ++i) {
    writer.call({}, 2'000'000'000 + i * 10'000'000, {0, 2'100'000, 0, 0}, 5000 + i);
  }
  const Measured m = measured(writer);
  for (const Imbalance& i : m.all) {
    CHECK(i.alpha == 5001);  // what one in ten stays below
    CHECK(i.node_alpha == 5001);
  }
}

TEST_CASE("calls in which ranks called different collectives have no imbalance", "[report]") {
  RunWriter writer{2};
  TraceWriter::Call barrier;
  barrier.collective = MpiCollective::barrier;
  writer.traces[0].call({}, 2'000'000'000, 2'000'001'000);
  writer.traces[1].call(barrier, 2'000'000'500, 2'000'001'000);
  CHECK_FALSE(measured(writer).all[0].known);
}

TEST_CASE("who has left before the last one comes did not wait for it", "[report]") {
  RunWriter writer{3};
  TraceWriter::Call reduce;
  reduce.collective = MpiCollective::reduce;
  reduce.root = 0;
  writer.traces[0].call(reduce, 2'000'000'000, 2'000'009'000);
  writer.traces[1].call(reduce, 2'000'001'000, 2'000'001'500);
  writer.traces[2].call(reduce, 2'000'008'000, 2'000'009'000);
  const Measured m = measured(writer);
  CHECK(m.all[0].gap == 7000);
  CHECK(m.all[0].own == 7000 + 500);
  CHECK(m.all[0].waited == 8000 + 500);
}

TEST_CASE("times of other clocks are moved to that of rank 0, and nothing is told below the bound",
          "[report]") {
  RunWriter writer{3};
  constexpr std::uint64_t at = 2'000'000'000;
  // The clock of ranks 1 and 2 is 5 s ahead and runs 20 ppm fast.
  writer.traces[1].header.clock = 1;
  writer.traces[2].header.clock = 1;
  writer.traces[1].header.clock_begin = {5'000'000'000, -5'000'000'000, 300, 1};
  writer.traces[1].header.clock_end = {15'000'200'000, -5'000'200'000, 500, 1};
  const auto ahead = [](std::uint64_t t) {
    return t + 5'000'000'000 + static_cast<std::uint64_t>(static_cast<double>(t) * 20e-6);
  };
  for (const std::uint64_t later : {std::uint64_t{0}, std::uint64_t{4'000'000'000}}) {
    const std::uint64_t t = at + later;
    writer.traces[0].call({}, t, t + 10000);
    writer.traces[1].call({}, ahead(t + 400), ahead(t + 10000));
    writer.traces[2].call({}, ahead(t + 200), ahead(t + 10000));
    writer.traces[0].call({}, t + 20000, t + 40000);
    writer.traces[1].call({}, ahead(t + 29000), ahead(t + 40000));
    writer.traces[2].call({}, ahead(t + 21000), ahead(t + 40000));
  }
  Measured m = measured(writer);
  REQUIRE(m.all.size() == 4);
  CHECK(m.clocks.global(1, ahead(at)) == at);
  CHECK(m.clocks.bound(1, ahead(at)) == 500);
  CHECK(m.clocks.bound(1, 0, 2, 0) == 0);
  CHECK(m.all[0].bound == 500);
  CHECK(m.all[0].omega == 0);  // 400 ns, less than 500
  CHECK(m.all[0].delta == 0);
  CHECK(m.all[0].omega_most == 400 + 500);
  CHECK_FALSE(m.all[0].decided);  // ranks 1 and 2 have one clock, but rank 0 may have been later
  CHECK(m.all[1].decided);
  CHECK(m.all[1].omega == Approx(9000 - 500).margin(2));
  CHECK(m.all[3].omega == Approx(9000 - 500).margin(2));

  // Without the end the bound grows.
  writer.traces[1].header.clock_end = {};
  const Measured open = measured(writer);
  CHECK(open.clocks.bound(1, 6'000'000'000) == Approx(300 + 1e9 * 100e-6));
  CHECK(open.all[3].omega == 0);
  // And with neither, nothing is known.
  writer.traces[1].header.clock_begin = {};
  const Measured unknown = measured(writer);
  CHECK_FALSE(unknown.clocks.is_known(1));
  CHECK(unknown.all[1].omega == 0);
}

TEST_CASE("calls are joined by communicator and number", "[report]") {
  RunWriter writer{3};
  // Ranks 0 and 2 have a communicator of their own, twice.
  for (const int r : {0, 2}) {
    TraceWriter& t = writer.traces[static_cast<std::size_t>(r)];
    t.communicator("", r / 2, 2, 99);
    t.communicator("", r / 2, 2, 99, 1);
  }
  TraceWriter::Call barrier;
  barrier.collective = MpiCollective::barrier;
  barrier.bytes = 0;
  const auto pair = [&](std::uint32_t communicator, std::uint64_t at) {
    TraceWriter::Call c;
    c.communicator = communicator;
    writer.traces[0].call(c, at, at + 100);
    c.bytes = 64;
    writer.traces[2].call(c, at + 50, at + 100);
  };
  writer.call(barrier, 2'000'000'000, {0, 1, 2});
  pair(1, 2'000'010'000);
  pair(2, 2'000'020'000);
  pair(1, 2'000'030'000);
  writer.call(barrier, 2'000'040'000, {0, 1, 2});
  const std::uint64_t late = 2'000'050'000;
  writer.traces[0].call(barrier, late, 0);
  writer.traces[1].call({}, late, 0);
  const Measured m = measured(writer);
  const std::vector<Call>& calls = m.calls.calls;
  REQUIRE(calls.size() == 6);
  CHECK(calls[1].bytes == 64);
  CHECK(calls[1].number == 0);
  CHECK(calls[3].number == 1);
  CHECK(calls[1].communicator == calls[3].communicator);
  CHECK(calls[1].communicator != calls[2].communicator);
  CHECK(calls[4].complete);
  CHECK(calls[4].collective == MpiCollective::barrier);
  CHECK_FALSE(calls[5].complete);
  CHECK(calls[5].differs);
  CHECK(calls[5].end == 0);
  CHECK(calls[5].present == 2);
  CHECK_FALSE(m.all[5].known);
  CHECK(m.run.communicators[calls[2].communicator].name ==
        "communicator of ranks 0 and 2, number 2");
}

TEST_CASE("one-way times are interpolated", "[report]") {
  std::array<double, papcoll::profile::one_way_sizes> times{};
  CHECK_FALSE(OneWayTimes{times}.measured());
  CHECK(OneWayTimes{times}.of(8) == 0);
  times[0] = 100;
  times[4] = 400;
  times[10] = 800;
  const OneWayTimes t{times};
  CHECK(t.of(0) == Approx(100));
  CHECK(t.of(1) == Approx(100));
  CHECK(t.of(4) == Approx(200));
  CHECK(t.of(16) == Approx(400));
  CHECK(t.of(1024) == Approx(800));
  CHECK(t.of(4096) == Approx(3200));
}

TEST_CASE("percentiles and ranges of sizes", "[report]") {
  std::vector<double> values;
  for (int i = 100; i > 0; --i) values.push_back(i);
  const auto d = papcoll::report::distribution_of(values);
  CHECK(d.mean == Approx(50.5));
  CHECK(d.median == 50);
  CHECK(d.p90 == 90);
  CHECK(d.p99 == 99);
  CHECK(d.worst == 100);
  const auto ranges = papcoll::report::usual_ranges();
  CHECK(range_of(ranges, 1024) == 0);
  CHECK(range_of(ranges, 1025) == 1);
  CHECK(range_of(ranges, 1U << 20U) == 1);
  CHECK(range_of(ranges, ~std::uint64_t{0}) == 2);
}
