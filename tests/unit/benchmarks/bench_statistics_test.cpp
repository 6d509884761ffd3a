// SPDX-License-Identifier: BSD-3-Clause
#include "timing/statistics.hpp"

#include "catch.hpp"

#include <cmath>
#include <vector>

namespace {
bool near(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance; }
}  // namespace

TEST_CASE("quantiles interpolate", "[bench]") {
  const std::vector<double> samples{1, 2, 4, 8, 16};
  CHECK(bench::quantile(samples, 0) == 1);
  CHECK(bench::quantile(samples, 0.5) == 4);
  CHECK(bench::quantile(samples, 0.875) == 12);
  CHECK(bench::quantile(samples, 1) == 16);
  CHECK(bench::quantile({}, 0.5) == 0);
  CHECK(bench::quantile(std::vector<double>{3}, 0.95) == 3);
}

TEST_CASE("the confidence interval of a known sample", "[bench]") {
  // Mean 5, variance 32/7, eight samples: 2.3646 · sqrt(32/7/8).
  const std::vector<double> samples{2, 4, 4, 4, 5, 5, 7, 9};
  CHECK(near(bench::confidence_95(samples), 1.7874, 1e-4));
  CHECK(std::isinf(bench::confidence_95(std::vector<double>{1})));
  CHECK(bench::confidence_95(std::vector<double>{7, 7, 7}) == 0);
}

TEST_CASE("the confidence interval of a median", "[bench]") {
  std::vector<double> samples;
  for (int i = 1; i <= 21; ++i) samples.push_back(i * i);
  // Of 21 the 7th and the 15th, as tables have it to 95 % nearly.
  CHECK(bench::median_confidence_95(samples) == (15 * 15 - 7 * 7) / 2.0);
  CHECK(std::isinf(bench::median_confidence_95(std::vector<double>(5, 1.0))));
}

TEST_CASE("the confidence interval of a series' median counts its tenths", "[bench]") {
  // Ten parts of 0, 100 + i and 200: the second and the ninth of the medians 100 … 109.
  std::vector<double> series;
  for (int i = 0; i < 10; ++i) {
    for (const int sample : {0, 100 + i, 200}) series.push_back(sample);
  }
  CHECK(bench::series_median_confidence_95(series) == (108 - 101) / 2.0);
  series.resize(19);
  CHECK(std::isinf(bench::series_median_confidence_95(series)));
}

TEST_CASE("a summary sorts for itself", "[bench]") {
  const auto summary = bench::summarize(std::vector<double>{9, 1, 5, 3, 2});
  CHECK(summary.mean == 4);
  CHECK(summary.median == 3);
  CHECK(near(summary.p95, 8.2, 1e-12));
  CHECK(summary.max == 9);
  CHECK(bench::median(std::vector<double>{4, 1}) == 2.5);
}
