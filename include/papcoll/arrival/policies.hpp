// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/policy.hpp>

#include <concepts>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

struct LeaderFan;
struct SplitTail;

/// Which rank plays which position, and when that is known.
///
/// Required: `policy_kind = ArrivalPolicyKind`, `name`, `offers` (capability bits). Optional:
/// `default_schedule`, the schedule it implies where none is named.
template <class P> concept ArrivalPolicy = PolicyOfKind<P, ArrivalPolicyKind> && requires {
  { P::name } -> std::convertible_to<std::string_view>;
  { P::offers } -> std::convertible_to<unsigned>;
};

/// Positions follow the ranks, whoever arrives when. The default.
struct StaticOrder {
  using policy_kind = ArrivalPolicyKind;
  static constexpr std::string_view name = "StaticOrder";
  static constexpr unsigned offers = capability::positions;
};
static_assert(ArrivalPolicy<StaticOrder>);

/// The first rank to arrive on the node plays position 0, the leader. Source: P. Alizadeh, MASc
/// thesis, Queen's University, 2021, ch. 4.
struct DynamicLeader {
  using policy_kind = ArrivalPolicyKind;
  using default_schedule = LeaderFan;
  static constexpr std::string_view name = "DynamicLeader";
  static constexpr unsigned offers = capability::leader;
};
static_assert(ArrivalPolicy<DynamicLeader>);

/// The leader is always the same rank, and waits for all before it starts: MVAPICH's two-step
/// allreduce, with which DynamicLeader is compared.
struct StaticLeader {
  using policy_kind = ArrivalPolicyKind;
  using default_schedule = LeaderFan;
  static constexpr std::string_view name = "StaticLeader";
  static constexpr unsigned offers = capability::leader;
};
static_assert(ArrivalPolicy<StaticLeader>);

/// Positions are tickets: the n-th rank to arrive plays position n. Source: P. Alizadeh, MASc
/// thesis, Queen's University, 2021, ch. 5.
struct ArrivalOrder {
  using policy_kind = ArrivalPolicyKind;
  using default_schedule = SplitTail;
  static constexpr std::string_view name = "ArrivalOrder";
  static constexpr unsigned offers = capability::tickets;
};
static_assert(ArrivalPolicy<ArrivalOrder>);

/// Positions follow the machine: those that send each other most are played by ranks that are near
/// to each other. For any static schedule, transport, non-blocking call and part of Hierarchical.
///
/// Each schedule says how its positions are laid along the machine (MappingHint), or
/// what they send each other, beginning at the place of the root. The first call of a schedule with
/// a collective and a root on a communicator finds the order, without a message; a communicator
/// keeps the last eight. Where an order would gain nothing, or be worse than that of the ranks in
/// bytes × hops or on the heaviest link, calls run in rank order, and papcoll::explain() says so.
/// So do operators that do not commute. The machine is that of Options::machine.
///
/// Cost: finding an order takes about 1 ms for 500 ranks, and up to 15 ms for 4,096; a cached one
/// costs tens of ns a call.
/// Prefer it across nodes where ranks are not numbered as the schedule would have them: a ring or
/// a binomial tree from ranks that are dealt out by node, recursive doubling's allgather from ranks
/// that are in order of cores.
///
/// Source: B. Kitor, thesis (see docs/mapping.md), ch. 4: rank reordering by the algorithm's
/// pattern; the orders are ours (topology/mapping/map_positions.hpp).
struct OnTopology {
  using policy_kind = ArrivalPolicyKind;
  static constexpr std::string_view name = "OnTopology";
  static constexpr unsigned offers = capability::positions;
};
static_assert(ArrivalPolicy<OnTopology>);

}  // namespace papcoll::inline PAPCOLL_ABI
