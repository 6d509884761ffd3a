// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/pattern/imbalance_factors.hpp>

#include "catch.hpp"

#include <vector>

using papcoll::pattern::average_case_imbalance;
using papcoll::pattern::imbalance_factors;
using papcoll::pattern::maximum_imbalance_factor;
using papcoll::pattern::worst_case_imbalance;

TEST_CASE("imbalance times of a known pattern", "[pattern]") {
  const std::vector<double> arrivals{5, 1, 2, 4};  // mean 3, distances 2 2 1 1
  CHECK(worst_case_imbalance(arrivals) == 4);
  CHECK(average_case_imbalance(arrivals) == 1.5);
  const auto factors = imbalance_factors(arrivals, 0.5);
  CHECK(factors.worst_case == 8);
  CHECK(factors.average_case == 3);
}

TEST_CASE("imbalance does not depend on the clock's origin", "[pattern]") {
  // Nanoseconds apart on a clock that has run for a year: a naive sum would lose them.
  constexpr double year = 0x1p25;
  const std::vector<double> arrivals{year, year + 0x1p-27, year + 0x1p-27, year};
  CHECK(worst_case_imbalance(arrivals) == 0x1p-27);
  CHECK(average_case_imbalance(arrivals) == 0x1p-28);
}

TEST_CASE("one rank or none is balanced", "[pattern]") {
  CHECK(worst_case_imbalance({}) == 0);
  CHECK(average_case_imbalance({}) == 0);
  const std::vector<double> one{-3};
  CHECK(worst_case_imbalance(one) == 0);
  CHECK(average_case_imbalance(one) == 0);
}

TEST_CASE("the maximum imbalance factor is the worst call's", "[pattern]") {
  const std::vector<double> calls{0, 1, 5, 9, 7, 7, 100};  // Ω 1, 4, 0, and an incomplete call
  CHECK(maximum_imbalance_factor(calls, 2, 0.5) == 8);
  CHECK(maximum_imbalance_factor(calls, 0, 0.5) == 0);
  CHECK(maximum_imbalance_factor({}, 2, 0.5) == 0);
}
