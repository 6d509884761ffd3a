// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/statistics/median.hpp>
#include <papcoll/statistics/regression.hpp>
#include <papcoll/statistics/student_t.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using papcoll::Observation;
using papcoll::Regression;

namespace {

bool near(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance; }

Regression<2> line_through(const std::vector<std::pair<double, double>>& points) {
  std::vector<Observation<2>> observations;
  for (const auto& [bytes, time] : points) observations.push_back({{1, bytes}, time});
  return papcoll::regress<2>(observations);
}

template <class F> std::string refusal(F&& f) {
  try {
    f();
  } catch (const papcoll::argument_error& e) {
    return e.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("Student's t agrees with the printed tables", "[model]") {
  for (const auto& [degrees, t] : {std::pair{1, 12.7062},
                                   {2, 4.3027},
                                   {10, 2.2281},
                                   {11, 2.2010},
                                   {15, 2.1314},
                                   {20, 2.0860},
                                   {30, 2.0423},
                                   {60, 2.0003},
                                   {120, 1.9799},
                                   {999, 1.9623},
                                   {1000000, 1.9600}}) {
    CAPTURE(degrees);
    CHECK(near(papcoll::student_t_95(static_cast<std::size_t>(degrees)), t, 1e-4));
  }
}

TEST_CASE("a regression finds the line that points lie on", "[model]") {
  const auto r = line_through({{8, 1.5e-6 + 8e-9}, {1e3, 2.5e-6}, {1e6, 1.0015e-3}});
  CHECK(near(r.values[0], 1.5e-6, 1e-15));
  CHECK(near(r.values[1], 1e-9, 1e-18));
  CHECK(near(r.confidence[0], 0, 1e-12));
  CHECK(r.errors.size() == 3);
  CHECK(near(r.median_error, 0, 1e-9));
  CHECK(near(r.predict({1, 5e5}), 5.015e-4, 1e-12));
}

TEST_CASE("relative errors weigh alike, however long the times", "[model]") {
  // The long times are 10 % off to both sides of 1 + 1·m, the short one lies on it.
  const auto r = line_through({{0, 1}, {0, 1}, {1000, 901}, {1000, 1101}});
  CHECK(near(r.values[0], 1, 0.02));
  CHECK(near(r.values[1], 1, 0.02));
  CHECK(r.median_error < 0.06);
}

TEST_CASE("the confidence of a regression is that of the textbook", "[model]") {
  // The mean of 1, 1 and 4 with weights 1/t²: Σ(1/t) / Σ(1/t²) = 2.25 / 2.0625.
  std::vector<Observation<1>> observations{{{1}, 1}, {{1}, 1}, {{1}, 4}};
  const auto r = papcoll::regress<1>(observations);
  CHECK(near(r.values[0], 2.25 / 2.0625, 1e-12));
  double squares = 0;
  for (const double e : r.errors) squares += e * e;
  CHECK(near(r.confidence[0], 4.3027 * std::sqrt(squares / 2 / 2.0625), 1e-9));
  const auto exact = line_through({{1, 1}, {2, 1.5}});
  CHECK(std::isinf(exact.confidence[1]));
}

TEST_CASE("a cost that would be negative is none", "[model]") {
  const auto r = line_through({{1, 1}, {2, 2.5}, {4, 6}});
  CHECK(r.values[0] == 0);
  CHECK(r.confidence[0] == 0);
  CHECK(r.values[1] > 1);
}

TEST_CASE("of what no observation depends on nothing is known", "[model]") {
  const std::vector<Observation<2>> observations{{{1, 0}, 2}, {{2, 0}, 4}, {{3, 0}, 6.1}};
  const auto r = papcoll::regress<2>(observations);
  CHECK(near(r.values[0], 2, 0.1));
  CHECK(std::isfinite(r.confidence[0]));
  CHECK(r.values[1] == 0);
  CHECK(std::isinf(r.confidence[1]));
}

TEST_CASE("three unknowns", "[model]") {
  std::vector<Observation<3>> observations;
  for (const double x : {1.0, 2.0, 3.0, 4.0}) {
    for (const double y : {1.0, 5.0, 7.0}) {
      observations.push_back({{1, x, y * 1e6}, 2 + 3 * x + 5e-6 * (y * 1e6)});
    }
  }
  const auto r = papcoll::regress<3>(observations);
  CHECK(near(r.values[0], 2, 1e-9));
  CHECK(near(r.values[1], 3, 1e-9));
  CHECK(near(r.values[2], 5e-6, 1e-15));
}

TEST_CASE("a part of the times that is known is not fitted", "[model]") {
  const std::vector<Observation<1>> observations{{{1}, 3, 1}, {{2}, 9, 5}};
  const auto r = papcoll::regress<1>(observations);
  CHECK(near(r.values[0], 2, 1e-12));
  CHECK(near(r.errors[1], 0, 1e-12));
}

TEST_CASE("what a regression refuses", "[model]") {
  CHECK(refusal([] {
          line_through({{8, 1}});
        }).find("do not tell 2 unknowns apart") != std::string::npos);
  CHECK(refusal([] {
          line_through({{8, 1}, {8, 2}});
        }).find("more different, sizes") != std::string::npos);
  CHECK(refusal([] {
          line_through({{8, 1}, {16, 0}});
        }).find("times are positive") != std::string::npos);
}

TEST_CASE("the median", "[model]") {
  CHECK(papcoll::median({}) == 0);
  CHECK(papcoll::median({7}) == 7);
  CHECK(papcoll::median({9, 1, 5, 3, 2}) == 3);
  CHECK(papcoll::median({4, 1}) == 2.5);
  CHECK(papcoll::median({8, 1, 6, 2, 9, 3}) == 4.5);
}

TEST_CASE("the median of absolute values", "[model]") {
  CHECK(papcoll::median_of_absolute({}) == 0);
  CHECK(papcoll::median_of_absolute(std::array{-3.0, 1.0, 2.0}) == 2);
  CHECK(papcoll::median_of_absolute(std::array{-3.0, 1.0}) == 2);
}
