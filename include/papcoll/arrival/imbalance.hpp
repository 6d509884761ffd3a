// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace papcoll::inline PAPCOLL_ABI::pattern {

// Arrival times are seconds on one clock (any origin), one a rank. The measures are those of
// Alizadeh, "Efficient Process Arrival Pattern Aware Collective Communication", 2021, ch. 2.3.

/// Worst-case imbalance time Ω: latest minus earliest arrival, in seconds; 0 for no ranks.
constexpr double worst_case_imbalance(std::span<const double> arrivals) noexcept {
  if (arrivals.empty()) return 0;
  double earliest = arrivals[0];
  double latest = arrivals[0];
  for (const double a : arrivals) {
    earliest = a < earliest ? a : earliest;
    latest = a > latest ? a : latest;
  }
  return latest - earliest;
}

/// Average-case imbalance time Δ̄: mean distance from the mean arrival, in seconds; 0 for no ranks.
constexpr double average_case_imbalance(std::span<const double> arrivals) noexcept {
  if (arrivals.empty()) return 0;
  const auto ranks = static_cast<double>(arrivals.size());
  const double origin = arrivals[0];  // clock readings are large, their differences small
  double offsets = 0;
  for (const double a : arrivals) offsets += a - origin;
  const double mean = offsets / ranks;
  double distances = 0;
  for (const double a : arrivals) {
    const double distance = a - origin - mean;
    distances += distance < 0 ? -distance : distance;
  }
  return distances / ranks;
}

}  // namespace papcoll::inline PAPCOLL_ABI::pattern

namespace papcoll::inline PAPCOLL_ABI {

/// How unevenly ranks arrive in calls of some size: what all of them have agreed on from recent
/// calls. Times in nanoseconds.
struct Imbalance {
  std::uint64_t worst = 0;    ///< Ω: from the first arrival to the last
  std::uint64_t average = 0;  ///< Δ̄: mean distance from the mean arrival
  /// How long a rank waits for the last one, in the mean over the ranks: the time in which
  /// something can be done before all are there. Small where one rank is early, although Ω is
  /// large.
  std::uint64_t waiting = 0;
  /// How long the call itself took, from the last arrival on; 0 where only arrivals are watched.
  std::uint64_t own = 0;
  /// The time that the call takes for each of its bytes, in picoseconds.
  std::uint64_t own_ps_a_byte = 0;
  /// Across nodes: by how much the last node was later than the others in the mean, and its number,
  /// if it was the same one in all of the calls, and alone; else −1.
  std::uint64_t lead = 0;
  int late_node = -1;
  bool in_arena = false;   ///< all buffers were in memory that the whole node sees
  std::uint32_t seen = 0;  ///< calls that this was learnt from, so far

  friend bool operator==(const Imbalance&, const Imbalance&) = default;
};

namespace detail {

/// The imbalance of one call: `at(r)` is when rank r arrived, in nanoseconds from any origin that
/// is the same on all ranks, for otherwise they would round differently.
Imbalance imbalance_of(int ranks, auto&& at) noexcept {
  std::int64_t first = at(0);
  std::int64_t last = first;
  std::int64_t total = 0;
  for (int r = 0; r < ranks; ++r) {
    first = std::min(first, at(r));
    last = std::max(last, at(r));
    total += at(r);
  }
  const std::int64_t mean = total / ranks;
  std::int64_t distances = 0;
  for (int r = 0; r < ranks; ++r) distances += at(r) < mean ? mean - at(r) : at(r) - mean;
  Imbalance i;
  i.worst = static_cast<std::uint64_t>(last - first);
  i.average = static_cast<std::uint64_t>(distances / ranks);
  i.waiting = static_cast<std::uint64_t>(std::max<std::int64_t>(last - mean, 0));
  return i;
}

/// Which node arrived last, and how long after the mean of the others: nodes come with their last
/// ranks. None, if there is one node only, or if the one before it was nearer to it than to them.
/// `at` as in imbalance_of(); `node_of` each rank, from 0 on; `nodes`: memory for a number each.
void find_late_node(Imbalance& call, std::span<const int> node_of, std::span<std::int64_t> nodes,
                    auto&& at) noexcept {
  const auto others = static_cast<std::int64_t>(nodes.size()) - 1;
  if (others < 1) return;
  std::fill(nodes.begin(), nodes.end(), std::numeric_limits<std::int64_t>::min());
  for (std::size_t r = 0; r < node_of.size(); ++r) {
    std::int64_t& node = nodes[static_cast<std::size_t>(node_of[r])];
    node = std::max(node, at(static_cast<int>(r)));
  }
  const auto last = std::max_element(nodes.begin(), nodes.end());
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t total = 0;
  for (auto n = nodes.begin(); n != nodes.end(); ++n) {
    if (n == last) continue;
    least = std::min(least, *last - *n);
    total += *last - *n;
  }
  call.lead = static_cast<std::uint64_t>(total / others);
  if (least >= total / others / 2) call.late_node = static_cast<int>(last - nodes.begin());
}

/// The last calls of a kind, and what is agreed on. The median of three is not moved by one call in
/// which the system took a processor away, and follows a change after two.
class RecentCalls {
 public:
  void add(const Imbalance& call) noexcept {
    last_[seen_++ % kept] = call;
    changed_ = true;
  }

  /// Returns whether any of what calls go by is another.
  bool update() noexcept {
    if (!changed_) return false;
    changed_ = false;
    const Imbalance before = agreed_;
    for (const auto figure :
         {&Imbalance::worst, &Imbalance::average, &Imbalance::waiting, &Imbalance::lead}) {
      if (std::max(agreed_.*figure, median(figure)) > nothing) {
        follow(agreed_.*figure, median(figure));
      }
    }
    for (const auto figure : {&Imbalance::own, &Imbalance::own_ps_a_byte}) {
      follow(agreed_.*figure, median(figure));
    }
    agreed_.in_arena =
        std::all_of(last_.begin(), last_.end(), [](const Imbalance& i) { return i.in_arena; });
    const bool same = std::all_of(last_.begin(), last_.end(), [this](const Imbalance& i) {
      return i.late_node == last_[0].late_node;
    });
    agreed_.late_node = same ? last_[0].late_node : -1;
    agreed_.seen = seen_;
    return !goes_by_the_same(before);
  }

  const Imbalance& agreed() const noexcept { return agreed_; }

 private:
  static constexpr std::size_t kept = 3;
  /// Ranks that are so near each other, in nanoseconds, come together: a signal takes as long.
  static constexpr std::uint64_t nothing = 128;

  /// Compares all but what is only reported.
  bool goes_by_the_same(const Imbalance& before) const noexcept {
    return agreed_.waiting == before.waiting && agreed_.own == before.own &&
           agreed_.own_ps_a_byte == before.own_ps_a_byte && agreed_.lead == before.lead &&
           agreed_.late_node == before.late_node && agreed_.in_arena == before.in_arena;
  }

  std::uint64_t median(std::uint64_t Imbalance::*figure) const noexcept {
    const std::uint64_t a = last_[0].*figure;
    const std::uint64_t b = last_[1].*figure;
    const std::uint64_t c = last_[2].*figure;
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
  }

  /// Hysteresis: the agreed figure stays as long as the newest is at most half as large again, and
  /// it is not itself half as large again as the newest.
  static void follow(std::uint64_t& figure, std::uint64_t newest) noexcept {
    if (newest > figure + figure / 2 || figure > newest + newest / 2) figure = newest;
  }

  std::array<Imbalance, kept> last_{};
  std::uint32_t seen_ = 0;
  bool changed_ = false;
  Imbalance agreed_;
};

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
