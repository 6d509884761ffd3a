// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/statistics/median.hpp>
#include <papcoll/statistics/student_t.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace bench {

inline double mean(std::span<const double> samples) {
  double sum = 0;
  for (const double s : samples) sum += s;
  return samples.empty() ? 0 : sum / static_cast<double>(samples.size());
}

/// The quantile `part` (0 … 1) of ascending samples, interpolated between neighbours; 0 for none.
inline double quantile(std::span<const double> ascending, double part) {
  if (ascending.empty()) return 0;
  const double at = part * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, ascending.size() - 1);
  return std::lerp(ascending[below], ascending[above], at - static_cast<double>(below));
}

/// Half the width of the 95 % confidence interval of the mean, the samples taken as independent;
/// infinite for fewer than two.
inline double confidence_95(std::span<const double> samples) {
  if (samples.size() < 2) return HUGE_VAL;
  const double centre = mean(samples);
  double squares = 0;
  for (const double s : samples) squares += (s - centre) * (s - centre);
  const auto n = static_cast<double>(samples.size());
  return papcoll::student_t_95(samples.size() - 1) * std::sqrt(squares / (n - 1) / n);
}

/// Half the width of the median's 95 % confidence interval, between order statistics; infinite for
/// fewer than six samples, of which no two enclose the median so surely.
inline double median_confidence_95(std::span<const double> samples) {
  constexpr std::size_t fewest = 6;
  if (samples.size() < fewest) return HUGE_VAL;
  std::vector<double> ascending(samples.begin(), samples.end());
  std::sort(ascending.begin(), ascending.end());
  const auto n = static_cast<double>(samples.size());
  const auto below = static_cast<std::size_t>(std::max(0.0, (n - 1.96 * std::sqrt(n)) / 2));
  return (ascending[ascending.size() - 1 - below] - ascending[below]) / 2;
}

/// As median_confidence_95(), for samples in the order in which they were taken, whose neighbours
/// resemble each other: that of ten medians, each of a tenth of the series. Infinite for fewer than
/// two samples a tenth.
inline double series_median_confidence_95(std::span<const double> series) {
  constexpr std::size_t parts = 10;
  if (series.size() < 2 * parts) return HUGE_VAL;
  std::vector<double> medians;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t first = series.size() * i / parts;
    const std::size_t end = series.size() * (i + 1) / parts;
    const auto part = series.subspan(first, end - first);
    medians.push_back(papcoll::median({part.begin(), part.end()}));
  }
  return median_confidence_95(medians);
}

/// A series of measurements in few numbers, in the unit of its samples.
struct Summary {
  double mean = 0;
  double median = 0;
  double p95 = 0;
  double max = 0;
  double ci95 = 0;         ///< the mean is known to ± this with 95 % confidence
  double median_ci95 = 0;  ///< and the median to ± this
};

inline Summary summarize(std::span<const double> samples) {
  std::vector<double> ascending(samples.begin(), samples.end());
  std::sort(ascending.begin(), ascending.end());
  return {.mean = mean(samples),
          .median = quantile(ascending, 0.5),
          .p95 = quantile(ascending, 0.95),
          .max = ascending.empty() ? 0 : ascending.back(),
          .ci95 = confidence_95(samples),
          .median_ci95 = series_median_confidence_95(samples)};
}

using papcoll::median;

}  // namespace bench
