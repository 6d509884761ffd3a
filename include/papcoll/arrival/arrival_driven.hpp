// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/schedule/schedule.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>

// The properties of arrival-driven algorithms. How they run is in arrival_algorithm.hpp.

namespace papcoll::inline PAPCOLL_ABI {

struct ArrivalAlgorithm;

/// What a schedule is under an arrival policy, where that makes it an arrival-driven algorithm.
/// Each specialisation stands beside the schedule, those of the library in
/// algorithms/arrival/tags.hpp, and is the only place that defines this: policies, catalogue,
/// tools, tests and the explorer of interleavings read it.
///
/// Required: `Schedule`, whose `contract` and `serves(collective)` it has; `Run`, one call of it:
/// default-constructible, `bool step(CallContext&, const Call&)` moves the call and says whether it
/// is done; `name`, as in the catalogue; `keeps_order_on_request`, whether Call::rank_order makes
/// it reproducible. Optional: `sentence`, where the schedule's says something else; `ByTicket`,
/// what it is over transports that have tickets for ranks without common memory; `exposes_buffers`,
/// `exposes_results`, `takes_counts` and `combines_in_groups`, see ArrivalTraits. A specialisation
/// ends with
///
///     static_assert(papcoll::arrival_driven<Arrival, Schedule>);
///
/// which says what is missing. examples/09_write_your_own_arrival_algorithm is one from outside of
/// the library.
template <class Arrival, class Schedule> struct ArrivalDriven {};

/// True if the schedule is an arrival-driven algorithm under the arrival policy.
template <class Arrival, class Schedule> concept IsArrivalDriven = requires {
  typename ArrivalDriven<Arrival, Schedule>::Schedule;
  typename ArrivalDriven<Arrival, Schedule>::Run;
  { ArrivalDriven<Arrival, Schedule>::name } -> std::convertible_to<std::string_view>;
  { ArrivalDriven<Arrival, Schedule>::keeps_order_on_request } -> std::convertible_to<bool>;
};

/// The properties of an arrival-driven algorithm.
struct ArrivalTraits {
  std::string_view name;        ///< as in the catalogue: "DynamicLeader", "Exchange"
  std::uint8_t id;              ///< algorithm_id(name)
  std::string_view sentence;    ///< about it, for listings
  NumericalContract contract;   ///< the strongest it keeps by itself
  bool keeps_order_on_request;  ///< Call::rank_order makes it reproducible
  bool exposes_buffers;  ///< ranks read and write each other's buffers, or pools, where they are
  bool exposes_results;  ///< partial results lie in outputs: a call that fails may have written
                         ///< there
  bool takes_counts;     ///< it serves calls whose blocks differ in size, see Call::is_irregular()
  bool combines_in_groups;  ///< of ranks that share a cache first, so that bits depend on these
  int most_ranks;           ///< of a team that it serves
  bool (*serves)(Collective) noexcept;  ///< whether it serves the collective
};

namespace detail {

/// The most ranks that an arrival-driven schedule serves: as many as it has in most_ranks, or any
/// number.
template <class Schedule> constexpr int most_ranks_of() noexcept {
  if constexpr (requires { Schedule::most_ranks; }) {
    return Schedule::most_ranks;
  } else {
    return std::numeric_limits<int>::max();
  }
}

template <class Driven> constexpr std::string_view sentence_of() noexcept {
  if constexpr (requires { Driven::sentence; }) {
    return Driven::sentence;
  } else {
    return Driven::Schedule::sentence;
  }
}

template <class Driven> constexpr ArrivalTraits arrival_traits_of() noexcept {
  using Schedule = typename Driven::Schedule;
  constexpr bool buffers = requires { requires Driven::exposes_buffers; };
  constexpr bool results = requires { requires Driven::exposes_results; };
  constexpr bool counts = requires { requires Driven::takes_counts; };
  constexpr bool groups = requires { requires Driven::combines_in_groups; };
  return {.name = Driven::name,
          .id = algorithm_id(Driven::name),
          .sentence = sentence_of<Driven>(),
          .contract = Schedule::contract,
          .keeps_order_on_request = Driven::keeps_order_on_request,
          .exposes_buffers = buffers,
          .exposes_results = results,
          .takes_counts = counts,
          .combines_in_groups = groups,
          .most_ranks = most_ranks_of<Schedule>(),
          .serves = &Schedule::serves};
}

/// The algorithm without its type, for transports with this type of call context. In
/// arrival_algorithm.hpp, which authors of algorithms include.
template <class Arrival, class Schedule, class S>
const ArrivalAlgorithm& algorithm_under() noexcept;

/// For the library's algorithms, in namespace detail: see PAPCOLL_COMPILED_ONCE.
#define PAPCOLL_ARRIVAL_ALGORITHM_ELSEWHERE(Arrival, Schedule) \
  PAPCOLL_COMPILED_ONCE(                                       \
      const ArrivalAlgorithm& algorithm_under<Arrival, Schedule, NodeContext>() noexcept)

}  // namespace detail

/// The properties of the algorithm that a schedule is under an arrival policy. Naming it compiles
/// nothing of the algorithm.
template <class Arrival, class Schedule>
requires IsArrivalDriven<Arrival, Schedule>
inline constexpr ArrivalTraits arrival_traits =
    detail::arrival_traits_of<ArrivalDriven<Arrival, Schedule>>();

/// What an arrival-driven algorithm is among ranks that share no memory, where it can do without: a
/// static schedule whose positions ranks draw when they arrive. It is blocking.
struct TicketedAlgorithm {
  std::string_view name;  ///< that of the arrival-driven algorithm
  bool (*serves)(Collective) noexcept;
  AnySchedule (*plan)();       ///< what each rank runs once it knows its position
  NumericalContract contract;  ///< the strongest that it keeps
  bool commutative_only;
};

/// The ticketed algorithm of an ArrivalDriven<Arrival, Schedule> that has a ByTicket.
template <class Driven>
inline constexpr TicketedAlgorithm ticketed_algorithm{
    Driven::name, &Driven::ByTicket::serves, &Driven::ByTicket::plan, Driven::ByTicket::contract,
    Driven::ByTicket::commutative_only};

}  // namespace papcoll::inline PAPCOLL_ABI
