#pragma once

#include <papcoll/base/config.hpp>

#include <cstddef>
#include <span>

namespace papcoll::inline PAPCOLL_ABI::pattern {

// Arrival times are seconds on one clock (any origin), one a rank. The measures are those of
// Alizadeh, "Efficient Process Arrival Pattern Aware Collective Communication", 2021, ch. 2.3.

/// Worst-case imbalance time Ω: latest minus earliest arrival, in seconds; 0 for no ranks.
constexpr double worst_case_imbalance(std::span<const double> arrivals) noexcept {
  if (arrivals.empty()) return 0;
  double earliest = arrivals[0];
  double latest = arrivals[0];
  for (const double a : arrivals) {
    earliest = a < earliest ? a : earliest;
    latest = a > latest ? a : latest;
  }
  return latest - earliest;
}

/// Average-case imbalance time Δ̄: mean distance from the mean arrival, in seconds; 0 for no ranks.
constexpr double average_case_imbalance(std::span<const double> arrivals) noexcept {
  if (arrivals.empty()) return 0;
  const auto ranks = static_cast<double>(arrivals.size());
  const double origin = arrivals[0];  // clock readings are large, their differences small
  double offsets = 0;
  for (const double a : arrivals) offsets += a - origin;
  const double mean = offsets / ranks;
  double distances = 0;
  for (const double a : arrivals) {
    const double distance = a - origin - mean;
    distances += distance < 0 ? -distance : distance;
  }
  return distances / ranks;
}

/// Imbalance times of one call in units of α, the one-way point-to-point time of a message of the
/// call's size.
struct ImbalanceFactors {
  double worst_case = 0;    ///< Ω/α
  double average_case = 0;  ///< Δ̄/α
};

/// The imbalance factors of one call; alpha in seconds, positive.
constexpr ImbalanceFactors imbalance_factors(std::span<const double> arrivals,
                                             double alpha) noexcept {
  return {worst_case_imbalance(arrivals) / alpha, average_case_imbalance(arrivals) / alpha};
}

/// The maximum imbalance factor (MIF) of a pattern: the largest Ω/α of its calls. `calls` holds one
/// call after the other, `ranks` arrival times each; an incomplete last call is ignored. alpha in
/// seconds, positive.
constexpr double maximum_imbalance_factor(std::span<const double> calls, std::size_t ranks,
                                          double alpha) noexcept {
  if (ranks == 0) return 0;
  double largest = 0;
  for (; calls.size() >= ranks; calls = calls.subspan(ranks)) {
    const double factor = worst_case_imbalance(calls.first(ranks)) / alpha;
    largest = factor > largest ? factor : largest;
  }
  return largest;
}

}  // namespace papcoll::inline PAPCOLL_ABI::pattern
