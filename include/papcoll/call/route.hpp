#pragma once

#include <papcoll/call/argument_kinds.hpp>
#include <papcoll/call/persistent.hpp>
#include <papcoll/call/request.hpp>
#include <papcoll/call/team_of.hpp>
#include <papcoll/choice/policies/policy_checks.hpp>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// By what functions a call runs: what its template arguments decide.
struct Route {
  const AlgorithmSpec& (*policies)();  ///< what they name; null: there are none
  CallActions named;                   ///< of a spec that names an algorithm
  CallActions chosen;                  ///< of one that names none
  bool chooses;                        ///< `chosen` is there
};

/// The spec of a set of policies.
template <Collective C, bool NonBlocking, bool Commutes, class... Ps>
const AlgorithmSpec& spec_of_policies() {
  static const AlgorithmSpec spec = select<CollectiveTag<C>, NonBlocking, Commutes, Ps...>();
  return spec;
}

template <class... Ps>
constexpr auto runner_of() noexcept {
  constexpr Named named = named_by<Ps...>();
  if constexpr (named == Named::schedule) {
    return run_schedule;
  } else if constexpr (named == Named::arrival_driven) {
    return run_arrival_driven;
  } else {
    return run_spec;
  }
}

/// `Commutes`: the operator is known to commute (true without operator).
template <Way W, Collective C, bool Commutes, class... Ps>
constexpr Route route_of() noexcept {
  Route r{};
  if constexpr (sizeof...(Ps) != 0) {
    r.policies = spec_of_policies<C, W == Way::non_blocking, Commutes, Ps...>;
  }
  // One that arrivals drive is settled beforehand, where its run is known.
  constexpr bool names_schedule = named_by<Ps...>() == Named::schedule;
  if constexpr (W == Way::blocking) r.named.run = runner_of<Ps...>();
  if constexpr (W == Way::persistent) r.named.run = names_schedule ? run_schedule : run_spec;
  if constexpr (W != Way::blocking) r.named.start = start_spec;
  if constexpr (W == Way::persistent) r.named.settle = settle_spec;
  if constexpr (named_by<Ps...>() == Named::nothing) {
    if constexpr (call_can_be_chosen_for<CollectiveTag<C>>::ok) {
      r.chooses = true;
      if constexpr (W != Way::non_blocking) r.chosen.run = Chosen<C>::run;
      if constexpr (W != Way::blocking) r.chosen.start = Chosen<C>::start;
      if constexpr (W == Way::persistent) r.chosen.settle = Chosen<C>::settle;
    }
  }
  return r;
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
