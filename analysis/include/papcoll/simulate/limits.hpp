// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/error.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/simulate/quantity_text.hpp>
#include <papcoll/simulate/simulated.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Steps of all ranks.
struct SimulationSize {
  double planned = 0;    ///< of a full and of a shorter block
  double in_flight = 0;  ///< of all blocks in flight at once
  double run = 0;        ///< of all blocks

  static SimulationSize of(std::size_t full, std::size_t last, std::size_t blocks,
                           bool shorter_last, std::size_t pipeline_depth) {
    const auto f = static_cast<double>(full);
    const auto l = static_cast<double>(last);
    const auto full_blocks = static_cast<double>(blocks - (shorter_last ? 1 : 0));
    return {f + l, std::max(f, l) * static_cast<double>(std::min(blocks, pipeline_depth)),
            f * full_blocks + l};
  }
  SimulationSize times(double n) const noexcept { return {planned * n, in_flight * n, run * n}; }
};

/// Refuses simulations of more than SimulateOptions allows. Throws argument_error.
class SimulationLimits {
 public:
  SimulationLimits(std::string name, const SimulateOptions& options)
      : name_(std::move(name)), options_(options) {}

  std::size_t pipeline_depth() const noexcept { return options_.pipeline_depth; }

  /// Before all plans are made, which takes minutes where they are too large: by three of them. The
  /// middle one, since a root may have more to do than all others.
  void foresee(const AnySchedule& schedule, Shape shape, const Order& order) const {
    constexpr int few = 64;
    if (shape.size < few) return;
    std::array<SimulationSize, 3> sizes;
    const int ranks = shape.size;
    for (int i = 0; i < 3; ++i) {
      shape.rank = i * (ranks - 1) / 2;
      const BlockedPlan plan = make_plan(schedule, shape, order);
      sizes[static_cast<std::size_t>(i)] = SimulationSize::of(
          plan.full.size(), plan.last.size(), plan.blocks, plan.shorter_last, pipeline_depth());
    }
    std::sort(sizes.begin(), sizes.end(),
              [](const auto& a, const auto& b) { return a.run < b.run; });
    check(sizes[1].times(ranks));
  }

  void check(const SimulationSize& size) const {
    const auto most_steps = static_cast<double>(options_.most_steps);
    if (size.run > most_steps) refuse(steps(size.run), steps(most_steps), "most_steps");
    const double kept = options_.keep_steps ? step_bytes : options_.keep_path ? path_bytes : 0;
    const double bytes =
        size.planned * planned_bytes + size.in_flight * in_flight_bytes + size.run * kept;
    const auto most = static_cast<double>(options_.most_memory);
    if (bytes > most) refuse(gigabytes(bytes), gigabytes(most), "most_memory");
  }

 private:
  // What simulations of a ring and of pipelines were seen to take, of a step.
  static constexpr double planned_bytes = 64;
  static constexpr double in_flight_bytes = 16;
  static constexpr double path_bytes = 90;
  static constexpr double step_bytes = 235;

  static std::string steps(double n) {
    constexpr double million = 1e6;
    return (n < million ? decimal(n, 0) : decimal(n / million, 1) + " million") + " steps";
  }
  static std::string gigabytes(double bytes) {
    return decimal(bytes / (1U << 30U), 3) + " GB of memory";
  }

  [[noreturn]] void refuse(const std::string& needed, const std::string& allowed,
                           const std::string& option) const {
    throw argument_error("papcoll: the simulation of " + name_ + " takes " + needed +
                         " or more, and it may take " + allowed +
                         ": simulate fewer ranks or bytes, or longer segments, or allow more (" +
                         option + "; on the command line --no-size-limit)");
  }

  std::string name_;
  const SimulateOptions& options_;
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
