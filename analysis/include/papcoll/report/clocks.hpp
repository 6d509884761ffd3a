// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Times of all ranks on the clock of rank 0, and how far they can be compared.

#include <papcoll/report/run.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

/// Ranks whose clock cannot have shown what was recorded: it jumped, or was taken for another one.
struct ClockFault {
  std::vector<std::int32_t> ranks;
  std::size_t trace = 0;    ///< of the first of them, in Run::ranks
  double jump = 0;          ///< between what was measured at begin and end, nanoseconds; 0: none
  double over = 0;          ///< nanoseconds between the two, by the clock itself
  bool of_rank_0 = false;   ///< all others jumped alike against it
  std::uint64_t calls = 0;  ///< that contradict it: a rank left before another one came
  double worst = 0;         ///< by how much, in the worst of these, nanoseconds
};

/// The clocks of a run. Between what was measured at its begin and at its end, offsets are linear;
/// where only one was measured, the offset is constant and its bound grows with the time since, by
/// the drift that clocks have at most. Offsets that differ by more than such a drift are a jump's:
/// the bound covers it. ClockCheck finds from the calls when it was.
class Clocks {
 public:
  /// What clocks of unlike machines drift apart at most, as a part of the time.
  static constexpr double drift = 100e-6;

  /// What is added to the times of a clock when it shows `at`; between two of these in proportion.
  struct Correction {
    double at;
    double value;
    double bound;       ///< what the corrected time may be wrong by
    bool after_a_jump;  ///< which was since the correction before
  };

  explicit Clocks(const Run& run) {
    // All ranks of a clock use what one of them measured: the first, and that is its leader.
    std::map<std::int32_t, const profile::FileHeader*> leaders;
    for (const RankTrace& r : run.ranks) {
      if (r.header.clock_begin.measured != 0 || r.header.clock_end.measured != 0) {
        leaders.try_emplace(r.header.clock, &r.header);
      }
    }
    clocks_.resize(run.ranks.size());
    for (std::size_t i = 0; i < run.ranks.size(); ++i) {
      const std::int32_t id = run.ranks[i].header.clock;
      clocks_[i].id = id;
      if (id == 0) continue;
      const auto leader = leaders.find(id);
      if (leader == leaders.end()) {
        clocks_[i].bound = never;
      } else {
        clocks_[i].set(leader->second->clock_begin, leader->second->clock_end);
      }
    }
  }

  /// A bound that says that nothing can be compared.
  static constexpr double never = 1e18;

  /// Returns the time on the clock of rank 0, in nanoseconds. `trace` is a position in Run::ranks.
  std::int64_t global(std::size_t trace, std::uint64_t time) const {
    const std::int64_t t = measured(trace, time);
    const Clock& c = clocks_[trace];
    return c.corrections.empty() ? t : t + std::llround(c.corrected(time).value);
  }

  /// As global(), by what was measured at begin and end alone.
  std::int64_t measured(std::size_t trace, std::uint64_t time) const {
    const Clock& c = clocks_[trace];
    const auto t = static_cast<std::int64_t>(time);
    if (c.slope == 0) return t + c.offset;
    return t + c.offset + std::llround(c.slope * static_cast<double>(t - c.at));
  }

  /// The time of the rank's own clock as the difference to rank 0's would have it now.
  double bound(std::size_t trace, std::uint64_t time) const {
    const Clock& c = clocks_[trace];
    if (!c.corrections.empty()) return c.corrected(time).bound;
    if (c.growth == 0) return c.bound;
    return c.bound + c.growth * std::fabs(static_cast<double>(time) - static_cast<double>(c.at));
  }

  /// Returns the bound of the error of differences between times of two ranks, in nanoseconds.
  double bound(std::size_t a, std::uint64_t time_a, std::size_t b, std::uint64_t time_b) const {
    return same(a, b) ? 0 : bound(a, time_a) + bound(b, time_b);
  }

  /// Returns true if two ranks read the same clock.
  bool same(std::size_t a, std::size_t b) const { return clocks_[a].id == clocks_[b].id; }

  /// Returns true if all ranks read the same clock.
  bool all_same() const {
    return std::all_of(clocks_.begin(), clocks_.end(),
                       [this](const Clock& c) { return c.id == clocks_.front().id; });
  }

  /// Returns true if a rank's clock was compared with that of rank 0.
  bool is_known(std::size_t trace) const { return clocks_[trace].bound < never; }

  /// Returns true if a rank's times are corrected.
  bool is_corrected(std::size_t trace) const { return !clocks_[trace].corrections.empty(); }

  /// Returns by how much the offsets at begin and end differ, signed, if clocks do not drift so;
  /// else 0.
  double jump(std::size_t trace) const { return clocks_[trace].jump; }

  /// Nanoseconds between what was measured at begin and end, by the rank's clock.
  double measured_over(std::size_t trace) const { return clocks_[trace].over; }

  /// Takes a jump of the clock of rank 0 out of what was measured at the end.
  void take_out(std::size_t trace, double jump) {
    if (clocks_[trace].end.measured == 0) return;
    Clock c;
    c.id = clocks_[trace].id;
    profile::ClockPoint end = clocks_[trace].end;
    end.offset -= std::llround(jump);
    c.set(clocks_[trace].begin, end);
    clocks_[trace] = c;
  }

  /// Those that cannot be right.
  const std::vector<ClockFault>& faults() const { return faults_; }

  /// Leaves out of measured() what was measured at the end.
  void distrust_end(const std::vector<std::size_t>& traces) {
    for (const std::size_t t : traces) clocks_[t].slope = 0;
  }

  /// Corrects the clock of some ranks, which is no other rank's from now on. `corrections`: by
  /// their time; if there are none, the clock stays as it was measured.
  void correct(const std::vector<std::size_t>& traces, ClockFault fault,
               const std::vector<Correction>& corrections) {
    for (const std::size_t t : traces) {
      clocks_[t].corrections = corrections;
      clocks_[t].id = -1 - static_cast<std::int32_t>(traces.front());
    }
    faults_.push_back(std::move(fault));
  }

 private:
  struct Clock {
    std::int32_t id = 0;
    std::int64_t at = 0;
    std::int64_t offset = 0;  ///< at `at`
    double slope = 0;
    double bound = 0;
    double growth = 0;  ///< of the bound with time
    double jump = 0;
    double over = 0;  ///< between what was measured at begin and end
    profile::ClockPoint begin{}, end{};
    std::vector<Correction> corrections;

    void set(const profile::ClockPoint& at_begin, const profile::ClockPoint& at_end) {
      begin = at_begin;
      end = at_end;
      const bool both = begin.measured != 0 && end.measured != 0;
      const profile::ClockPoint& one = begin.measured != 0 ? begin : end;
      at = one.at;
      offset = one.offset;
      bound = static_cast<double>(one.bound);
      growth = drift;
      if (!both) return;
      over = static_cast<double>(end.at) - static_cast<double>(begin.at);
      const double moved = static_cast<double>(end.offset) - static_cast<double>(begin.offset);
      const auto end_bound = static_cast<double>(end.bound);
      const double most = drift * over;  // that it may move
      if (over > 0 && std::fabs(moved) <= most + bound + end_bound) {
        // Each of the two bounds the other, since no clock drifts faster.
        const double low = std::max(-bound, moved - end_bound - most);
        const double high = std::min(bound, moved + end_bound + most);
        const double low_at_end = std::max(moved - end_bound, -bound - most);
        const double high_at_end = std::min(moved + end_bound, bound + most);
        offset += std::llround((low + high) / 2);
        slope = (low_at_end + high_at_end - low - high) / 2 / over;
        bound = std::max(high - low, high_at_end - low_at_end) / 2;
        growth = 0;
        return;
      }
      jump = moved;
      bound = std::max(bound + std::fabs(moved), end_bound);
    }

    /// Returns the correction that holds at a time.
    Correction corrected(std::uint64_t time) const {
      const auto t = static_cast<double>(time);
      const auto after = std::lower_bound(corrections.begin(), corrections.end(), t,
                                          [](const Correction& c, double x) { return c.at < x; });
      if (after == corrections.begin() || after == corrections.end() || after->at == t) {
        Correction c = after == corrections.end() ? corrections.back() : *after;
        c.bound += drift * std::fabs(t - c.at);
        return c;
      }
      const Correction& a = *(after - 1);
      const double part = (t - a.at) / (after->at - a.at);
      const double nearer = std::min(t - a.at, after->at - t);
      const double jumped =
          after->after_a_jump ? std::max(part, 1 - part) * std::fabs(after->value - a.value) : 0;
      return {t, a.value + part * (after->value - a.value),
              std::max(a.bound, after->bound) + 2 * drift * nearer + jumped, after->after_a_jump};
    }
  };
  std::vector<Clock> clocks_;
  std::vector<ClockFault> faults_;
};

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
