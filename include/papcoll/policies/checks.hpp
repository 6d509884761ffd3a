#pragma once

#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/arrival/predicted_order.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/policies/algorithm.hpp>

#include <type_traits>
#include <utility>

namespace papcoll {
inline namespace PAPCOLL_ABI {

struct TicketChain;

namespace detail {

/// Stands for "not given".
struct Unnamed {};

/// What a schedule is under an arrival policy, over a transport.
template <class Arrival, class Schedule, class Transport>
struct ScheduleUnder : std::type_identity<Schedule> {};
template <class Arrival, class Schedule, class Transport>
requires RunsUnder<Arrival, Schedule>
struct ScheduleUnder<Arrival, Schedule, Transport>
    : std::type_identity<typename ArrivalDriven<Arrival, Schedule>::Schedule> {
};
template <class Arrival, class Schedule, class Transport>
requires RunsUnder<Arrival, Schedule> && PolicyOfKind<Transport, TransportPolicyKind> &&
    (!(offers_of<Transport> & capability::node_memory)) &&
    requires {
  typename ArrivalDriven<Arrival, Schedule>::ByTicket;
}
struct ScheduleUnder<Arrival, Schedule, Transport>
    : std::type_identity<typename ArrivalDriven<Arrival, Schedule>::ByTicket> {};

/// Schedules that are made of whole algorithms, and what a set of policies with one says: see
/// hierarchical.hpp.
template <class P>
inline constexpr bool is_hierarchical = false;
template <class Tag, bool NonBlocking, bool Commutes, class... Ps>
struct HierarchicalPolicies;

/// What depends on a schedule's parameters is asked by the call.
template <class S>
constexpr bool combines_out_of_order() {
  if constexpr (requires { std::bool_constant<S::commutative_only>{}; }) {
    return S::commutative_only;
  } else {
    return false;
  }
}

template <class S, class Tag>
constexpr bool serves_collective() {
  if constexpr (requires { S::serves(Tag::value); }) {
    return S::serves(Tag::value);
  } else {
    return Emits<S, Tag>;
  }
}

template <class S>
constexpr NumericalContract contract_kept() {
  if constexpr (requires { S::contract; }) {
    return S::contract;
  } else {
    return NumericalContract::reproducible;
  }
}

// One wrong thing, one sentence: the checkers below are instantiated one after the other, and their
// template arguments show in the compiler's output.

template <class Schedule, class Tag>
struct schedule_serves_collective {
  static constexpr bool ok = serves_collective<Schedule, Tag>();
  static_assert(ok,
                "papcoll: this schedule does not serve this collective: take Rabenseifner for "
                "allreduce, Binomial for reduce, bcast, gather and scatter, Bruck for allgather, "
                "RecursiveHalving for reduce_scatter, Dissemination for barrier, Pairwise for "
                "alltoall, RecursiveDoubling for scan; the table in docs/policies.md shows all");
};

template <class Schedule, bool Commutes>
struct operator_commutes_for_schedule {
  static constexpr bool ok = Commutes || !combines_out_of_order<Schedule>();
  static_assert(
      ok,
      "papcoll: this schedule combines contributions out of rank order, and this operator "
      "is not known to commute: if it does, wrap it as papcoll::commutative(op), else "
      "take a schedule that keeps the order, such as Rabenseifner or Exchange");
};

template <class Schedule, class Contract>
struct schedule_keeps_contract {
  static constexpr bool ok =
      Contract::value <= contract_kept<Schedule>() || !combines_out_of_order<Schedule>();
  static_assert(ok,
                "papcoll: this schedule combines in the order of arrival, so that bits depend on "
                "who was late: for Reproducible take CombiningTree, DynamicLeader or MultiLeader");
};

template <class Schedule, bool NonBlocking>
struct schedule_can_be_non_blocking {
  static constexpr bool ok = !NonBlocking || StaticSchedule<Schedule>;
  static_assert(ok,
                "papcoll: a non-blocking collective cannot run this arrival-driven schedule, since "
                "nobody would drive it while its rank computes: take a static schedule such as "
                "Rabenseifner, or the blocking call");
};

template <class Arrival, bool NonBlocking>
struct arrival_can_be_non_blocking {
  static constexpr bool ok = !NonBlocking || (offers_of<Arrival> & capability::positions) != 0;
  static_assert(
      ok,
      "papcoll: a non-blocking collective cannot follow this arrival policy, since a first "
      "arriver that leads and goes off to compute would stall everyone: take StaticOrder "
      "with a static schedule such as Rabenseifner, or the blocking call");
};

template <class Schedule, class Arrival>
struct schedule_runs_under_arrival {
  static constexpr bool ok = StaticSchedule<Schedule> || RunsUnder<Arrival, Schedule>;
  static_assert(ok,
                "papcoll: this arrival-driven schedule does not run under this arrival policy: "
                "leave the policy out, or take a static schedule such as Chain");
};

template <class... Ps>
constexpr bool policies_are_well_formed() {
  constexpr bool all = (Policy<Ps> && ...);
  if constexpr (!all) {
    static_assert(
        all,
        "papcoll: the template arguments of a collective are policies (an arrival policy, "
        "a schedule, a transport, a contract, in any order); the element type is deduced");
    return false;
  } else if constexpr (policies_given<ArrivalPolicyKind, Ps...> > 1) {
    static_assert(policies_given<ArrivalPolicyKind, Ps...> <= 1,
                  "papcoll: two arrival policies for one collective: keep one");
    return false;
  } else if constexpr (policies_given<SchedulePolicyKind, Ps...> > 1) {
    static_assert(
        policies_given<SchedulePolicyKind, Ps...> <= 1,
        "papcoll: two schedules for one collective: keep one, or join a reduce and a bcast "
        "as ReduceThenBcast");
    return false;
  } else if constexpr (policies_given<TransportPolicyKind, Ps...> > 1) {
    static_assert(policies_given<TransportPolicyKind, Ps...> <= 1,
                  "papcoll: two transports for one collective: keep one");
    return false;
  } else if constexpr (policies_given<ContractPolicyKind, Ps...> > 1) {
    static_assert(policies_given<ContractPolicyKind, Ps...> <= 1,
                  "papcoll: two numerical contracts for one collective: keep one");
    return false;
  } else {
    return true;
  }
}

template <class Arrival, class = void>
struct ScheduleOf : std::type_identity<Unnamed> {};
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
template <>
struct ArrivalOf<Unnamed> : std::type_identity<StaticOrder> {};

}  // namespace detail

/// Makes a selection one of TicketChain.
inline void set_ticket_chain(AlgorithmSpec& s, AnySchedule plan) {
  s.schedule = std::move(plan);
  s.predictor = PredictedOrder<>::predictor();
  s.by_ticket = true;
}

/// Checks a set of policies for one collective, with one sentence for whatever is wrong, and gives
/// what they say. `Commutes`: the call's operator is known to commute (true without operator).
template <class Tag, bool NonBlocking, bool Commutes, class... Ps>
AlgorithmSpec select() {
  AlgorithmSpec s;
  if constexpr ((detail::is_hierarchical<Ps> || ...)) {
    if constexpr (detail::policies_are_well_formed<Ps...>()) {
      s = detail::HierarchicalPolicies<Tag, NonBlocking, Commutes, Ps...>::get();
    }
  } else if constexpr (detail::policies_are_well_formed<Ps...>()) {
    using detail::Unnamed;
    using GivenArrival = detail::pick_policy<ArrivalPolicyKind, Unnamed, Ps...>;
    using GivenSchedule = detail::pick_policy<SchedulePolicyKind, Unnamed, Ps...>;
    using Transport = detail::pick_policy<TransportPolicyKind, Unnamed, Ps...>;
    using Contract = detail::pick_policy<ContractPolicyKind, RankConsistent, Ps...>;
    using Named =
        std::conditional_t<std::same_as<GivenSchedule, Unnamed>,
                           typename detail::ScheduleOf<GivenArrival>::type, GivenSchedule>;
    using Arrival = std::conditional_t<std::same_as<GivenArrival, Unnamed>,
                                       typename detail::ArrivalOf<Named>::type, GivenArrival>;
    using Schedule = typename detail::ScheduleUnder<Arrival, Named, Transport>::type;
    s.contract = Contract::value;
    s.predictor = detail::predictor_of<Arrival>();
    if constexpr (!std::same_as<Transport, Unnamed>) {
      detail::check_site<Transport>();
      s.transport = &transport_table<Transport>;
    }
    if constexpr (!detail::arrival_can_be_non_blocking<Arrival, NonBlocking>::ok) {
      return s;
    } else if constexpr (!std::same_as<Schedule, Unnamed>) {
      if constexpr (!detail::schedule_can_be_non_blocking<Schedule, NonBlocking>::ok) {
        return s;
      } else if constexpr (!capability::needs_positions<Schedule, Arrival>::ok) {
        return s;
      } else if constexpr (!capability::needs_leader<Schedule, Arrival>::ok) {
        return s;
      } else if constexpr (!capability::needs_tickets<Schedule, Arrival>::ok) {
        return s;
      } else if constexpr (!capability::needs_forecast<Schedule, Arrival>::ok) {
        return s;
      } else if constexpr (!detail::schedule_runs_under_arrival<Named, Arrival>::ok) {
        return s;
      } else if constexpr (!detail::schedule_serves_collective<Schedule, Tag>::ok) {
        return s;
      } else if constexpr (!detail::operator_commutes_for_schedule<Schedule, Commutes>::ok) {
        return s;
      } else if constexpr (!detail::schedule_keeps_contract<Schedule, Contract>::ok) {
        return s;
      } else {
        if constexpr (std::same_as<Transport, Unnamed>) {
        } else if constexpr (capability::needs_node_memory<Schedule, Transport>::ok) {
          static_cast<void>(capability::needs_remote_tickets<Schedule, Transport>::ok);
        }
        if constexpr (std::same_as<Schedule, TicketChain>) {
          set_ticket_chain(s, Schedule::plan());
        } else if constexpr (StaticSchedule<Schedule>) {
          s.schedule = AnySchedule::of<Schedule>();
        } else {
          s.arrival =
              &arrival_algorithm<Arrival, Named, typename detail::SiteOver<Transport>::type>;
        }
      }
    }
  }
  return s;
}

}  // namespace PAPCOLL_ABI
}  // namespace papcoll
