// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The policy Hierarchical<Intra, Inter>: one algorithm within each node, another among one
// representative of each.
#include <papcoll/algorithms/hierarchical/hierarchical.hpp>
#include <papcoll/arrival/predictor.hpp>
#include <papcoll/base/collective.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/choice/policies/algorithm_spec.hpp>
#include <papcoll/choice/policies/hierarchical_spec.hpp>
#include <papcoll/choice/policies/policy_checks.hpp>

#include <concepts>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// The policies of a part, those in Policies<> or one alone.
template <class P> struct PartOf : PartOf<Policies<P>> {};
template <class... Ps> struct PartOf<Policies<Ps...>> : NamedPolicies<Ps...> {
  /// Ends the compilation with one sentence for what is wrong, if anything is.
  template <class Tag, bool Commutes, class Contract> static void check() {
    if constexpr ((is_hierarchical<Ps> || ...)) {
      refuse_policies<requirement::hierarchical_levels_in_order, Tag, Ps...>();
    } else if constexpr (!well_formed<Ps...>) {
      refuse_malformed<Tag, Ps...>();
    } else if constexpr (policies_given<ContractPolicyKind, Ps...> != 0) {
      refuse_policies<requirement::hierarchical_part_has_no_contract, Tag, Ps...>();
    } else {
      constexpr const Requirement* why =
          NamedPolicies<Ps...>::template unmet<Tag, false, Commutes, Contract, true>();
      if constexpr (why != nullptr) refuse_policies<why->bit, Tag, Ps...>();
    }
  }
};

/// `Commutes`: the operator of a call of `Tag` does, or there is none.
template <class P, class Tag, bool Commutes, class Contract> void check_level() {
  if constexpr (is_hierarchical<P>) {
    PartOf<typename P::intra>::template check<Tag, Commutes, Contract>();
    check_level<typename P::inter, Tag, Commutes, Contract>();
  } else {
    PartOf<P>::template check<Tag, Commutes, Contract>();
  }
}

/// The hierarchical algorithm of a type.
template <class C> const HierarchicalSpec& hierarchical_spec_of() {
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

template <class Tag, bool NonBlocking, bool Commutes, class... Ps> struct HierarchicalPolicies {
  using Given = pick_policy<SchedulePolicyKind, Unnamed, Ps...>;
  using Contract = pick_policy<ContractPolicyKind, RankConsistent, Ps...>;

  static AlgorithmSpec get() {
    AlgorithmSpec spec;
    spec.contract = Contract::value;
    constexpr const Requirement* why = [] {
      AlgorithmNeeds needs = hierarchical_needs(Tag::value);
      TeamOffers offers;
      needs.bits |= requirement::hierarchical_stands_alone;
      if (policies_given<ArrivalPolicyKind, Ps...> + policies_given<TransportPolicyKind, Ps...>)
        offers.bits &= ~requirement::hierarchical_stands_alone;
      return why_not(needs, call_facts<Tag, NonBlocking, true, Contract>(), offers);
    }();
    if constexpr (why != nullptr) {
      refuse_policies<why->bit, Tag, Ps...>();
    } else {
      check_level<Given, Tag, Commutes, Contract>();
      spec.hierarchical = &hierarchical_spec_of<Given>();
      spec.run_hierarchical = &run_hierarchical<Tag::value>;
    }
    return spec;
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/choice/selection/run_hierarchical.hpp>
#endif
