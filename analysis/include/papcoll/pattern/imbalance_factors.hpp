// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/imbalance.hpp>
#include <papcoll/base/config.hpp>

#include <cstddef>
#include <span>

namespace papcoll::inline PAPCOLL_ABI::pattern {

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
