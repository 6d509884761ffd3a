// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/algorithms/declared.hpp>
#include <papcoll/arrival/arrival_driven.hpp>
#include <papcoll/arrival/predictor.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/choice/policies/algorithm_spec.hpp>
#include <papcoll/choice/policies/requirements.hpp>
#include <papcoll/transport/transport_policy.hpp>

#include <concepts>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

template <class P> inline constexpr bool is_complete = requires { sizeof(P); };

/// True if an arrival policy implies a schedule whose header is not included.
template <class P> inline constexpr bool implies_what_is_not_included = false;
template <class P>
requires requires { typename P::default_schedule; }
inline constexpr bool implies_what_is_not_included<P> = !is_complete<typename P::default_schedule>;

/// Stands for "not given".
struct Unnamed {};

/// What a schedule is under an arrival policy, over a transport.
template <class Arrival, class Schedule, class Transport>
struct ScheduleUnder : std::type_identity<Schedule> {};
template <class Arrival, class Schedule, class Transport>
requires IsArrivalDriven<Arrival, Schedule>
struct ScheduleUnder<Arrival, Schedule, Transport>
    : std::type_identity<typename ArrivalDriven<Arrival, Schedule>::Schedule> {
};
template <class Arrival, class Schedule, class Transport>
requires IsArrivalDriven<Arrival, Schedule> && PolicyOfKind<Transport, TransportPolicyKind> &&
    (!(offers_of<Transport> & capability::node_memory)) &&
    requires {
  typename ArrivalDriven<Arrival, Schedule>::ByTicket;
}
struct ScheduleUnder<Arrival, Schedule, Transport>
    : std::type_identity<typename ArrivalDriven<Arrival, Schedule>::ByTicket> {};

template <class P> inline constexpr bool is_hierarchical = false;
template <class Intra, class Inter>
inline constexpr bool is_hierarchical<Hierarchical<Intra, Inter>> = true;

/// What a set of policies with a hierarchical algorithm says: see hierarchical.hpp.
template <class Tag, bool NonBlocking, bool Commutes, class... Ps> struct HierarchicalPolicies;

template <class Tag, class... Ps> struct hierarchical_is_included {
  static constexpr bool ok = requires { sizeof(HierarchicalPolicies<Tag, false, true, Ps...>); };
  static_assert(ok,
                "papcoll: Hierarchical is named, and its header is not included: include "
                "<papcoll/hierarchical.hpp>");
};

/// What depends on a schedule's parameters is asked by the call.
template <class S> inline constexpr bool combines_out_of_order = requires {
  requires std::bool_constant<S::commutative_only>::value;
};

template <class S, class Tag> constexpr bool serves_collective() {
  if constexpr (requires { S::serves(Tag::value); }) {
    return S::serves(Tag::value);
  } else {
    return Emits<S, Tag>;
  }
}

template <class S> constexpr NumericalContract contract_kept() {
  if constexpr (requires { S::contract; }) {
    return S::contract;
  } else {
    return NumericalContract::reproducible;
  }
}

template <class... Ps> struct arguments_are_policies {
  static constexpr bool ok = (Policy<Ps> && ...);
  static_assert(ok,
                "papcoll: the template arguments of a collective are policies (an arrival policy, "
                "a schedule, a transport, a contract, in any order); the element type is deduced");
};

/// The requirement that is not met where two policies are of one kind; or null.
template <class... Ps> constexpr const Requirement* why_malformed() noexcept {
  unsigned unmet = 0;
  if (policies_given < ArrivalPolicyKind, Ps... >> 1) unmet |= requirement::one_arrival_policy;
  if (policies_given < SchedulePolicyKind, Ps... >> 1) unmet |= requirement::one_schedule;
  if (policies_given < TransportPolicyKind, Ps... >> 1) unmet |= requirement::one_transport;
  if (policies_given < ContractPolicyKind, Ps... >> 1) unmet |= requirement::one_contract;
  return first_requirement(unmet);
}

/// True if all that the policies name is defined here, and not only declared.
template <class... Ps> consteval bool are_included() {
  if constexpr (!(is_complete<Ps> && ...)) {
    return false;
  } else if constexpr (policies_given<SchedulePolicyKind, Ps...> > 0) {
    using Arrival = pick_policy<ArrivalPolicyKind, Unnamed, Ps...>;
    using Schedule = pick_policy<SchedulePolicyKind, Unnamed, Ps...>;
    return !implies_what_is_not_included<Arrival> || IsArrivalDriven<Arrival, Schedule> ||
           (needs_of<Schedule> & capability::device_memory) != 0;
  } else {
    return (!implies_what_is_not_included<Ps> && ...);
  }
}

/// True if this file can run the arrival-driven algorithm, or need not.
template <class Arrival, class Schedule> inline constexpr bool has_run = true;
template <class Arrival, class Schedule>
requires(PAPCOLL_HAS_SHARED_CODE != 0) && requires {
  typename ArrivalDriven<Arrival, Schedule>::Run;
}
inline constexpr bool has_run<Arrival, Schedule> =
    is_complete<typename ArrivalDriven<Arrival, Schedule>::Run>;

template <bool Included, class... Ps> struct algorithm_is_included {
  static constexpr bool ok = Included;
  static_assert(
      ok,
      "papcoll: an algorithm is named, and its header is not included: include "
      "<papcoll/algorithms/static/all.hpp>, <papcoll/algorithms/arrival/all.hpp> if ranks "
      "go by arrivals, or the one there that has its name");
};

template <class... Ps>
inline constexpr bool well_formed =
    are_included<Ps...>() && (Policy<Ps> && ...) &&
    (!lacks_a_member<Ps> && ...) && why_malformed<Ps...>() == nullptr;

/// Ends the compilation with one sentence for a set of policies that is not well formed.
template <class Tag, class... Ps> void refuse_malformed() noexcept {
  if constexpr (!are_included<Ps...>()) {
    static_cast<void>(algorithm_is_included<false, Ps...>::ok);
  } else if constexpr (!(Policy<Ps> && ...)) {
    static_cast<void>(arguments_are_policies<Ps...>::ok);
  } else if constexpr ((lacks_a_member<Ps> || ...)) {
    static_cast<void>((schedule_is_complete<Ps>::ok && ...));
  } else {
    refuse_policies<why_malformed<Ps...>()->bit, Tag, Ps...>();
  }
}

template <class Arrival, class = void> struct ScheduleOf : std::type_identity<Unnamed> {};
template <class Arrival>
struct ScheduleOf<Arrival, std::void_t<typename Arrival::default_schedule>>
    : std::type_identity<typename Arrival::default_schedule> {};

/// The arrival policy a schedule has if none is named: the first that offers what it needs.
template <class Schedule>
struct ArrivalOf
    : std::conditional<
          (needs_of<Schedule> & capability::leader) != 0, DynamicLeader,
          std::conditional_t<(needs_of<Schedule> & capability::tickets) != 0, ArrivalOrder,
                             std::conditional_t<(needs_of<Schedule> & capability::forecast) != 0,
                                                PredictedOrder<>, StaticOrder>>> {};
template <> struct ArrivalOf<Unnamed> : std::type_identity<StaticOrder> {};

/// The facts of a call, as far as its types determine them.
template <class Tag, bool NonBlocking, bool Commutes, class Contract>
constexpr CallFacts call_facts() noexcept {
  CallFacts facts;
  facts.non_blocking = NonBlocking;
  facts.commutes = Commutes || !is_reduction(Tag::value);
  if (is_reduction(Tag::value)) facts.contract = Contract::value;
  return facts;
}

/// What a set of policies names. `Named` is the schedule that is written, or that of the arrival
/// policy; `Schedule` is what it is under the arrival policy, over the transport.
template <class... Ps> struct NamedPolicies {
  using GivenArrival = pick_policy<ArrivalPolicyKind, Unnamed, Ps...>;
  using GivenSchedule = pick_policy<SchedulePolicyKind, Unnamed, Ps...>;
  using Transport = pick_policy<TransportPolicyKind, Unnamed, Ps...>;
  using Contract = pick_policy<ContractPolicyKind, RankConsistent, Ps...>;
  using Named = std::conditional_t<std::same_as<GivenSchedule, Unnamed>,
                                   typename ScheduleOf<GivenArrival>::type, GivenSchedule>;
  using Arrival = std::conditional_t<std::same_as<GivenArrival, Unnamed>,
                                     typename ArrivalOf<Named>::type, GivenArrival>;
  using Schedule = typename ScheduleUnder<Arrival, Named, Transport>::type;

  static constexpr bool has_schedule = !std::same_as<Schedule, Unnamed>;
  static constexpr bool has_transport = !std::same_as<Transport, Unnamed>;

  /// True if ranks draw their positions in the schedule.
  static constexpr bool draws_tickets = [] {
    if constexpr (requires { typename ArrivalDriven<Arrival, Named>::ByTicket; }) {
      return std::same_as<Schedule, typename ArrivalDriven<Arrival, Named>::ByTicket>;
    }
    return false;
  }();

  /// Returns what they require of a call, whatever it is of.
  static constexpr AlgorithmNeeds needs() noexcept {
    AlgorithmNeeds needs;
    if constexpr (!has_schedule) {
      if (!offers_positions) needs.bits = requirement::blocking_call;
    } else {
      needs.bits = needs_of<Schedule>;
      if (!offers_positions || !StaticSchedule<Schedule>) needs.bits |= requirement::blocking_call;
      // What runs on devices is no schedule under an arrival policy: see device_algorithm.hpp.
      constexpr bool on_devices = (needs_of<Named> & capability::device_memory) != 0;
      if (!StaticSchedule<Named> && !on_devices && !IsArrivalDriven<Arrival, Named>) {
        needs.bits |= requirement::fitting_arrival_policy;
      }
      if (combines_out_of_order<Schedule>) {
        needs.bits |= requirement::commutative_operator;
        needs.strongest = contract_kept<Schedule>();
      }
    }
    return needs;
  }

  /// Returns what they offer to their schedule.
  static constexpr TeamOffers offers() noexcept {
    TeamOffers offers;
    offers.bits &= ~(requirement::of_arrival | requirement::fitting_arrival_policy);
    offers.bits &= ~requirement::device_memory;  // no transport that is chosen has it
    offers.bits |= offers_of<Arrival> & requirement::of_arrival;
    if constexpr (has_transport) {
      offers.bits &= ~requirement::of_transport;
      offers.bits |= offers_of<Transport> & requirement::of_transport;
    }
    return offers;
  }

  /// Returns the first requirement that a call of a collective does not meet; null if it meets all.
  /// `IsPart`: as a part of a hierarchical algorithm, which runs what a part does not serve by what
  /// is chosen for it.
  template <class Tag, bool NonBlocking, bool Commutes, class Contract, bool IsPart = false>
  static constexpr const Requirement* unmet() noexcept {
    AlgorithmNeeds in_call = needs();
    TeamOffers offered = offers();
    if constexpr (!IsPart) {
      if constexpr (has_schedule) in_call.serves = serves_collective<Schedule, Tag>();
    } else if (draws_tickets) {
      in_call.bits |= requirement::hierarchical_part_draws_no_tickets;
      offered.bits &= ~requirement::hierarchical_part_draws_no_tickets;
    }
    return why_not(in_call, call_facts<Tag, NonBlocking, Commutes, Contract>(), offered);
  }

  /// Returns what they name; empty where no such algorithm exists, which the caller has refused.
  static AlgorithmSpec spec() {
    AlgorithmSpec spec;
    spec.order = OrderSource::of<Arrival>();
    if constexpr (has_transport) {
      spec.transport = &table_of_transport<Transport>();
    } else {
      spec.find_transport = &find_transport;
    }
    if constexpr (!has_schedule) {
    } else if constexpr (draws_tickets) {
      spec.follow_tickets(ticketed_algorithm<ArrivalDriven<Arrival, Named>>);
    } else if constexpr (StaticSchedule<Schedule>) {
      spec.schedule = AnySchedule::of<Schedule>();
    } else if constexpr (IsArrivalDriven<Arrival, Named>) {
      spec.arrival = &algorithm_under<Arrival, Named, typename ContextOver<Transport>::type>();
    }
    return spec;
  }

 private:
  static constexpr bool offers_positions = (offers_of<Arrival> & capability::positions) != 0;
};

}  // namespace detail

/// Checks a set of policies for one collective, with one sentence for each fault, and returns what
/// they name. `Commutes`: the call's operator is known to commute (true without operator).
template <class Tag, bool NonBlocking, bool Commutes, class... Ps> AlgorithmSpec select() {
  AlgorithmSpec spec;
  if constexpr ((detail::is_hierarchical<Ps> || ...)) {
    if constexpr (!detail::hierarchical_is_included<Tag, Ps...>::ok) {
    } else if constexpr (!detail::well_formed<Ps...>) {
      detail::refuse_malformed<Tag, Ps...>();
    } else {
      spec = detail::HierarchicalPolicies<Tag, NonBlocking, Commutes, Ps...>::get();
    }
  } else if constexpr (!detail::well_formed<Ps...>) {
    detail::refuse_malformed<Tag, Ps...>();
  } else {
    using Policies = detail::NamedPolicies<Ps...>;
    static_cast<void>(
        detail::algorithm_is_included<
            detail::has_run<typename Policies::Arrival, typename Policies::Named>, Ps...>::ok);
    constexpr const Requirement* why =
        Policies::template unmet<Tag, NonBlocking, Commutes, typename Policies::Contract>();
    if constexpr (why != nullptr) {
      detail::refuse_policies<why->bit, Tag, Ps...>();
    } else {
      spec = Policies::spec();
    }
    spec.contract = Policies::Contract::value;
  }
  return spec;
}

}  // namespace papcoll::inline PAPCOLL_ABI
