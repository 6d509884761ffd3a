#pragma once

#include <papcoll/algorithms/hierarchical/hierarchical.hpp>
#include <papcoll/arrival/predicted_order.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/policies/algorithm.hpp>
#include <papcoll/policies/checks.hpp>
#include <papcoll/policies/hierarchical_spec.hpp>

#include <concepts>
#include <type_traits>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

template <class Intra, class Inter>
inline constexpr bool is_hierarchical<Hierarchical<Intra, Inter>> = true;

/// The policies of a part: those in Policies<>, or one alone.
template <class P>
struct PartPolicies : std::type_identity<Policies<P>> {};
template <class... Ps>
struct PartPolicies<Policies<Ps...>> : std::type_identity<Policies<Ps...>> {};

template <class... Ps>
struct composite_stands_alone {
  static constexpr bool ok = policies_given<ArrivalPolicyKind, Ps...> == 0 &&
                             policies_given<TransportPolicyKind, Ps...> == 0;
  static_assert(ok,
                "papcoll: Hierarchical is made of whole algorithms, so no arrival policy and no "
                "transport stands beside it: give them to its parts, as in "
                "Hierarchical<Policies<DynamicLeader, ShmTransport>, Policies<Rabenseifner, "
                "MpiTransport>>");
};

template <class Whole, bool NonBlocking>
struct composite_is_blocking {
  static constexpr bool ok = !NonBlocking;
  static_assert(ok,
                "papcoll: Hierarchical cannot be non-blocking, since nobody would drive its phases "
                "while its rank computes: take a static schedule such as Rabenseifner, or the "
                "blocking call");
};

template <class... Ps>
struct part_has_no_contract {
  static constexpr bool ok = policies_given<ContractPolicyKind, Ps...> == 0;
  static_assert(ok,
                "papcoll: a numerical contract is that of a whole call: name it beside "
                "Hierarchical, not in one of its parts");
};

template <class Schedule, class Transport>
struct part_draws_no_tickets {
  static constexpr bool ok = (needs_of<Schedule> & capability::remote_tickets) == 0;
  static_assert(
      ok,
      "papcoll: ArrivalOrder over messages is for whole communicators: inside a node take "
      "ShmTransport, and among nodes a static schedule such as Rabenseifner");
};

template <class... Ps>
struct intra_is_no_composite {
  static constexpr bool ok = !(is_hierarchical<Ps> || ...);
  static_assert(ok,
                "papcoll: the first algorithm of Hierarchical is that of the inmost groups: "
                "several levels are written from the inside out, Hierarchical<A, Hierarchical<B, "
                "C>>");
};

/// What a set of policies says about one part.
template <class Set>
struct Part;
template <class... Ps>
struct Part<Policies<Ps...>> {
  using GivenArrival = pick_policy<ArrivalPolicyKind, Unnamed, Ps...>;
  using GivenSchedule = pick_policy<SchedulePolicyKind, Unnamed, Ps...>;
  using Transport = pick_policy<TransportPolicyKind, Unnamed, Ps...>;
  using Named = std::conditional_t<std::same_as<GivenSchedule, Unnamed>,
                                   typename ScheduleOf<GivenArrival>::type, GivenSchedule>;
  using Arrival = std::conditional_t<std::same_as<GivenArrival, Unnamed>,
                                     typename ArrivalOf<Named>::type, GivenArrival>;
  using Schedule = typename ScheduleUnder<Arrival, Named, Transport>::type;

  /// One sentence for what is wrong, if anything is.
  template <bool Commutes>
  static void check() {
    if constexpr (!intra_is_no_composite<Ps...>::ok) {
    } else if constexpr (!policies_are_well_formed<Ps...>()) {
    } else if constexpr (!part_has_no_contract<Ps...>::ok) {
    } else if constexpr (!std::same_as<Schedule, Unnamed>) {
      if constexpr (!capability::needs_positions<Schedule, Arrival>::ok) {
      } else if constexpr (!capability::needs_leader<Schedule, Arrival>::ok) {
      } else if constexpr (!capability::needs_tickets<Schedule, Arrival>::ok) {
      } else if constexpr (!capability::needs_forecast<Schedule, Arrival>::ok) {
      } else if constexpr (!operator_commutes_for_schedule<Schedule, Commutes>::ok) {
      } else if constexpr (!std::same_as<Transport, Unnamed>) {
        if constexpr (capability::needs_node_memory<Schedule, Transport>::ok) {
          static_cast<void>(part_draws_no_tickets<Schedule, Transport>::ok);
        }
      }
    }
  }

  static AlgorithmSpec spec() {
    AlgorithmSpec s;
    s.predictor = predictor_of<Arrival>();
    if constexpr (!std::same_as<Transport, Unnamed>) {
      check_site<Transport>();
      s.transport = &transport_table<Transport>;
    }
    if constexpr (std::same_as<Schedule, Unnamed>) {
      return s;
    } else if constexpr (StaticSchedule<Schedule>) {
      s.schedule = AnySchedule::of<Schedule>();
    } else if constexpr (RunsUnder<Arrival, Named>) {
      s.arrival = &arrival_algorithm<Arrival, Named, typename SiteOver<Transport>::type>;
    }
    return s;
  }
};

template <class P>
using PartOf = Part<typename PartPolicies<P>::type>;

/// `Commutes`: the operator does, or there is none.
template <class P, bool Commutes>
void check_level() {
  if constexpr (is_hierarchical<P>) {
    PartOf<typename P::intra>::template check<Commutes>();
    check_level<typename P::inter, Commutes>();
  } else {
    PartOf<P>::template check<Commutes>();
  }
}

/// The composite that a type stands for.
template <class C>
const HierarchicalSpec& hierarchical_spec_of() {
  static const HierarchicalSpec hierarchical = [] {
    HierarchicalSpec c;
    c.intra = PartOf<typename C::intra>::spec();
    if constexpr (is_hierarchical<typename C::inter>) {
      c.inter.hierarchical = &hierarchical_spec_of<typename C::inter>();
    } else {
      c.inter = PartOf<typename C::inter>::spec();
    }
    c.id = hierarchical_id(c);
    return c;
  }();
  return hierarchical;
}

template <class Tag>
struct composite_serves_collective {
  static constexpr bool ok = hierarchical_serves(Tag::value);
  static_assert(ok,
                "papcoll: Hierarchical does not serve alltoall and scan: take Pairwise or Bruck, "
                "and RecursiveDoubling");
};

template <class Tag, bool NonBlocking, bool Commutes, class... Ps>
struct HierarchicalPolicies {
  using Given = pick_policy<SchedulePolicyKind, Unnamed, Ps...>;

  static AlgorithmSpec get() {
    AlgorithmSpec s;
    s.contract = pick_policy<ContractPolicyKind, RankConsistent, Ps...>::value;
    if constexpr (!composite_stands_alone<Ps...>::ok) {
      return s;
    } else if constexpr (!composite_is_blocking<Given, NonBlocking>::ok) {
      return s;
    } else if constexpr (!composite_serves_collective<Tag>::ok) {
      return s;
    } else {
      check_level<Given, Commutes || !is_reduction(Tag::value)>();
      s.hierarchical = &hierarchical_spec_of<Given>();
      s.run_hierarchical = &run_hierarchical<Tag::value>;
    }
    return s;
  }
};

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
