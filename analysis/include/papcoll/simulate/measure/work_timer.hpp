// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Measures what work takes, in seconds.
class WorkTimer {
 public:
  /// The median of what `work` takes, after `before`. So another program disturbs little.
  template <class Before, class Work>
  static double median_of(Before&& before, Work&& work, int times = 41) {
    std::vector<double> taken;
    for (int i = 0; i < times; ++i) {
      before();
      const Clock::time_point start = Clock::now();
      work();
      taken.push_back(seconds_since(start));
    }
    const auto middle = taken.begin() + times / 2;
    std::nth_element(taken.begin(), middle, taken.end());
    return *middle;
  }

  /// Returns what one of so many pieces of work in a row takes, without what the clock takes.
  template <class Work> double each_of(std::size_t count, Work&& work) const {
    return (median_of([] {},
                      [&] {
                        for (std::size_t i = 0; i < count; ++i) work(i);
                      }) -
            clock) /
           static_cast<double>(count);
  }

  double clock = 0;  ///< what reading the clock takes

 private:
  using Clock = std::chrono::steady_clock;

  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
