#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/contract.hpp>
#include <papcoll/node/node_site.hpp>
#include <papcoll/waiting/waiter.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// An arrival-driven algorithm without its type: an arrival policy with its schedule.
struct ArrivalAlgorithm {
  std::string_view name;  ///< as in the catalogue: "DynamicLeader", "Exchange"
  std::uint8_t id;        ///< algorithm_id(name)
  std::string_view sentence;
  NumericalContract contract;   ///< the strongest it keeps by itself
  bool keeps_order_on_request;  ///< Call::rank_order makes it reproducible
  int most_ranks;               ///< of a team that it serves
  bool (*serves)(Collective) noexcept;
  void (*run)(NodeSite&, Waiter&, const Call&);

  /// Why it cannot serve a team of so many ranks, or nothing if it can.
  std::string refusal_of(int ranks) const {
    if (ranks <= most_ranks) return {};
    return std::string(name) + " serves at most " + std::to_string(most_ranks) +
           " ranks that share memory, and here are " + std::to_string(ranks) +
           ": take DynamicLeader";
  }
};

namespace detail {

/// How many ranks an arrival-driven schedule serves: as many as it says, or any number.
template <class Schedule>
constexpr int most_ranks_of() noexcept {
  if constexpr (requires { Schedule::most_ranks; }) {
    return Schedule::most_ranks;
  } else {
    return std::numeric_limits<int>::max();
  }
}

template <class Run>
void run_arrival(NodeSite& site, Waiter& waiter, const Call& call) {
  Run run;
  waiter.until([&] { return run.step(site, call); });
}

}  // namespace detail

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
