// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// How long a message takes one way, as the ranks measured it: the α of imbalance factors.

#include <papcoll/profile/trace_format.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/statistics/median.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

/// The smallest of the values that so large a part of them does not exceed.
inline double percentile(std::vector<double>& values, double part) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(values.size())));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank == 0 ? 0 : rank - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// One-way times of messages by their size: between the sizes that were measured, the logarithm of
/// the time is linear in that of the size; below the smallest the time is that of the smallest,
/// beyond the largest it grows with the size.
class OneWayTimes {
 public:
  OneWayTimes() = default;

  /// Of messages of 2^i bytes in nanoseconds, 0: not measured.
  explicit OneWayTimes(const std::array<double, profile::one_way_sizes>& times) {
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (times[i] > 0) points_.push_back({static_cast<double>(i), std::log2(times[i])});
    }
  }

  bool measured() const noexcept { return !points_.empty(); }

  /// In nanoseconds; 0 if nothing was measured. No bytes count as one.
  double of(std::uint64_t bytes) const {
    if (points_.empty()) return 0;
    const double x = bytes == 0 ? 0 : std::log2(static_cast<double>(bytes));
    const auto after =
        std::find_if(points_.begin(), points_.end(), [x](const Point& p) { return p.size >= x; });
    if (after == points_.begin()) return std::exp2(after->time);
    if (after == points_.end()) return std::exp2(points_.back().time + x - points_.back().size);
    const Point& a = *(after - 1);
    const double part = (x - a.size) / (after->size - a.size);
    return std::exp2(a.time + part * (after->time - a.time));
  }

 private:
  struct Point {
    double size, time;  ///< logarithms to the base of two
  };
  std::vector<Point> points_;
};

/// Both tables of a run.
struct OneWay {
  OneWayTimes on_node;
  OneWayTimes between_nodes;

  bool measured() const noexcept { return on_node.measured() || between_nodes.measured(); }
};

/// Returns for each size the median of what the ranks measured.
inline OneWay one_way_of(const Run& run) {
  const auto medians = [&run](auto field) {
    std::array<double, profile::one_way_sizes> times{};
    for (std::size_t i = 0; i < times.size(); ++i) {
      std::vector<double> measured;
      for (const RankTrace& r : run.ranks) {
        if ((r.header.*field)[i] > 0) measured.push_back((r.header.*field)[i]);
      }
      times[i] = median(measured);
    }
    return OneWayTimes{times};
  };
  return {medians(&profile::FileHeader::one_way_on_node),
          medians(&profile::FileHeader::one_way_between_nodes)};
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
