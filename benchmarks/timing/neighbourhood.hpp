// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/statistics/median.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

namespace bench {

/// What a signal between two processors shows of them: the same L3 cache, or not.
enum class Neighbourhood : unsigned char { none, same_l3, cross_l3, mixed };

inline constexpr std::array<std::string_view, 4> neighbourhood_names{"none", "near", "apart",
                                                                     "mixed"};

constexpr std::string_view name_of(Neighbourhood n) {
  return neighbourhood_names[static_cast<std::size_t>(n)];
}

/// What several readings of a signal's time say, taken before, during and after a measurement.
struct Signal {
  double seconds = 0;  ///< the median; 0 where there is none
  Neighbourhood where = Neighbourhood::none;
};

/// `readings` in seconds; 0 stands for none.
inline Signal signal_of(std::span<const double> readings) {
  // Processors that share an L3 cache take 27 to 77 ns (AMD EPYC) or 102 to 112 (Intel Xeon),
  // others 250 to 285. This is as many times the one as the other is of it.
  constexpr double same_l3_below = 170e-9;
  // Two sockets take half a microsecond. What is longer waited for a processor.
  constexpr double disturbed = 1e-6;
  std::vector<double> good;
  std::copy_if(readings.begin(), readings.end(), std::back_inserter(good),
               [](double s) { return s > 0 && s < disturbed; });
  if (good.empty()) return {};
  const auto same =
      std::count_if(good.begin(), good.end(), [](double s) { return s < same_l3_below; });
  Signal signal{.seconds = papcoll::median(good), .where = Neighbourhood::mixed};
  if (same == 0) signal.where = Neighbourhood::cross_l3;
  if (same == std::ssize(good)) signal.where = Neighbourhood::same_l3;
  return signal;
}

}  // namespace bench
