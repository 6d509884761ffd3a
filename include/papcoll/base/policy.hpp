#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/base/contract.hpp>

#include <concepts>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {

// The four kinds a policy can be. A policy is a type with a member `policy_kind` naming one of
// them.
struct ArrivalPolicyKind {};
struct SchedulePolicyKind {};
struct TransportPolicyKind {};
struct ContractPolicyKind {};

/// A type that opted in as a policy of some kind.
template <class P>
concept Policy = requires {
  typename P::policy_kind;
};

template <class P, class Kind>
concept PolicyOfKind = Policy<P> && std::same_as<typename P::policy_kind, Kind>;

/// A policy with parameters is made without arguments, copied and compared: std::regular, which
/// compiles some forty traits for each type.
template <class P>
concept RegularPolicy = requires(P p, const P& other) {
  P{};
  P(other);
  P(static_cast<P&&>(p));
  p = other;
  static_cast<bool>(other == other);
};

/// Ranks may get results that differ in the last bits. No algorithm makes use of that yet.
struct Fast {
  using policy_kind = ContractPolicyKind;
  static constexpr NumericalContract value = NumericalContract::fast;
};
/// All ranks get the same bits. The default.
struct RankConsistent {
  using policy_kind = ContractPolicyKind;
  static constexpr NumericalContract value = NumericalContract::rank_consistent;
};
/// The bits never depend on who arrived when.
struct Reproducible {
  using policy_kind = ContractPolicyKind;
  static constexpr NumericalContract value = NumericalContract::reproducible;
};

/// Policies that make one algorithm, where several algorithms are named:
/// Hierarchical<Policies<DynamicLeader, ShmTransport>, Policies<Rabenseifner, MpiTransport>>.
template <class... Ps>
struct Policies {};

namespace detail {

/// How many of Ps are of the kind.
template <class Kind, class... Ps>
inline constexpr int policies_given = (0 + ... + static_cast<int>(PolicyOfKind<Ps, Kind>));

template <class Kind, class Default, class... Ps>
struct PickPolicy : std::type_identity<Default> {};
template <class Kind, class Default, class P, class... Ps>
struct PickPolicy<Kind, Default, P, Ps...>
    : std::conditional_t<PolicyOfKind<P, Kind>, std::type_identity<P>,
                         PickPolicy<Kind, Default, Ps...>> {};

/// The policy of the kind among Ps, or Default.
template <class Kind, class Default, class... Ps>
using pick_policy = typename PickPolicy<Kind, Default, Ps...>::type;

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
