// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Explores the runs of a world:
//
//   int ranks() const             how many, at most max_ranks
//   void reset()                  before each run
//   void body(int rank)           what a rank does; scheduler().fail(why) ends the run
//   std::string finish()          after a run without failure: what is wrong, or nothing

#include "scheduler.hpp"
#include "strategies.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace explore {

struct Report {
  std::uint64_t schedules = 0;
  bool complete = false;    ///< depth first: all schedules within the bound were run
  std::string failure;      ///< what failed first; empty: nothing
  Schedule failed;          ///< the schedule of that run
  std::string explanation;  ///< failure, schedule and the last accesses before it

  bool fine() const noexcept { return failure.empty(); }
};

namespace detail {

template <class World> std::string run_once(World& world, Strategy& strategy) {
  world.reset();
  std::string failure = scheduler().run(
      world.ranks(), [&](int rank) { world.body(rank); }, strategy);
  return failure.empty() ? world.finish() : failure;
}

/// Runs the failed schedule again and writes down what happened.
template <class World> void explain(World& world, Report& report) {
  Replay again{report.failed};
  scheduler().tracing = true;
  run_once(world, again);
  scheduler().tracing = false;
  const auto& trace = scheduler().trace();
  report.explanation = report.failure + "\nafter " + std::to_string(report.schedules) +
                       " schedules, by schedule { " + to_string(report.failed) + "}\n";
  constexpr std::size_t shown = 80;
  const std::size_t from = trace.size() > shown ? trace.size() - shown : 0;
  for (std::size_t i = from; i < trace.size(); ++i) report.explanation += trace[i] + "\n";
}

}  // namespace detail

/// All schedules with at most `bound` preemptions, but no more than `limit` of them.
template <class World>
Report depth_first(World& world, int bound, std::uint64_t limit = 1'000'000,
                   DepthFirst::AtBlocks at_blocks = DepthFirst::AtBlocks::free) {
  Report report;
  DepthFirst strategy{bound, at_blocks};
  for (;;) {
    report.failure = detail::run_once(world, strategy);
    ++report.schedules;
    if (!report.fine()) {
      report.failed = scheduler().schedule();
      detail::explain(world, report);
      return report;
    }
    if (!strategy.next()) break;
    if (report.schedules == limit) return report;
  }
  report.complete = true;
  return report;
}

/// `count` random schedules; seed and count are all they depend on.
template <class World> Report random_walks(World& world, std::uint64_t seed, std::uint64_t count) {
  Report report;
  std::uint64_t length = 100;
  for (; report.schedules < count; ++report.schedules) {
    RandomWalk strategy{seed * 1'000'003 + report.schedules, length};
    report.failure = detail::run_once(world, strategy);
    if (!report.fine()) {
      report.failed = scheduler().schedule();
      detail::explain(world, report);
      return report;
    }
    length = std::max(length, scheduler().decisions());
  }
  return report;
}

/// Runs one schedule.
template <class World> Report replay(World& world, const Schedule& schedule) {
  Replay strategy{schedule};
  Report report;
  report.failure = detail::run_once(world, strategy);
  report.failed = schedule;
  report.schedules = 1;
  return report;
}

}  // namespace explore
