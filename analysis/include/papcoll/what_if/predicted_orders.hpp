// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/background_allgather.hpp>
#include <papcoll/arrival/predictions.hpp>
#include <papcoll/arrival/predictor.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/schedule/order.hpp>
#include <papcoll/schedule/vector_layout.hpp>
#include <papcoll/topology/options.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace what_if {

/// The orders of PredictedOrder in the calls of a program, from earlier calls alone: as ranks learn
/// them by Predictions, who exchange what they expect every period-th call and act on it a period
/// later.
class PredictedOrders {
 public:
  /// Constructs the orders of so many ranks on one clock.
  PredictedOrders(const AnyPredictor& predictor, std::size_t ranks,
                  std::uint32_t period = Options{}.agreement_period)
      : turns_(ExchangePeriods::period_of(static_cast<int>(ranks), period)), expected_(ranks) {
    for (std::size_t r = 0; r < ranks; ++r) histories_.push_back(predictor.new_history());
  }

  /// Returns the order of the next call. It depends on the arrivals passed to observe().
  Order order(const Shape& shape) const { return forecast_.order(shape); }
  /// When ranks are expected in it.
  const ArrivalForecast& forecast() const noexcept { return forecast_; }

  /// The next call has happened: seconds, by rank.
  void observe(std::span<const double> arrivals) {
    for (std::size_t r = 0; r < histories_.size(); ++r) histories_[r]->observe(arrivals[r]);
    if (!turns_.count()) return;
    if (exchanging_) forecast_ = ArrivalForecast{expected_};
    exchanging_ = true;
    for (std::size_t r = 0; r < histories_.size(); ++r) {
      expected_[r] = std::llround(histories_[r]->predict() * 1e9);
    }
  }

 private:
  ExchangePeriods turns_;
  std::vector<detail::Owned<ArrivalHistory>> histories_;
  std::vector<std::int64_t> expected_;  ///< nanoseconds: what is being exchanged
  bool exchanging_ = false;
  ArrivalForecast forecast_;
};

}  // namespace what_if
}  // namespace papcoll::inline PAPCOLL_ABI
