#pragma once

// Recordings of programs of which is known what is wrong with them.

#include <papcoll/pattern/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "trace_writer.hpp"

/// Ranks work, meet in an allreduce, leave it a little apart, and work on. What is planted changes
/// the work, the calls, or the clocks that they are recorded by.
struct PlantedRun {
  std::size_t ranks = 4;
  std::uint64_t calls = 100;
  std::uint64_t seed = 1;
  int ranks_on_node = 64;
  TraceWriter::Call call{};
  double in_call = 500;  ///< ns from the last arrival to the first exit
  /// What the clock of a rank shows, in ns, when that of rank 0 shows a time.
  std::function<double(std::size_t rank, double time)> shown = {};
  /// ns that a rank works before a call.
  std::function<double(std::size_t rank, std::uint64_t call, papcoll::pattern::Random&)> work = {};

  static constexpr double begin = 2e9;
  static double noise(papcoll::pattern::Random& random, double mean) {
    return -mean * std::log1p(-random.fraction());
  }

  /// The traces; `end()`: when they ended by the clock of rank 0.
  RunWriter written() {
    RunWriter writer{static_cast<int>(ranks), 1, calls};
    papcoll::pattern::Random random{seed};
    const auto by_clock = [this](std::size_t rank, double time) {
      return static_cast<std::uint64_t>(shown ? shown(rank, time) : time);
    };
    std::vector<double> free(ranks, begin);
    std::vector<double> arrivals(ranks);
    for (std::uint64_t i = 0; i < calls; ++i) {
      for (std::size_t r = 0; r < ranks; ++r) {
        arrivals[r] = free[r] + (work ? work(r, i, random) : 1e6 + noise(random, 5e4));
      }
      const double last = *std::max_element(arrivals.begin(), arrivals.end());
      for (std::size_t r = 0; r < ranks; ++r) {
        free[r] = last + in_call + random.fraction() * 1e3;
        writer.traces[r].call(call, by_clock(r, arrivals[r]), by_clock(r, free[r]));
      }
    }
    end = *std::max_element(free.begin(), free.end());
    for (std::size_t r = 0; r < ranks; ++r) {
      auto& h = writer.traces[r].header;
      h.node = static_cast<int>(r) / ranks_on_node * ranks_on_node;
      h.began = by_clock(r, begin);
      h.ended = by_clock(r, end);
    }
    return writer;
  }

  /// Makes a rank's clock one that was measured at begin and end, up to `bound`.
  void measure(RunWriter& writer, std::size_t rank, std::int64_t bound) const {
    const auto point = [&](double time) {
      const auto at = static_cast<std::int64_t>(shown(rank, time));
      return papcoll::profile::ClockPoint{at, static_cast<std::int64_t>(time) - at, bound, 1};
    };
    auto& h = writer.traces[rank].header;
    h.clock = static_cast<std::int32_t>(rank);
    h.clock_begin = point(begin);
    h.clock_end = point(end);
  }

  double end = 0;
};
