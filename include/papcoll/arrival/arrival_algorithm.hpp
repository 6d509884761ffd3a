#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/contract.hpp>
#include <papcoll/node/node_site.hpp>
#include <papcoll/waiting/waiter.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// An arrival-driven algorithm: what a schedule is under an arrival policy that makes it one. Each
/// specialisation stands below the schedule, in the algorithm's own header.
///
/// Required: `Schedule`, whose `contract` and `serves(collective)` it has; `Run`, one call of it:
/// default-constructible, `bool step(Site&, const Call&)` moves the call and says whether it is
/// done; `name`, as in the catalogue; `keeps_order_on_request`, whether Call::rank_order makes it
/// reproducible. Optional: `sentence`, where the schedule's says something else; `ByTicket`, what
/// it is over transports that have tickets for ranks without common memory.
template <class Arrival, class Schedule>
struct ArrivalDriven {};

/// Is the schedule an arrival-driven algorithm under the arrival policy?
template <class Arrival, class Schedule>
concept RunsUnder = requires {
  typename ArrivalDriven<Arrival, Schedule>::Run;
  { ArrivalDriven<Arrival, Schedule>::name } -> std::convertible_to<std::string_view>;
  { ArrivalDriven<Arrival, Schedule>::keeps_order_on_request } -> std::convertible_to<bool>;
};

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

template <class Driven>
constexpr std::string_view sentence_of() noexcept {
  if constexpr (requires { Driven::sentence; }) {
    return Driven::sentence;
  } else {
    return Driven::Schedule::sentence;
  }
}

template <class Run>
void run_arrival(NodeSite& site, Waiter& waiter, const Call& call) {
  Run run;
  waiter.until([&] { return run.step(site, call); });
}

template <class Driven>
constexpr ArrivalAlgorithm arrival_algorithm_of() noexcept {
  using Schedule = typename Driven::Schedule;
  return {Driven::name,       algorithm_id(Driven::name),        sentence_of<Driven>(),
          Schedule::contract, Driven::keeps_order_on_request,    most_ranks_of<Schedule>(),
          &Schedule::serves,  &run_arrival<typename Driven::Run>};
}

}  // namespace detail

/// The algorithm that a schedule is under an arrival policy. Naming one compiles it.
template <class Arrival, class Schedule>
requires RunsUnder<Arrival, Schedule>
inline constexpr ArrivalAlgorithm arrival_algorithm =
    detail::arrival_algorithm_of<ArrivalDriven<Arrival, Schedule>>();

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
