#pragma once

#include <papcoll/arrival/background_allgather.hpp>
#include <papcoll/arrival/forecast.hpp>
#include <papcoll/arrival/predictor.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/schedule/endpoint.hpp>
#include <papcoll/schedule/plan_cache.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

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

  Predictions(AnyPredictor predictor, int rank, int size, bool common_clock, std::uint32_t period)
      : predictor_(std::move(predictor)),
        history_(predictor_.new_history()),
        common_clock_(common_clock),
        turns_(period),
        agreement_(rank, size, 1) {}

  const AnyPredictor& predictor() const noexcept { return predictor_; }
  const ArrivalForecast& forecast() const noexcept { return forecast_; }
  BackgroundAllgather& agreement() noexcept { return agreement_; }

  /// How often a forecast came into force, on all ranks alike.
  std::uint32_t generation() const noexcept { return generation_; }

  /// This rank arrived in a call. All ranks say so of the same calls.
  void arrived(Clock::time_point at) {
    if (common_clock_) observe(at.time_since_epoch());
  }

  /// And left it.
  void left(Collective collective, Clock::time_point arrival) {
    const bool all_have_come = traits_of(collective).is(CollectiveTraits::synchronizes);
    if (!common_clock_ && all_have_come) observe(arrival - Clock::now());
  }

  /// Counts a call. True: if an agreement is under way, it is to be completed and adopted; then the
  /// next one is to begin.
  bool count_call() noexcept { return turns_.count(); }

  /// As BackgroundAllgather::start().
  void begin(Endpoint& endpoint, bool rings, const AnySchedule& exchange, PlanCache& plans,
             std::uint32_t sequence) {
    const std::int64_t mine = prediction();
    agreement_.start(endpoint, rings, exchange, plans, {&mine, 1}, sequence);
  }

  /// From here on the figures just exchanged are in force.
  /// Ranks that are expected at the same time stay in this order, or in rank order if it is empty.
  [[gnu::cold]] void adopt(PlanCache& plans, std::span<const int> ranks = {}) {
    ArrivalForecast next{agreement_.take(), ranks};
    ++generation_;
    if (next.is_like(forecast_)) return;
    plans.forget(forecast_.inward());
    plans.forget(forecast_.outward());
    forecast_ = std::move(next);
  }

  /// What is in force, in a sentence.
  std::string describe() const {
    if (!forecast_.is_known()) {
      return detail::joined(
          {"rank order, since no arrivals have been agreed on: ", predictor_.name(), " has ",
           (observed_ ? "seen" : "no history; it has seen"), " ", turns_.calls(),
           " calls, and agreements take effect every ", turns_.period()});
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
  bool common_clock_;
  ExchangePeriods turns_;
  BackgroundAllgather agreement_;
  ArrivalForecast forecast_;
  std::uint32_t generation_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI
