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
template <class P>
concept ArrivalPolicy = PolicyOfKind<P, ArrivalPolicyKind> && requires {
  { P::name } -> std::convertible_to<std::string_view>;
  { P::offers } -> std::convertible_to<unsigned>;
};

/// Positions follow the ranks, whoever comes when. The default.
struct StaticOrder {
  using policy_kind = ArrivalPolicyKind;
  static constexpr std::string_view name = "StaticOrder";
  static constexpr unsigned offers = capability::positions;
};
static_assert(ArrivalPolicy<StaticOrder>);

/// Position 0, the leader, is whoever arrives first on the node (thesis, ch. 4).
struct DynamicLeader {
  using policy_kind = ArrivalPolicyKind;
  using default_schedule = LeaderFan;
  static constexpr std::string_view name = "DynamicLeader";
  static constexpr unsigned offers = capability::leader;
};
static_assert(ArrivalPolicy<DynamicLeader>);

/// The leader is always the same rank, and waits for all before it starts: MVAPICH's two-step
/// allreduce, the reference DynamicLeader is compared with.
struct StaticLeader {
  using policy_kind = ArrivalPolicyKind;
  using default_schedule = LeaderFan;
  static constexpr std::string_view name = "StaticLeader";
  static constexpr unsigned offers = capability::leader;
};
static_assert(ArrivalPolicy<StaticLeader>);

/// Positions are tickets: the n-th to arrive plays position n (thesis, ch. 5).
struct ArrivalOrder {
  using policy_kind = ArrivalPolicyKind;
  using default_schedule = SplitTail;
  static constexpr std::string_view name = "ArrivalOrder";
  static constexpr unsigned offers = capability::tickets;
};
static_assert(ArrivalPolicy<ArrivalOrder>);

}  // namespace papcoll::inline PAPCOLL_ABI
