#pragma once

#include <papcoll/arrival/policies.hpp>
#include <papcoll/arrival/predictor.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/base/text.hpp>

#include <string>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// Positions follow when the ranks are expected, from when they arrived in earlier calls. For any
/// static schedule: in reductions the latest are nearest to position 0, where the result comes
/// together; in the others, where data come from there, the earliest are.
///
/// Every rank watches its own arrivals in the blocking calls under this policy with this predictor,
/// and every 16th such call (less often with more than 32 ranks) the ranks begin to exchange what
/// they predict, 8 bytes each. The order that follows is in force as many calls later, on all ranks
/// from the same call on. Until the first one is, and for operators that do not commute and under
/// Reproducible, the order is that of the ranks. Non-blocking calls run in the order in force, and
/// are not watched.
///
/// Cost: a counter and a reading of the clock a call, two readings if the team is on several nodes.
/// What is watched there is less exact: see Predictions.
///
/// Source: Proficz, "Improving all-reduce collective operations for imbalanced process arrival
/// patterns", J. Supercomputing 74(7), 2018.
template <Predictor P = MovingAverage>
struct PredictedOrder {
  using policy_kind = ArrivalPolicyKind;
  static constexpr std::string_view name = "PredictedOrder";
  static constexpr unsigned offers = capability::positions | capability::forecast;
  static AnyPredictor predictor() noexcept { return AnyPredictor::of<P>(); }
};
static_assert(ArrivalPolicy<PredictedOrder<>>);

/// "PredictedOrder", with the predictor unless it is the default: "PredictedOrder:Exponential:0.5".
[[gnu::cold]] inline std::string predicted_order_name(const AnyPredictor& predictor) {
  const std::string name{PredictedOrder<>::name};
  return predictor == PredictedOrder<>::predictor() ? name
                                                    : detail::joined({name, ":", predictor.name()});
}

}  // namespace papcoll::inline PAPCOLL_ABI
