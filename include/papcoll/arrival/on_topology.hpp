#pragma once

#include <papcoll/arrival/policies.hpp>
#include <papcoll/base/policy.hpp>

#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// Positions follow the machine: those that send each other most are played by ranks that are near
/// to each other. For any static schedule, transport, non-blocking call and part of Hierarchical.
///
/// Each schedule says how its positions are laid along the machine (schedule/mapping_hint.hpp), or
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
/// Source: B. Kitor, thesis, ch. 4: rank reordering by the algorithm's pattern; the orders are ours
/// (topology/mapping/map_positions.hpp).
struct OnTopology {
  using policy_kind = ArrivalPolicyKind;
  static constexpr std::string_view name = "OnTopology";
  static constexpr unsigned offers = capability::positions;
};
static_assert(ArrivalPolicy<OnTopology>);

}  // namespace papcoll::inline PAPCOLL_ABI
