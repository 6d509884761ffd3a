#pragma once

#include <papcoll/algorithms/arrival/exchange.hpp>
#include <papcoll/algorithms/arrival/leader_fan.hpp>
#include <papcoll/algorithms/arrival/multi_leader.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/arrival/policies.hpp>

#include <array>

namespace papcoll::inline PAPCOLL_ABI {

/// The algorithm of the arrival floor that a schedule becomes under an arrival policy; null if the
/// schedule is one of the plan floor.
template <class Arrival, class Schedule>
inline constexpr const ArrivalAlgorithm* arrival_algorithm = nullptr;

namespace detail {

PAPCOLL_COMPILE_ONCE(void run_arrival<LeaderFan::Run<true>>(BoardSite&, Waiter&, const Call&))
PAPCOLL_COMPILE_ONCE(void run_arrival<LeaderFan::Run<false>>(BoardSite&, Waiter&, const Call&))
PAPCOLL_COMPILE_ONCE(void run_arrival<Exchange::Run>(BoardSite&, Waiter&, const Call&))
PAPCOLL_COMPILE_ONCE(void run_arrival<MultiLeader::Run>(BoardSite&, Waiter&, const Call&))

template <class Schedule, class Run>
constexpr ArrivalAlgorithm make_arrival_algorithm(std::string_view name, bool keeps_order) {
  return {name,        algorithm_id(name), Schedule::sentence, Schedule::contract,
          keeps_order, &Schedule::serves,  &run_arrival<Run>};
}

inline constexpr ArrivalAlgorithm dynamic_leader =
    make_arrival_algorithm<LeaderFan, LeaderFan::Run<true>>("DynamicLeader", true);
inline constexpr ArrivalAlgorithm static_leader =
    make_arrival_algorithm<LeaderFan, LeaderFan::Run<false>>("StaticLeader", true);
inline constexpr ArrivalAlgorithm exchange =
    make_arrival_algorithm<Exchange, Exchange::Run>("Exchange", true);
inline constexpr ArrivalAlgorithm multi_leader =
    make_arrival_algorithm<MultiLeader, MultiLeader::Run>("MultiLeader", true);

}  // namespace detail

template <>
inline constexpr const ArrivalAlgorithm* arrival_algorithm<DynamicLeader, LeaderFan> =
    &detail::dynamic_leader;
template <>
inline constexpr const ArrivalAlgorithm* arrival_algorithm<StaticLeader, LeaderFan> =
    &detail::static_leader;
template <>
inline constexpr const ArrivalAlgorithm* arrival_algorithm<StaticOrder, Exchange> =
    &detail::exchange;
template <>
inline constexpr const ArrivalAlgorithm* arrival_algorithm<StaticOrder, MultiLeader> =
    &detail::multi_leader;

/// All of them, for names and listings.
inline constexpr std::array<const ArrivalAlgorithm*, 4> arrival_algorithms{
    &detail::dynamic_leader, &detail::static_leader, &detail::exchange, &detail::multi_leader};

}  // namespace papcoll::inline PAPCOLL_ABI
