#pragma once

#include <papcoll/algorithms/arrival/arrival_chain.hpp>
#include <papcoll/algorithms/arrival/combining_tree.hpp>
#include <papcoll/algorithms/arrival/exchange.hpp>
#include <papcoll/algorithms/arrival/leader_fan.hpp>
#include <papcoll/algorithms/arrival/multi_leader.hpp>
#include <papcoll/algorithms/arrival/peer_slices.hpp>
#include <papcoll/algorithms/arrival/split_tail.hpp>
#include <papcoll/algorithms/static/ticket_chain.hpp>
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/arrival/policies.hpp>

#include <array>
#include <type_traits>

namespace papcoll {
inline namespace PAPCOLL_ABI {

/// The arrival-driven algorithm that a schedule becomes under an arrival policy; null if the
/// schedule is a static schedule.
template <class Arrival, class Schedule>
inline constexpr const ArrivalAlgorithm* arrival_algorithm = nullptr;

/// What a schedule is under an arrival policy, over a transport, that makes something else of it.
template <class Arrival, class Schedule, class Transport>
struct ScheduleUnder : std::type_identity<Schedule> {};
template <class Transport>
struct ScheduleUnder<ArrivalOrder, Chain, Transport>
    : std::conditional<PolicyOfKind<Transport, TransportPolicyKind> &&
                           (offers_of<Transport> & capability::node_memory) == 0,
                       TicketChain, ArrivalChain> {};

namespace detail {

PAPCOLL_COMPILE_ONCE(void run_arrival<LeaderFan::Run<true>>(NodeSite&, Waiter&, const Call&))
PAPCOLL_COMPILE_ONCE(void run_arrival<LeaderFan::Run<false>>(NodeSite&, Waiter&, const Call&))
PAPCOLL_COMPILE_ONCE(void run_arrival<Exchange::Run>(NodeSite&, Waiter&, const Call&))
PAPCOLL_COMPILE_ONCE(void run_arrival<MultiLeader::Run>(NodeSite&, Waiter&, const Call&))
PAPCOLL_COMPILE_ONCE(void run_arrival<PeerSlices::Run>(NodeSite&, Waiter&, const Call&))
PAPCOLL_COMPILE_ONCE(void run_arrival<SplitTail::Run>(NodeSite&, Waiter&, const Call&))
PAPCOLL_COMPILE_ONCE(void run_arrival<ArrivalChain::Run>(NodeSite&, Waiter&, const Call&))
PAPCOLL_COMPILE_ONCE(void run_arrival<CombiningTree::Run>(NodeSite&, Waiter&, const Call&))

template <class Schedule, class Run>
constexpr ArrivalAlgorithm make_arrival_algorithm(std::string_view name, bool keeps_order) {
  return {name,        algorithm_id(name),        Schedule::sentence, Schedule::contract,
          keeps_order, most_ranks_of<Schedule>(), &Schedule::serves,  &run_arrival<Run>};
}

inline constexpr ArrivalAlgorithm dynamic_leader =
    make_arrival_algorithm<LeaderFan, LeaderFan::Run<true>>("DynamicLeader", true);
inline constexpr ArrivalAlgorithm static_leader =
    make_arrival_algorithm<LeaderFan, LeaderFan::Run<false>>("StaticLeader", true);
inline constexpr ArrivalAlgorithm exchange =
    make_arrival_algorithm<Exchange, Exchange::Run>("Exchange", true);
inline constexpr ArrivalAlgorithm multi_leader =
    make_arrival_algorithm<MultiLeader, MultiLeader::Run>("MultiLeader", true);

inline constexpr ArrivalAlgorithm peer_slices =
    make_arrival_algorithm<PeerSlices, PeerSlices::Run>("PeerSlices", true);
inline constexpr ArrivalAlgorithm split_tail =
    make_arrival_algorithm<SplitTail, SplitTail::Run>("SplitTail", false);
inline constexpr ArrivalAlgorithm arrival_chain =
    make_arrival_algorithm<ArrivalChain, ArrivalChain::Run>("ArrivalOrder+Chain", false);
inline constexpr ArrivalAlgorithm combining_tree =
    make_arrival_algorithm<CombiningTree, CombiningTree::Run>("CombiningTree", true);

}  // namespace detail

template <>
inline constexpr const ArrivalAlgorithm* arrival_algorithm<StaticOrder, PeerSlices> =
    &detail::peer_slices;
template <>
inline constexpr const ArrivalAlgorithm* arrival_algorithm<ArrivalOrder, SplitTail> =
    &detail::split_tail;
template <>
inline constexpr const ArrivalAlgorithm* arrival_algorithm<ArrivalOrder, Chain> =
    &detail::arrival_chain;
template <>
inline constexpr const ArrivalAlgorithm* arrival_algorithm<ArrivalOrder, CombiningTree> =
    &detail::combining_tree;
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
inline constexpr std::array<const ArrivalAlgorithm*, 8> arrival_algorithms{
    &detail::dynamic_leader, &detail::static_leader, &detail::exchange,       &detail::multi_leader,
    &detail::split_tail,     &detail::arrival_chain, &detail::combining_tree, &detail::peer_slices};

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
