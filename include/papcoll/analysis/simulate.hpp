#pragma once

#include <papcoll/analysis/simulated.hpp>
#include <papcoll/error.hpp>
#include <papcoll/model/log_gops.hpp>
#include <papcoll/plan/make_plan.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Times a schedule, which must serve the collective, for one call: `shape.rank` is not used.
inline Simulated simulate(const AnySchedule& schedule, const Shape& shape, const Order& order,
                          const LogGops& model, const SimulateOptions& options = {}) {
  static_cast<void>(schedule), static_cast<void>(shape), static_cast<void>(order);
  static_cast<void>(model), static_cast<void>(options);
  throw error("papcoll: simulate() is not written yet");
}

}  // namespace papcoll::inline PAPCOLL_ABI
