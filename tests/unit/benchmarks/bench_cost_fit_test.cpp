// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include "fit/cost_fit.hpp"
#include "machine/one_way.hpp"

#include <papcoll/model/closed_forms.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

using bench::CostFit;
using bench::fit_cost;
using bench::Form;
using bench::Run;
using papcoll::Hockney;

namespace {

bool near(double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b); }

constexpr Hockney truth{2e-6, 3e-10, 1e-10};
constexpr Hockney guess{1e-5, 1e-9, 1e-10};

const Form ring = [](const Hockney& h, double m, double /*segment*/) {
  return papcoll::closed_form::ring_allreduce(h, 4, m);
};
const Form chain = [](const Hockney& h, double m, double s) {
  return papcoll::closed_form::pipelined_chain_reduce(h, 4, m, s);
};

std::vector<Run> runs_of(const Form& form, double beyond_knee = 0) {
  constexpr double knee = 1 << 20;
  std::vector<Run> runs;
  for (double m = 65536; m <= 1 << 23; m *= 2) {
    for (const double segment : {16384.0, 65536.0}) {
      Hockney h = truth;
      if (m > knee) h.beta *= 1 + beyond_knee * (1 - knee / m);
      runs.push_back({m, segment, form(h, m, segment)});
    }
  }
  return runs;
}

}  // namespace

TEST_CASE("a schedule's own costs are found from its runs", "[bench]") {
  for (const Form& form : {ring, chain}) {
    const CostFit fit = fit_cost(form, runs_of(form), guess);
    CHECK(near(fit.parameters.alpha, truth.alpha));
    CHECK(near(fit.parameters.beta, truth.beta));
    CHECK(fit.parameters.gamma == truth.gamma);
    CHECK_FALSE(fit.knee);
    CHECK(fit.median_error < 1e-6);
    CHECK(near(fit.predict(100e3, 32768), form(truth, 100e3, 32768)));
  }
}

TEST_CASE("and where caches end", "[bench]") {
  for (const Form& form : {ring, chain}) {
    const CostFit fit = fit_cost(form, runs_of(form, 0.8), guess);
    REQUIRE(fit.knee);
    CHECK(*fit.knee == 1 << 20);
    CHECK(std::abs(fit.beyond - 0.8) < 1e-3);
    CHECK(fit.median_error < 1e-4);
  }
}

TEST_CASE("few runs have no knee", "[bench]") {
  std::vector<Run> runs = runs_of(ring, 3);
  runs.erase(runs.begin(), runs.end() - 5);
  CHECK_FALSE(fit_cost(ring, runs, guess).knee);
}

TEST_CASE("where the two sides begin to agree before a message is sent", "[bench]") {
  std::vector<bench::OneWay> trips;
  for (std::size_t bytes = 8; bytes <= std::size_t{4} << 20; bytes *= 2) {
    trips.push_back({bytes, 1.6e-6 + 9e-11 * static_cast<double>(bytes)});
  }
  CHECK(bench::where_times_jump(trips) == 0);
  for (bench::OneWay& trip : trips) trip.seconds += trip.bytes >= 4096 ? 2e-6 : 0;
  CHECK(bench::where_times_jump(trips) == 4096);
  trips.back().seconds *= 10;
  CHECK(bench::where_times_jump(trips) == 4096);
  CHECK(bench::where_times_jump({}) == 0);
}

TEST_CASE("where messages cost nothing to begin with, α is no more than that", "[bench]") {
  std::vector<Run> runs;
  for (double m = 65536; m <= 1 << 23; m *= 2) {
    runs.push_back({m, 0, ring(Hockney{0, 3e-10, 1e-10}, m, 0)});
  }
  const CostFit fit = fit_cost(ring, runs, guess);
  CHECK(fit.parameters.alpha <= 1e-9);
  CHECK(std::abs(fit.parameters.beta / 3e-10 - 1) < 1e-2);
}
