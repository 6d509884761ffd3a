// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "options.hpp"
#include "timing/arrivals.hpp"
#include "timing/clock.hpp"
#include "timing/meeting.hpp"
#include "timing/progress.hpp"
#include "timing/signal_meter.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

/// What was measured of one candidate at one size: a number an iteration, in microseconds. On rank
/// 0; empty elsewhere.
struct Series {
  std::vector<double> in_call;  ///< time in the call, the mean over the ranks
  std::vector<double> tail;     ///< last arrival to last exit
  std::vector<double> skew;     ///< first arrival to last arrival, as it came to be
};

struct Measured {
  std::vector<Series> series;   ///< one a candidate
  std::string stopped_by;       ///< "precision", "iterations" or "time"
  std::vector<double> signals;  ///< before the first round and after each, in seconds; on rank 0
};

/// Times the calls, one a candidate, by turns: in each round every candidate does one block of
/// iterations, in an order drawn anew, until all are known to the wanted precision. All do the same
/// number of iterations, and iteration i has the same arrivals for all. `size_index` makes the
/// random order different from size to size. Collective.
class Measurement {
 public:
  Measurement(const Options& options, const Placement& placement, SharedClock& clock,
              Meeting& meeting, Arrivals& arrivals, const Progress& progress);

  Measured run(const std::vector<std::function<void()>>& calls, std::size_t bytes,
               std::size_t size_index);

  /// One iteration of Listing 4.1 or 4.2, whose times are not kept.
  void rehearse(const std::function<void()>& call, std::uint64_t iteration);

  /// Part of the iterations in which a rank was past the agreed instant already, --start clock
  /// only.
  double late_starts() const;

 private:
  struct Sample {
    std::int64_t enter;
    std::int64_t exit;
  };

  Sample iterate(const std::function<void()>& call, std::uint64_t iteration);
  std::int64_t common_start();
  void block(const std::function<void()>& call, std::uint64_t first, std::size_t count,
             Series& series);
  void calibrate();
  std::vector<std::size_t> shuffled(std::size_t candidates, std::uint64_t size_index,
                                    std::uint64_t round) const;
  bool precise(const std::vector<Series>& series) const;

  const Options& options_;
  const Placement& placement_;
  SharedClock& clock_;
  Meeting& meeting_;
  SignalMeter meter_;
  Arrivals& arrivals_;
  const Progress& progress_;
  std::int64_t margin_ = 0;  // from the latest rank's reading of the clock to the agreed instant
  std::uint64_t starts_ = 0;
  std::uint64_t late_ = 0;
  std::vector<Sample> samples_;
};

}  // namespace bench
