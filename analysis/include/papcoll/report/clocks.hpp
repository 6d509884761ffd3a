#pragma once

// Times of all ranks on the clock of rank 0, and how far they can be compared.

#include <papcoll/report/run.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace report {

/// The clocks of a run. Between what was measured at its begin and at its end, offsets are linear;
/// where only one was measured, the offset is constant and its bound grows with the time since, by
/// the 100 ppm that clocks of unlike machines drift at most.
class Clocks {
 public:
  explicit Clocks(const Run& run) {
    clocks_.resize(run.ranks.size());
    for (std::size_t i = 0; i < run.ranks.size(); ++i) {
      const std::int32_t id = run.ranks[i].header.clock;
      clocks_[i].id = id;
      if (id == 0) continue;
      // All ranks of a clock use what one of them measured: the first, and that is its leader.
      const auto same = std::find_if(run.ranks.begin(), run.ranks.end(), [id](const RankTrace& r) {
        return r.header.clock == id &&
               (r.header.clock_begin.measured != 0 || r.header.clock_end.measured != 0);
      });
      if (same == run.ranks.end()) {
        clocks_[i].bound = never;
      } else {
        clocks_[i].set(same->header.clock_begin, same->header.clock_end);
      }
    }
  }

  /// A bound that says that nothing can be compared.
  static constexpr double never = 1e18;

  /// What the clock of rank 0 showed, in nanoseconds. `trace` is a position in Run::ranks.
  std::int64_t global(std::size_t trace, std::uint64_t time) const {
    const Clock& c = clocks_[trace];
    const auto t = static_cast<std::int64_t>(time);
    if (c.slope == 0) return t + c.offset;
    return t + c.offset + std::llround(c.slope * static_cast<double>(t - c.at));
  }

  /// The time of the rank's own clock as the difference to rank 0's would have it now.
  double bound(std::size_t trace, std::uint64_t time) const {
    const Clock& c = clocks_[trace];
    if (c.growth == 0) return c.bound;
    return c.bound + c.growth * std::fabs(static_cast<double>(time) - static_cast<double>(c.at));
  }

  /// What differences between times of two ranks may be wrong by, in nanoseconds.
  double bound(std::size_t a, std::uint64_t time_a, std::size_t b, std::uint64_t time_b) const {
    return same(a, b) ? 0 : bound(a, time_a) + bound(b, time_b);
  }

  /// Whether two ranks read the same clock.
  bool same(std::size_t a, std::size_t b) const { return clocks_[a].id == clocks_[b].id; }

  /// Whether all ranks do.
  bool all_same() const {
    return std::all_of(clocks_.begin(), clocks_.end(),
                       [this](const Clock& c) { return c.id == clocks_.front().id; });
  }

  /// Whether a rank's clock was compared with that of rank 0.
  bool is_known(std::size_t trace) const { return clocks_[trace].bound < never; }

 private:
  struct Clock {
    std::int32_t id = 0;
    std::int64_t at = 0;
    std::int64_t offset = 0;  ///< at `at`
    double slope = 0;
    double bound = 0;
    double growth = 0;  ///< of the bound with time

    void set(const profile::ClockPoint& begin, const profile::ClockPoint& end) {
      const bool both = begin.measured != 0 && end.measured != 0;
      const profile::ClockPoint& one = begin.measured != 0 ? begin : end;
      at = one.at;
      offset = one.offset;
      bound = static_cast<double>(one.bound);
      constexpr double drift = 100e-6;
      growth = drift;
      if (!both) return;
      bound = static_cast<double>(std::max(begin.bound, end.bound));
      growth = 0;
      const double time = static_cast<double>(end.at) - static_cast<double>(begin.at);
      // Clocks that run apart by more are broken; so are the points.
      constexpr double most = 0.01;
      const double moved = static_cast<double>(end.offset) - static_cast<double>(begin.offset);
      if (time > 0 && std::fabs(moved) <= most * time) {
        slope = moved / time;
      } else if (moved != 0) {
        bound += std::fabs(moved);
      }
    }
  };
  std::vector<Clock> clocks_;
};

}  // namespace report
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
