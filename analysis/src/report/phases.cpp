// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/report/phases.hpp>

#include <papcoll/report/calls.hpp>
#include <papcoll/report/imbalance.hpp>
#include <papcoll/report/one_way.hpp>
#include <papcoll/report/run.hpp>
#include <papcoll/report/summary.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {

std::vector<double> deviations(const std::vector<double>& values, std::size_t begin,
                               std::size_t end, bool from_end) {
  std::priority_queue<double> low;
  std::priority_queue<double, std::vector<double>, std::greater<>> high;
  double sum_low = 0;
  double sum_high = 0;
  std::vector<double> sums{0};
  for (std::size_t i = begin; i < end; ++i) {
    const double v = values[from_end ? end - 1 - (i - begin) : i];
    low.push(v);
    sum_low += v;
    const double middle = low.top();
    low.pop();
    sum_low -= middle;
    high.push(middle);
    sum_high += middle;
    if (high.size() > low.size()) {
      const double back = high.top();
      high.pop();
      sum_high -= back;
      low.push(back);
      sum_low += back;
    }
    // low has as many as high, or one more; the median is its top.
    sums.push_back(sum_high - sum_low + low.top() * static_cast<double>(low.size() - high.size()));
  }
  return sums;
}

namespace {

/// Splits [begin, end) where that takes most from the deviations, again and again.
class Splitter {
 public:
  explicit Splitter(const std::vector<double>& values) : values_(values) {}

  std::vector<std::size_t> jumps() {
    split(0, values_.size(), 0);
    std::sort(jumps_.begin(), jumps_.end());
    merge();
    return jumps_;
  }

 private:
  static constexpr std::size_t shortest = 10;

  double median(std::size_t begin, std::size_t end) const {
    std::vector<double> part{values_.begin() + static_cast<std::ptrdiff_t>(begin),
                             values_.begin() + static_cast<std::ptrdiff_t>(end)};
    return percentile(part, 0.5);
  }

  void split(std::size_t begin, std::size_t end, int depth) {
    constexpr int deepest = 5;
    const std::size_t n = end - begin;
    if (n < 2 * shortest || depth > deepest) return;
    const std::vector<double> left = deviations(values_, begin, end, false);
    const std::vector<double> right = deviations(values_, begin, end, true);
    std::size_t best = shortest;
    for (std::size_t k = shortest; k + shortest <= n; ++k) {
      if (left[k] + right[n - k] < left[best] + right[n - best]) best = k;
    }
    const double rest = left[best] + right[n - best];
    const std::size_t at = begin + best;
    if (!is_jump(left[n] - rest, rest, n)) return;
    jumps_.push_back(at);
    split(begin, at, depth + 1);
    split(at, end, depth + 1);
  }

  double deviation(std::size_t begin, std::size_t end) const {
    const double middle = median(begin, end);
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += std::fabs(values_[i] - middle);
    return sum;
  }

  /// More than the ups and downs of as many calls that are alike; `rest` is left on both sides.
  static bool is_jump(double gain, double rest, std::size_t calls) {
    constexpr double penalty = 4;
    const auto n = static_cast<double>(calls);
    return gain > penalty * rest / n * std::log(n);
  }

  /// Leaves out the jumps that are none between what the others left, the least one first.
  void merge() {
    constexpr double least_jump = 1;
    for (;;) {
      std::size_t least = jumps_.size();
      double least_gain = 0;
      for (std::size_t i = 0; i < jumps_.size(); ++i) {
        const std::size_t begin = i == 0 ? 0 : jumps_[i - 1];
        const std::size_t at = jumps_[i];
        const std::size_t end = i + 1 < jumps_.size() ? jumps_[i + 1] : values_.size();
        const double rest = deviation(begin, at) + deviation(at, end);
        const double gain = deviation(begin, end) - rest;
        const bool is_large = std::fabs(median(begin, at) - median(at, end)) >= least_jump;
        if (is_large && is_jump(gain, rest, end - begin)) continue;
        if (least < jumps_.size() && gain >= least_gain) continue;
        least = i;
        least_gain = gain;
      }
      if (least == jumps_.size()) return;
      jumps_.erase(jumps_.begin() + static_cast<std::ptrdiff_t>(least));
    }
  }

  const std::vector<double>& values_;
  std::vector<std::size_t> jumps_;
};
}  // namespace
}  // namespace detail

std::vector<std::size_t> jumps_of(const std::vector<double>& omegas) {
  constexpr std::size_t most = 4096;
  constexpr double floor = 50;  // nanoseconds: what clocks of one machine tell apart
  const std::size_t each = (omegas.size() + most - 1) / most;
  std::vector<double> values;
  for (std::size_t i = 0; i < omegas.size(); i += each) {
    std::vector<double> part{
        omegas.begin() + static_cast<std::ptrdiff_t>(i),
        omegas.begin() + static_cast<std::ptrdiff_t>(std::min(omegas.size(), i + each))};
    values.push_back(std::log2(std::max(floor, percentile(part, 0.5))));
  }
  std::vector<std::size_t> jumps = detail::Splitter{values}.jumps();
  for (std::size_t& j : jumps) j *= each;
  return jumps;
}

std::vector<PhasesOfPlace> phases_of(const Calls& calls, const std::vector<Imbalance>& imbalances) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> places;
  for (std::size_t i = 0; i < calls.calls.size(); ++i) {
    if (imbalances[i].known) {
      places[calls.calls[i].place].push_back(static_cast<std::uint32_t>(i));
    }
  }
  std::vector<PhasesOfPlace> all;
  for (const auto& [place, positions] : places) {
    std::vector<double> omegas;
    for (const std::uint32_t p : positions) omegas.push_back(imbalances[p].omega);
    std::vector<std::size_t> ends = jumps_of(omegas);
    if (ends.empty()) continue;
    ends.push_back(positions.size());
    PhasesOfPlace of{place, {}};
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      std::vector<double> part{omegas.begin() + static_cast<std::ptrdiff_t>(begin),
                               omegas.begin() + static_cast<std::ptrdiff_t>(end)};
      std::vector<double> factors;
      for (std::size_t k = begin; k < end; ++k) {
        const Imbalance& i = imbalances[positions[k]];
        if (i.alpha > 0) factors.push_back(i.omega / i.alpha);
      }
      of.phases.push_back({begin, end - begin, positions[begin], positions[end - 1],
                           percentile(part, 0.5), percentile(factors, 0.5)});
      begin = end;
    }
    all.push_back(std::move(of));
  }
  return all;
}

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
