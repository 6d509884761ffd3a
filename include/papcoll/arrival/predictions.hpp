// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/background_allgather.hpp>
#include <papcoll/arrival/imbalance.hpp>
#include <papcoll/arrival/predictor.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/schedule/vector_layout.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// When each rank is expected in the calls to come. All ranks make the same one of the same
/// figures, by whole numbers alone, so they agree in everything that follows from it.
class ArrivalForecast {
 public:
  /// Sent by a rank that cannot predict when it will arrive.
  static constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::min();

  /// Arrivals that differ by less, in nanoseconds, count as the same, and leave the ranks in the
  /// order they were in: a message takes about as long.
  static constexpr std::int64_t resolution = 1000;

  /// Constructs a forecast that knows nothing.
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

  /// The order whose plans are not used again once this forecast is no longer in force.
  const Order& inward() const noexcept { return inward_; }
  const Order& outward() const noexcept { return outward_; }

  /// Returns true if it leads to the same plans as o.
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

/// One rank's part in predicting the arrivals of a team by one predictor: what it saw of itself,
/// the exchange of what that predicts, and the forecast in force.
///
/// What a rank observes of itself must be comparable with what others do:
///
/// - On one node all ranks read the same clock. A rank observes when it arrived, in every
///   collective, at the cost of one reading of the clock. The predictor sees large numbers that
///   grow from call to call; their differences between ranks are exact.
/// - Across nodes there is no common clock. In a collective that nobody leaves before all have
///   come, all leave at about the same time, so a rank observes how long before its own exit it
///   arrived: two readings. It is wrong by as much as exits differ, about the time of one such
///   call, so nodes' ranks that differ by less are in no particular order. Rooted collectives, and
///   reduce_scatter, show nothing there.
class Predictions {
 public:
  using Clock = std::chrono::steady_clock;

  Predictions(AnyPredictor predictor, int rank, int size, bool has_common_clock,
              std::uint32_t period)
      : predictor_(std::move(predictor)),
        history_(predictor_.new_history()),
        has_common_clock_(has_common_clock),
        turns_(period),
        allgather_(rank, size, 1) {}

  const AnyPredictor& predictor() const noexcept { return predictor_; }
  const ArrivalForecast& forecast() const noexcept { return forecast_; }
  BackgroundAllgather& allgather() noexcept { return allgather_; }

  /// Returns how often a forecast came into force, on all ranks alike.
  std::uint32_t generation() const noexcept { return generation_; }

  /// Records that this rank arrived in a call. All ranks record the same calls.
  void arrived(Clock::time_point at) {
    if (has_common_clock_) observe(at.time_since_epoch());
  }

  /// Records that this rank left the call.
  void left(Collective collective, Clock::time_point arrival) {
    const bool all_have_come = traits_of(collective).is(CollectiveTraits::synchronizes);
    if (!has_common_clock_ && all_have_come) observe(arrival - Clock::now());
  }

  /// Counts a call. True: if an exchange is under way, it is to be completed and adopted; then the
  /// next one is to begin.
  bool count_call() noexcept { return turns_.count(); }

  /// As BackgroundAllgather::start().
  void begin(Endpoint& endpoint, bool wakes_receivers, const AnySchedule& exchange,
             PlanCache& plans, std::uint32_t sequence) {
    const std::int64_t mine = prediction();
    allgather_.start(endpoint, wakes_receivers, exchange, plans, {&mine, 1}, sequence);
  }

  /// From here on the figures just exchanged are in force. `ranks`: as of ArrivalForecast.
  [[gnu::cold]] void adopt(PlanCache& plans, std::span<const int> ranks = {}) {
    ArrivalForecast next{allgather_.take(), ranks};
    ++generation_;
    if (next.is_like(forecast_)) return;
    plans.forget(forecast_.inward());
    plans.forget(forecast_.outward());
    forecast_ = std::move(next);
  }

  /// Returns a sentence on what is in force.
  std::string describe() const {
    if (!forecast_.is_known()) {
      return detail::joined(
          {"rank order, since no arrivals have been agreed on: ", predictor_.name(), " has ",
           (observed_ ? "seen" : "no history; it has seen"), " ", turns_.calls(),
           " calls, and exchanges take effect every ", turns_.period()});
    }
    std::string text = detail::joined({"by ", predictor_.name(), ", the first to arrive first:"});
    for (const int r : forecast_.ranks()) text.append(" ").append(std::to_string(r));
    return text;
  }

 private:
  void observe(Clock::duration at) {
    history_->observe(std::chrono::duration<double>(at).count());
    observed_ = true;
  }

  std::int64_t prediction() const {
    if (!observed_) return ArrivalForecast::unknown;
    const double ns = history_->predict() * 1e9;
    constexpr double most = 4e18;  // half of what fits, so that differences fit, too
    return ns > -most && ns < most ? static_cast<std::int64_t>(ns) : ArrivalForecast::unknown;
  }

  AnyPredictor predictor_;
  detail::Owned<ArrivalHistory> history_;
  bool observed_ = false;
  bool has_common_clock_;
  ExchangePeriods turns_;
  BackgroundAllgather allgather_;
  ArrivalForecast forecast_;
  std::uint32_t generation_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI
