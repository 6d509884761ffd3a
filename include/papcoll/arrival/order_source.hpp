// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/policies.hpp>
#include <papcoll/arrival/predictor.hpp>
#include <papcoll/topology/mapping/map_positions.hpp>

#include <concepts>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {

class Predictions;

/// Where a static schedule's order of positions comes from: the ranks' numbers, the machine
/// (OnTopology), or arrivals that a predictor expects (PredictedOrder).
class OrderSource {
 public:
  /// Rank order.
  OrderSource() = default;
  /// Predicted, by a predictor or AnyPredictor, if that has one.
  template <class P>
  requires std::convertible_to<P, AnyPredictor> &&(!std::same_as<P, OrderSource>)
      OrderSource(P predictor)  // NOLINT(google-explicit-constructor): it is one
      : predictor_(std::move(predictor)) {}
  /// As `map` lays positions along the machine.
  static OrderSource machine(MapPositions& map = map_positions) {
    OrderSource s;
    s.along_ = AlongMachine::by(map);
    return s;
  }
  /// Returns the order source of an arrival policy.
  template <class Arrival> static OrderSource of() {
    if constexpr (std::same_as<Arrival, OnTopology>) {
      return machine();
    } else if constexpr (requires { Arrival::predictor(); }) {
      return Arrival::predictor();
    } else {
      return {};
    }
  }

  /// Returns true if it gives an order other than rank order.
  explicit operator bool() const noexcept { return map() != nullptr || predictor_; }
  /// Null if it is not that of the machine.
  MapPositions* map() const noexcept { return along_.map; }
  const AlongMachine& along() const noexcept { return along_; }
  /// Empty if nothing is predicted.
  const AnyPredictor& predictor() const noexcept { return predictor_; }

  /// The arrival policy, as in names of algorithms; empty for rank order.
  std::string name() const {
    if (map() != nullptr) return std::string(OnTopology::name);
    return predictor_ ? predicted_order_name(predictor_) : std::string{};
  }

  friend bool operator==(const OrderSource&, const OrderSource&) = default;

 private:
  AnyPredictor predictor_;
  AlongMachine along_;
};

/// What the order of a call's positions follows, if not the ranks.
struct PlayedOrder {
  const Predictions* predictions = nullptr;
  AlongMachine along{};
};

}  // namespace papcoll::inline PAPCOLL_ABI
