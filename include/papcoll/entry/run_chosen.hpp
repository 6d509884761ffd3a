#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/entry/entry.hpp>
#include <papcoll/entry/run_hierarchical.hpp>
#include <papcoll/entry/run_registered.hpp>
#include <papcoll/impl/run.ipp>
#include <papcoll/policies/algorithm.hpp>
#include <papcoll/runtime/hierarchy.hpp>
#include <papcoll/runtime/packed_call.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/select/automatic.hpp>
#include <papcoll/select/state.hpp>
#include <papcoll/transport/find_transport.hpp>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// A spec that names no algorithm, completed for one call and checked against it.
template <Collective C>
struct ChosenAlgorithm {
  const TransportTable& transport;
  AlgorithmSpec spec;
  bool is_watched = false;  ///< it depends on arrivals that ranks tell each other

  ChosenAlgorithm(const Caller& caller, const AlgorithmSpec& given, Call& call)
      : transport(given.transport == nullptr && given.transport_name.empty()
                      ? default_transport(caller.core.surroundings())
                      : transport_for(caller, given, call.memory)) {
    state_contract(call, given);
    spec.transport = &transport;
    spec.order = given.order;
    const bool any_transport = given.transport == nullptr && given.transport_name.empty();
    const bool by_messages = caller.non_blocking || given.order;
    const SelectionInputs inputs = inputs_of(caller.core, call, by_messages, any_transport);
    choose<C>(spec, call, inputs);
    is_watched = watches_across_nodes(call, inputs);
    if (spec.hierarchical != nullptr) return;
    if (spec.arrival != nullptr) {
      check_arrival(caller, *spec.arrival, transport, call);
    } else {
      check_schedule(caller, spec.schedule, call);
    }
  }
};

template <Collective C>
void run_chosen(const Caller& caller, const AlgorithmSpec& given, Call& call) {
  if (is_run_in_arena(run_chosen<C>, caller, given, call)) return;
  TeamCore& core = caller.core;
  const bool remembers = given.is_free() && core.on_one_node();
  if (remembers) {
    state_contract(call, given);
    const ArrivalAlgorithm* const before = selection_of(core).choices.find(call, core.looks());
    if (before != nullptr) {
      return with_neighbours(core, call, [&](const Call& c) { core.run(*before, c); });
    }
  }
  const ChosenAlgorithm<C> chosen{caller, given, call};
  if (remembers && chosen.spec.arrival != nullptr) {
    selection_of(core).choices.keep(call, core.looks(), *chosen.spec.arrival);
  }
  const auto run = [&] {
    if (chosen.spec.hierarchical != nullptr) {
      with_neighbours(core, call, [&](const Call& c) {
        run_hierarchical<C>(core, *chosen.spec.hierarchical, c);
      });
    } else {
      run_checked(caller, chosen.spec, chosen.transport, call);
    }
  };
  if (chosen.is_watched) return core.run_watched(core.hierarchy()->groups, call, run);
  run();
}

#define PAPCOLL_ONCE_FOR(c) \
  PAPCOLL_COMPILE_ONCE(void run_chosen<Collective::c>(const Caller&, const AlgorithmSpec&, Call&))
PAPCOLL_FOR_EACH_COLLECTIVE(PAPCOLL_ONCE_FOR)
#undef PAPCOLL_ONCE_FOR

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
