// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/closed_forms.hpp>
#include <papcoll/choice/selection/selection_inputs.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace bench {

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
  return {{{&threshold("alpha_ns"), whole(h.alpha * nano)},
           {&threshold("gap_ns"), whole(std::min(h.gap, h.alpha) * nano)},
           {&threshold("beta_as"), whole(h.beta * atto)},
           {&threshold("gamma_as"), whole(h.gamma * atto)}}};
}

}  // namespace bench
