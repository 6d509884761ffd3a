// SPDX-License-Identifier: BSD-3-Clause
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
  using Random = papcoll::pattern::Random;
  /// Sets the µs that each rank works before a call, from its number on; they are 0 before.
  using Work = std::function<void(std::uint64_t call, Random&, std::vector<double>& micros)>;

  std::size_t ranks = 4;
  std::uint64_t calls = 1200;
  std::size_t sites = 1;  ///< that call in turns
  std::uint64_t seed = 1;
  double exit_skew = 1;  ///< µs that ranks leave a call apart
  int ranks_on_node = 64;
  TraceWriter::Call call{};
  double in_call = 0.5;  ///< µs from the last arrival to the first exit
  Work work = [](std::uint64_t, Random& random, std::vector<double>& micros) {
    for (double& m : micros) m = 1000 + exponential(random, 50);
  };
  /// What the clock of a rank shows, in ns, when that of rank 0 shows a time.
  std::function<double(std::size_t rank, double time)> shown = {};
  double end = begin;  ///< of the last call, by the clock of rank 0

  static constexpr double begin = 2e9;
  static double exponential(Random& random, double mean) {
    return -mean * std::log1p(-random.fraction());
  }

  RunWriter written() {
    RunWriter writer{static_cast<int>(ranks), sites, calls};
    Random random{seed};
    const auto by_clock = [this](std::size_t rank, double time) {
      return static_cast<std::uint64_t>(shown ? shown(rank, time) : time);
    };
    std::vector<double> free(ranks, begin);
    std::vector<double> micros(ranks);
    std::vector<double> arrivals(ranks);
    for (std::uint64_t i = 0; i < calls; ++i) {
      std::fill(micros.begin(), micros.end(), 0.0);
      work(i, random, micros);
      for (std::size_t r = 0; r < ranks; ++r) arrivals[r] = free[r] + micros[r] * 1e3;
      const double last = *std::max_element(arrivals.begin(), arrivals.end());
      call.site = static_cast<std::uint32_t>(i % sites);
      for (std::size_t r = 0; r < ranks; ++r) {
        free[r] = last + (in_call + random.fraction() * exit_skew) * 1e3;
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
      return papcoll::profile::ClockPoint{at, static_cast<std::int64_t>(shown(0, time)) - at, bound,
                                          1};
    };
    auto& h = writer.traces[rank].header;
    h.clock = static_cast<std::int32_t>(rank);
    h.clock_begin = point(begin);
    h.clock_end = point(end);
  }
};
