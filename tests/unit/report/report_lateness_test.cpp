// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/pattern/random.hpp>
#include <papcoll/report/calls.hpp>
#include <papcoll/report/clocks.hpp>
#include <papcoll/report/imbalance.hpp>
#include <papcoll/report/late_groups.hpp>
#include <papcoll/report/lateness.hpp>
#include <papcoll/report/read.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "planted_run.hpp"
#include "temporary_directory.hpp"
#include "trace_writer.hpp"

namespace {
using papcoll::pattern::Random;
using papcoll::report::LateGroup;
using papcoll::report::Straggler;
using Delays = std::vector<double>;

struct LatenessReport : papcoll::report::LatenessReport {
  std::vector<LateGroup> groups;
};

using Work = PlantedRun::Work;

LatenessReport of_program(PlantedRun p, const Work& work) {
  p.work = work;
  RunWriter writer = p.written();
  const TemporaryDirectory dir;
  writer.write(dir.path());
  const papcoll::report::Run run = papcoll::report::read_run(dir.path().string());
  const papcoll::report::Clocks clocks{run};
  const auto calls = join_calls(run, clocks);
  const auto all = imbalances(run, clocks, calls);
  LatenessReport report{lateness_of(run, calls, all), {}};
  report.groups = late_groups_of(run, clocks, calls, all, report.span);
  return report;
}

const auto exponential = PlantedRun::exponential;
double pareto(Random& random, double alpha) { return std::pow(1 - random.fraction(), -1 / alpha); }

/// Balanced programs: delays by chance, alike for all ranks.
std::vector<std::pair<std::string, Work>> balanced() {
  const auto each = [](auto delay) {
    return [delay](std::uint64_t, Random& random, Delays& work) {
      for (double& w : work) w = delay(random);
    };
  };
  return {
      {"exponential", each([](Random& r) { return 100 + exponential(r, 50); })},
      {"heavy tail", each([](Random& r) { return 100 + 10 * pareto(r, 1.1); })},
      {"very heavy tail", each([](Random& r) { return 100 + pareto(r, 0.7); })},
      {"log-normal",
       each([](Random& r) { return 50 * std::exp(12 * (r.clamped_normal() - 0.5)); })},
      {"nothing but the exit's skew", each([](Random&) { return 0.0; })},
      {"two processors for all, in slices of 4 ms",
       [](std::uint64_t, Random& random, Delays& work) {
         // Who gets no processor at once waits for one or two slices.
         for (double& w : work) {
           w = 200 + exponential(random, 20) +
               (random.below(2) == 0 ? 4000.0 * static_cast<double>(random.below(3)) : 0);
         }
       }},
      {"ranks in turns, each for 10 calls",
       [](std::uint64_t call, Random& random, Delays& work) {
         for (double& w : work) w = 100 + exponential(random, 5);
         work[call / 10 % work.size()] += 1000;
       }},
  };
}
}  // namespace

TEST_CASE("in a balanced program no rank is named", "[report]") {
  for (const auto& [name, work] : balanced()) {
    for (const std::size_t ranks : {2U, 4U, 16U}) {
      for (std::uint64_t seed = 1; seed <= (ranks == 16 ? 2 : 10); ++seed) {
        for (const std::uint64_t calls : {30U, 300U}) {
          const LatenessReport r = of_program({ranks, calls * 3, 3, seed}, work);
          INFO(name << ", " << ranks << " ranks, " << calls << " calls, seed " << seed);
          CHECK(r.stragglers.empty());
          CHECK(r.groups.empty());
        }
      }
    }
  }
}

TEST_CASE("a rank that is late at one of several sites is named with it", "[report]") {
  for (auto& [name, noise] : balanced()) {
    if (name.find("heavy") != std::string::npos || name.find("slices") != std::string::npos ||
        name.find("turns") != std::string::npos) {
      continue;
    }
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const LatenessReport r = of_program(
          {4, 900, 3, seed}, [&work = noise](std::uint64_t call, Random& random, Delays& micros) {
            work(call, random, micros);
            if (call % 3 == 1) micros[2] += 2000;
          });
      INFO(name << ", seed " << seed);
      REQUIRE(r.stragglers.size() == 1);
      const Straggler& s = r.stragglers[0];
      CHECK(s.kind == Straggler::Kind::always);
      CHECK(s.at.rank == 2);
      CHECK(s.at.place == 1);
      CHECK(s.at.share() > 0.85);
      CHECK(s.typical > 1.5e6);
      CHECK(s.typical < 2.5e6);
    }
  }
}

TEST_CASE("a rank late by more than the usual noise of slices is named", "[report]") {
  const auto noise = balanced()[5].second;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const LatenessReport r =
        of_program({4, 900, 3, seed}, [&](std::uint64_t call, Random& random, Delays& micros) {
          noise(call, random, micros);
          if (call % 3 == 1) micros[2] += 20000;
        });
    REQUIRE(r.stragglers.size() == 1);
    CHECK(r.stragglers[0].at.rank == 2);
    CHECK(r.stragglers[0].at.place == 1);
  }
}

TEST_CASE("a rank that is late in one call of six is named as often late", "[report]") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const LatenessReport r =
        of_program({4, 900, 3, seed}, [](std::uint64_t call, Random& random, Delays& micros) {
          for (double& m : micros) m = 100 + exponential(random, 5);
          if (call % 18 == 0) micros[1] += 2000;
        });
    REQUIRE(r.stragglers.size() == 1);
    const Straggler& s = r.stragglers[0];
    CHECK(s.kind == Straggler::Kind::often);
    CHECK(s.at.rank == 1);
    CHECK(s.at.place == 0);
    CHECK(s.times >= 50);
    CHECK(s.times <= 52);
  }
}

TEST_CASE("a rank that is late in one stretch is named with it", "[report]") {
  for (const std::uint64_t calls : {40U, 150U}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const LatenessReport r = of_program(
          {2, 900, 1, seed}, [calls](std::uint64_t call, Random& random, Delays& micros) {
            for (double& m : micros) m = 100 + exponential(random, 50);
            if (call == 100) micros[1] += 3000;  // one delay beside the stretch
            if (call >= 300 && call < 300 + calls) micros[1] += 3000;
          });
      REQUIRE(r.stragglers.size() == 1);
      const Straggler& s = r.stragglers[0];
      CHECK(s.kind == Straggler::Kind::for_a_while);
      CHECK(s.at.rank == 1);
      CHECK(s.times >= calls * 9 / 10);
      CHECK(s.times <= calls + 6);
      CHECK(s.from >= 294);
      CHECK(s.from <= 306);
      CHECK(s.to >= 294 + calls);
      CHECK(s.to <= 306 + calls);
    }
  }
}

TEST_CASE("ranks of a node that are late together are named together", "[report]") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const LatenessReport r =
        of_program({9, 900, 3, seed, 1, 3}, [](std::uint64_t call, Random& random, Delays& micros) {
          for (double& m : micros) m = 100 + exponential(random, 50);
          if (call % 3 != 1) return;
          for (const std::size_t rank : {3U, 4U, 5U}) micros[rank] += 1000;
        });
    CHECK(r.stragglers.empty());
    REQUIRE(r.groups.size() == 1);
    CHECK(r.groups[0].ranks == std::vector<std::int32_t>{3, 4, 5});
    CHECK(r.groups[0].place == 1);
    CHECK(r.groups[0].times > 280);
    CHECK(r.groups[0].typical > 0.7e6);
    CHECK(r.groups[0].typical < 1.1e6);
  }
}

TEST_CASE("ranks that wait for the processors of others are not named", "[report]") {
  // Four ranks on two processors, always the same two first.
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const LatenessReport r =
        of_program({4, 900, 3, seed}, [](std::uint64_t, Random& random, Delays& micros) {
          for (std::size_t rank = 0; rank < 4; ++rank) {
            micros[rank] = (rank < 2 ? 500 : 1000) + exponential(random, 20);
          }
        });
    CHECK(r.stragglers.empty());
    CHECK(r.groups.empty());
  }
}

TEST_CASE("a rank that is late once is told as such", "[report]") {
  const LatenessReport r =
      of_program({4, 900, 3, 1}, [](std::uint64_t call, Random& random, Delays& micros) {
        for (double& m : micros) m = 100 + exponential(random, 5);
        if (call == 500) micros[3] += 50000;
      });
  CHECK(r.stragglers.empty());
  REQUIRE(r.single_delays.size() == 1);
  CHECK(r.single_delays[0].rank == 3);
  CHECK(r.single_delays[0].call == 500);
  CHECK(r.single_delays[0].gap > 49e6);
}

TEST_CASE("a rank that leaves calls late is not blamed for coming late", "[report]") {
  const LatenessReport r = of_program({4, 900, 1, 1, 0}, [](std::uint64_t, Random&, Delays&) {});
  CHECK(r.stragglers.empty());
  // The last rank of a tree leaves 30 µs after the others, every time.
  RunWriter writer{4, 1};
  std::vector<double> arrivals{0, 0, 0, 0};
  std::uint64_t at = 2'000'000'000;
  for (int call = 0; call < 500; ++call) {
    writer.call({}, at, arrivals, 1000);
    for (std::size_t rank = 0; rank < 4; ++rank) {
      writer.traces[rank].ring.back().exit += rank == 3 ? 30000 : 0;
    }
    at += static_cast<std::uint64_t>(arrivals[3]) + 1500;
    arrivals[3] = 30000;
  }
  const TemporaryDirectory dir;
  writer.write(dir.path());
  const auto run = papcoll::report::read_run(dir.path().string());
  const papcoll::report::Clocks clocks{run};
  const auto calls = join_calls(run, clocks);
  const auto late = lateness_of(run, calls, imbalances(run, clocks, calls));
  CHECK(late.stragglers.empty());
  CHECK(late.ranks[3].lasts == 499);
  CHECK(late.ranks[3].own_lasts == 0);
}
