// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace bench {

/// In how many chunks a vector is best cut, of 1 to `most`: where `seconds(chunks)` is least; of
/// equals the fewest.
template <class F> std::size_t best_count(std::size_t most, F&& seconds) {
  std::size_t best = 1;
  double least = seconds(std::size_t{1});
  for (std::size_t n = 2; n <= most; ++n) {
    const double t = seconds(n);
    if (t >= least) continue;
    least = t;
    best = n;
  }
  return best;
}

/// About the same with fewer questions: of 1, 2, 3, 4, 6, 8, 12 … the best, and then of those
/// between its neighbours, if there is one lowest point.
template <class F> std::size_t best_count_coarsely(std::size_t most, F&& seconds) {
  std::vector<std::size_t> grid;
  for (std::size_t n = 1; n <= most; n *= 2) {
    grid.push_back(n);
    if (n > 1 && n + n / 2 <= most) grid.push_back(n + n / 2);
  }
  if (grid.back() != most) grid.push_back(most);
  std::vector<double> times;
  for (const std::size_t n : grid) times.push_back(seconds(n));
  const auto best =
      static_cast<std::size_t>(std::min_element(times.begin(), times.end()) - times.begin());
  std::size_t lo = grid[best == 0 ? 0 : best - 1];
  std::size_t hi = grid[std::min(best + 1, grid.size() - 1)];
  while (hi - lo > 2) {
    const std::size_t third = (hi - lo) / 3;
    if (seconds(lo + third) <= seconds(hi - third)) {
      hi -= third;
    } else {
      lo += third;
    }
  }
  std::size_t found = grid[best];
  double least = times[best];
  for (std::size_t n = lo; n <= hi; ++n) {
    const double t = seconds(n);
    if (t >= least) continue;
    least = t;
    found = n;
  }
  return found;
}

/// How many counts_around() has at most for each that is wanted.
constexpr std::size_t counts_around_one = 7;

/// The counts to measure around those that models want: these, 10 and 20 more and fewer, half and
/// twice as many, from 1 to `most`, ascending.
inline std::vector<std::size_t> counts_around(std::span<const std::size_t> wanted,
                                              std::size_t most) {
  std::vector<std::size_t> counts;
  const auto add = [&](std::ptrdiff_t n) {
    if (n >= 1) counts.push_back(std::min(most, static_cast<std::size_t>(n)));
  };
  for (const std::size_t w : wanted) {
    const auto n = static_cast<std::ptrdiff_t>(w);
    for (const std::ptrdiff_t more : {-20, -10, 0, 10, 20}) add(n + more);
    add(n / 2);
    add(2 * n);
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

}  // namespace bench
