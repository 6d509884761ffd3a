// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <array>
#include <cstddef>

namespace papcoll::inline PAPCOLL_ABI {

/// The t for which a Student-distributed variable lies in [-t, t] with a probability of 95 %.
/// From a table for few degrees of freedom, else by the expansion of Cornish and Fisher about the
/// normal quantile (error below 1e-4; Abramowitz & Stegun 26.7.5). degrees >= 1.
inline double student_t_95(std::size_t degrees) {
  constexpr std::array<double, 10> table{12.7062, 4.3027, 3.1824, 2.7764, 2.5706,
                                         2.4469,  2.3646, 2.3060, 2.2622, 2.2281};
  if (degrees <= table.size()) return table.at(degrees - 1);
  constexpr double z = 1.959963985;
  constexpr double z2 = z * z;
  constexpr double g1 = z * (z2 + 1) / 4;
  constexpr double g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
  constexpr double g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
  constexpr double g4 = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
  const auto n = static_cast<double>(degrees);
  return z + (g1 + (g2 + (g3 + g4 / n) / n) / n) / n;
}

}  // namespace papcoll::inline PAPCOLL_ABI
