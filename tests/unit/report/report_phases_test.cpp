// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/pattern/random.hpp>
#include <papcoll/report/phases.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "catch.hpp"

namespace {
using papcoll::pattern::Random;
using papcoll::report::jumps_of;

/// Ω of calls: so many each, about so much, with exponential noise.
std::vector<double> imbalances_in_phases(const std::vector<std::pair<std::size_t, double>>& phases,
                                         std::uint64_t seed) {
  Random random{seed};
  std::vector<double> omegas;
  for (const auto& [calls, mean] : phases) {
    for (std::size_t i = 0; i < calls; ++i) {
      omegas.push_back(mean * (0.2 - std::log1p(-random.fraction())));
    }
  }
  return omegas;
}

bool is_about(std::size_t a, std::size_t b, std::size_t tolerance) {
  return a + tolerance >= b && b + tolerance >= a;
}
}  // namespace

TEST_CASE("deviations from the running median", "[report]") {
  const std::vector<double> values{3, 1, 4, 1, 5};
  using V = std::vector<double>;
  CHECK(papcoll::report::detail::deviations(values, 0, 5, false) == V{0, 0, 2, 3, 5, 7});
  CHECK(papcoll::report::detail::deviations(values, 0, 5, true) == V{0, 0, 4, 4, 7, 7});
}

TEST_CASE("steady imbalance has one phase", "[report]") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CHECK(jumps_of(imbalances_in_phases({{1000, 1e4}}, seed)).empty());
    CHECK(jumps_of(imbalances_in_phases({{30, 1e4}}, seed)).empty());
  }
  CHECK(jumps_of(std::vector<double>(1000, 0.0)).empty());
  CHECK(jumps_of({}).empty());
}

TEST_CASE("jumps of the imbalance are found", "[report]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto jumps = jumps_of(imbalances_in_phases({{400, 1e4}, {200, 1e5}, {800, 1e4}}, seed));
    REQUIRE(jumps.size() == 2);
    CHECK(is_about(jumps[0], 400, 12));
    CHECK(is_about(jumps[1], 600, 12));
  }
  const auto many = jumps_of(imbalances_in_phases({{100000, 1e4}, {100000, 1e6}}, 1));
  REQUIRE(many.size() == 1);
  CHECK(is_about(many[0], 100000, 100));
}
