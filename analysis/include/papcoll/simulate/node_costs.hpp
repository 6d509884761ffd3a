// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/floating_order.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// Seconds by the bytes of one piece of work: a straight line between two measured points, and the
/// slope of the last two beyond them.
class CostBySize {
 public:
  /// What was measured.
  struct Point {
    double bytes = 0;    ///< of the work
    double seconds = 0;  ///< that it took
    friend bool operator==(const Point&, const Point&) = default;
  };

  CostBySize() = default;
  /// Points in the order of their bytes.
  CostBySize(std::vector<Point> points)  // NOLINT(google-explicit-constructor): it is such a list
      : points_(std::move(points)) {}

  /// Returns what was measured, in the order of the bytes.
  const std::vector<Point>& points() const noexcept { return points_; }

  /// Never less than 0.
  double operator()(double bytes) const noexcept {
    if (points_.empty() || bytes <= 0) return 0;
    if (points_.size() == 1) return points_[0].seconds * bytes / points_[0].bytes;
    // Below the first point nothing gets cheaper: a line, or an instruction, is the least there is.
    if (bytes <= points_[0].bytes) return points_[0].seconds;
    std::size_t i = 1;
    while (i + 1 < points_.size() && points_[i].bytes < bytes) ++i;
    const Point& a = points_[i - 1];
    const Point& b = points_[i];
    return std::max(0.0,
                    a.seconds + (bytes - a.bytes) / (b.bytes - a.bytes) * (b.seconds - a.seconds));
  }

  friend bool operator==(const CostBySize&, const CostBySize&) = default;

 private:
  std::vector<Point> points_;
};

/// What passes between two processors of a node costs, in seconds.
struct PairCosts {
  bool known = false;  ///< false until it is measured
  /// A flag: from before one stores it, a locked instruction, to when the other, who does nothing
  /// but look at it, has seen it. Half of a round trip.
  double signal = 0;
  double fetch = 0;  ///< to read a cache line that the other has written
  double take = 0;   ///< a locked instruction on a cache line that the other has touched
  // Copies, until they are there. What they take depends on who has touched the lines before.
  CostBySize read;    ///< from what the other has written
  CostBySize reread;  ///< from what this one has written, and the other has read
  CostBySize write;   ///< to what both hold: the other has read it last
  /// To what only this one of the two has written, and its nearest cache still holds.
  CostBySize write_lent;
  CostBySize write_over;   ///< to what the other has written
  CostBySize write_after;  ///< the same, if this one has read it since
  friend bool operator==(const PairCosts&, const PairCosts&) = default;
};

/// What the work of a node's ranks costs, each on a processor of its own, in seconds and bytes.
/// `papcoll-bench --measure node-costs` and measure_node_costs() measure it.
struct NodeCosts {
  PairCosts same_l3;   ///< between processors that share a last-level cache
  PairCosts cross_l3;  ///< between those that do not
  double clock = 0;    ///< two readings of the clock, which are part of what is measured
  double call = 0;     ///< a rank's entering and leaving a call, whatever runs in it
  /// What the code of an algorithm takes a rank in a call, beside the work that is listed here; by
  /// its name.
  std::map<std::string, double, std::less<>> code{};
  double poll = 0;               ///< from one look at flags to the next
  double hit = 1e-9;             ///< to look at a cache line that is here
  double locked = 0;             ///< a locked instruction on a cache line that is only here
  double wake = 50e-6;           ///< to wake up who sleeps; it does after waiting for sleeps_after
  double sleeps_after = 0.1;     ///< seconds
  CostBySize copy;               ///< within a processor's own cache
  CostBySize copy_shared_cache;  ///< from and to what only the last-level cache holds
  CostBySize combine;            ///< two operands within its own cache: doubles, sum
  double memory_per_byte = 0;    ///< a copy of what is in no cache
  std::size_t nearest_cache = std::size_t{32} << 10U;  ///< bytes of its part that is nearest
  std::size_t own_cache = std::size_t{1} << 20U;       ///< bytes of a processor's own cache
  std::size_t shared_cache = std::size_t{32} << 20U;   ///< bytes of the last-level cache
  /// Part by which a tail in virtual time may be wrong: what benchmarks/virtual_tails.py found at
  /// worst with such costs.
  double error = 0.25;

  /// Of one of its calls, besides its work. An algorithm that has not been measured takes as long
  /// as the mean of those that have.
  double call_of(std::string_view algorithm) const {
    if (code.empty()) return call;
    const auto found = code.find(algorithm);
    if (found != code.end()) return call + found->second;
    double all = 0;
    for (const auto& [name, seconds] : code) all += seconds;
    return call + all / static_cast<double>(code.size());
  }

  /// Those between two ranks. Where only one kind is known, it stands for the other.
  const PairCosts& between(bool share_l3) const noexcept {
    return (share_l3 || !cross_l3.known) && same_l3.known ? same_l3 : cross_l3;
  }

  /// Throws argument_error for what no measurement gives.
  void require_sense() const {
    const auto refuse = [](const std::string& what) {
      throw argument_error("papcoll: costs of a node: " + what);
    };
    if (!same_l3.known && !cross_l3.known) {
      refuse(
          "neither near nor apart is known: measure them by papcoll-bench "
          "--measure node-costs");
    }
    const auto is_time = [](const double& s) { return detail::is_finite(s) && s >= 0; };
    for (const double s : {clock, call, poll, hit, locked, wake, sleeps_after, memory_per_byte,
                           error, same_l3.signal, same_l3.fetch, same_l3.take, cross_l3.signal,
                           cross_l3.fetch, cross_l3.take}) {
      if (!is_time(s)) refuse("a time is negative, or no finite number");
    }
    for (const auto& [name, seconds] : code) {
      if (!is_time(seconds)) refuse("the code of " + name + " takes no finite time");
    }
    if (poll <= 0) refuse("poll is 0: to look at a flag takes time");
    std::vector<const CostBySize*> tables{&copy, &copy_shared_cache, &combine};
    for (const PairCosts* pair : {&same_l3, &cross_l3}) {
      for (const CostBySize* t : {&pair->read, &pair->reread, &pair->write, &pair->write_lent,
                                  &pair->write_over, &pair->write_after}) {
        tables.push_back(t);
      }
    }
    for (const CostBySize* table : tables) {
      double before = 0;
      for (const CostBySize::Point& p : table->points()) {
        if (!is_time(p.seconds)) refuse("a time is negative, or no finite number");
        if (!(p.bytes > before)) refuse("the sizes of a table do not grow");
        before = p.bytes;
      }
    }
    if (nearest_cache == 0 || own_cache < nearest_cache || shared_cache < own_cache) {
      refuse("nearest_cache, own_cache and shared_cache do not grow from at least 1 byte");
    }
  }

  friend bool operator==(const NodeCosts&, const NodeCosts&) = default;
};

}  // namespace papcoll::inline PAPCOLL_ABI
