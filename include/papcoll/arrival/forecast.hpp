#pragma once

#include <papcoll/arrival/imbalance_factors.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/vector_layout.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// When each rank is expected in the calls to come. All ranks make the same one of the same
/// figures, by whole numbers alone, so they agree in everything that follows from it.
class ArrivalForecast {
 public:
  /// What a rank says that cannot tell when it will arrive.
  static constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::min();

  /// Arrivals that differ by less, in nanoseconds, count as the same, and leave the ranks in the
  /// order they were in: a message takes about as long.
  static constexpr std::int64_t resolution = 1000;

  /// Nothing is known.
  ArrivalForecast() = default;

  /// `arrivals`: of each rank, in nanoseconds after anything that is common to all. Nothing is
  /// known if that of any rank is `unknown`. Ranks that are expected at the same time stay in the
  /// order of `ranks`, such as that of the machine, or in rank order if that is empty.
  [[gnu::cold]] explicit ArrivalForecast(std::span<const std::int64_t> arrivals,
                                         std::span<const int> ranks = {}) {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t a : arrivals) first = std::min(first, a);
    if (first == unknown) return;
    lateness_.resize(arrivals.size());
    for (std::size_t r = 0; r < arrivals.size(); ++r) {
      lateness_[r] = static_cast<std::uint64_t>(arrivals[r] - first);
    }
    // Insertion: now and then, of few, and a fraction of what std::sort takes to compile.
    early_first_.resize(arrivals.size());
    for (std::size_t n = 0; n < early_first_.size(); ++n) {
      const int rank = ranks.empty() ? static_cast<int>(n) : ranks[n];
      std::size_t at = n;
      for (; at > 0 && ticks(rank) < ticks(early_first_[at - 1]); --at) {
        early_first_[at] = early_first_[at - 1];
      }
      early_first_[at] = rank;
    }
    inward_ = order_of({early_first_.rbegin(), early_first_.rend()});
    outward_ = order_of(early_first_);
  }

  bool is_known() const noexcept { return !lateness_.empty(); }

  /// Nanoseconds by which each rank is expected after the first; empty if nothing is known.
  std::span<const std::uint64_t> lateness() const noexcept { return lateness_; }

  /// The ranks, the first to arrive first; empty if nothing is known.
  std::span<const int> ranks() const noexcept { return early_first_; }

  /// Expected worst-case imbalance Ω and average-case imbalance Δ̄, in seconds.
  double worst_case_imbalance() const { return pattern::worst_case_imbalance(seconds()); }
  double average_case_imbalance() const { return pattern::average_case_imbalance(seconds()); }

  /// The order in which a call is played. Data flow towards position 0 in a reduction, so the
  /// latest ranks are nearest to it; where they come from it, the earliest are. A root is position
  /// 0 in any case. Rank order if nothing is known, or if the operator does not commute.
  Order order(const Shape& shape) const {
    if (!is_known() || (is_reduction(shape.collective) && !shape.commutative)) {
      return static_order(shape);
    }
    const bool inward = traits_of(shape.collective).is(CollectiveTraits::inward);
    const Order& order = inward ? inward_ : outward_;
    return is_rooted(shape.collective) ? order.with_first(shape.root) : order;
  }

  /// Whose plans are of no use once this forecast is not in force any more.
  const Order& inward() const noexcept { return inward_; }
  const Order& outward() const noexcept { return outward_; }

  /// Would it lead to the same plans as o?
  bool is_like(const ArrivalForecast& o) const {
    if (early_first_ != o.early_first_) return false;
    for (std::size_t r = 0; r < lateness_.size(); ++r) {
      if (rounded(lateness_[r]) != rounded(o.lateness_[r])) return false;
    }
    return true;
  }

  /// Down to a number of at most two significant binary digits (1, 1.5, 2, 3, 4, 6…): so plans last
  /// although predictions jitter.
  static constexpr std::uint64_t rounded(std::uint64_t ns) noexcept {
    if (ns < static_cast<std::uint64_t>(resolution)) return 0;
    const std::uint64_t half = std::bit_floor(ns) / 2;
    return ns / half * half;
  }

 private:
  std::uint64_t ticks(int rank) const noexcept {
    return lateness_[static_cast<std::size_t>(rank)] / static_cast<std::uint64_t>(resolution);
  }

  [[gnu::cold]] Order order_of(std::vector<int> ranks) const {
    std::vector<std::uint64_t> late;
    late.reserve(ranks.size());
    for (const int r : ranks) late.push_back(rounded(lateness_[static_cast<std::size_t>(r)]));
    return Order::permutation(std::move(ranks), std::move(late));
  }

  detail::Vector<double> seconds() const {
    detail::Vector<double> s;
    for (const std::uint64_t ns : lateness_) s.push_back(static_cast<double>(ns) * 1e-9);
    return s;
  }

  std::vector<std::uint64_t> lateness_;  ///< by rank
  std::vector<int> early_first_;
  Order inward_ = Order::identity(1);
  Order outward_ = Order::identity(1);
};

}  // namespace papcoll::inline PAPCOLL_ABI
