#pragma once

#include <papcoll/model/hockney.hpp>
#include <papcoll/select/thresholds.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace bench {

/// The threshold up to which the first of two algorithms is taken: of 0 and `points` (ascending),
/// the one that loses least against the better of the two at each point, by the product of the
/// ratios, so that every point counts alike. Of equals the first. `first` and `second`: the times
/// of the two algorithms at the points, positive.
inline std::size_t fit_threshold(std::span<const std::size_t> points, std::span<const double> first,
                                 std::span<const double> second) {
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t taken = 0; taken <= points.size(); ++taken) {
    double loss = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      loss += std::log((i < taken ? first[i] : second[i]) / std::fmin(first[i], second[i]));
    }
    if (loss >= least) continue;
    least = loss;
    best = taken == 0 ? 0 : points[taken - 1];
  }
  return best;
}

struct ThresholdValue {
  const papcoll::ThresholdField* threshold;
  std::size_t value;
};

/// The thresholds that are a network. No part of a message keeps its port longer than all of it.
inline std::array<ThresholdValue, 4> link_thresholds(const papcoll::HockneyWithGap& h) {
  using papcoll::threshold;
  const auto whole = [](double x) { return static_cast<std::size_t>(std::llround(x)); };
  constexpr double nano = 1e9;
  constexpr double atto = 1e18;
  return {{{threshold("network", "alpha_ns"), whole(h.alpha * nano)},
           {threshold("network", "gap_ns"), whole(std::min(h.gap, h.alpha) * nano)},
           {threshold("network", "beta_as"), whole(h.beta * atto)},
           {threshold("network", "gamma_as"), whole(h.gamma * atto)}}};
}

/// Do times fall where they must rise, as they do when something else ran on the machine? Not if a
/// time is only a third below one of a smaller size: algorithms change their ways, too.
inline bool fall(std::span<const double> times) {
  constexpr double slack = 1.5;
  double most = 0;
  for (const double t : times) {
    if (t * slack < most) return true;
    most = std::fmax(most, t);
  }
  return false;
}

}  // namespace bench
