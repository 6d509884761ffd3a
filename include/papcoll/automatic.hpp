// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Calls that name no algorithm: allreduce(comm, data), or only its transport, contract or arrival
// policy. What runs is chosen for each call. Included by papcoll.hpp and core.hpp.
#include <papcoll/call/route.hpp>

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/base/call.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/call/persistent_call.hpp>
#include <papcoll/call/request.hpp>
#include <papcoll/choice/policies/algorithm_spec.hpp>
#include <papcoll/choice/selection/choose.hpp>
#include <papcoll/choice/selection/run_hierarchical.hpp>
#include <papcoll/choice/selection/selection_state.hpp>
#include <papcoll/runtime/memory/arena.hpp>
#include <papcoll/runtime/setup/hierarchy.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/transport/memory_transports.hpp>

#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// A spec that names no algorithm, completed for one call and checked against it.
struct ChosenAlgorithm {
  const TransportTable& transport;
  AlgorithmSpec spec;
  bool follows_arrivals = false;    ///< it depends on arrivals that ranks exchange
  bool may_exchange_costs = false;  ///< they may exchange what it costs, too

  ChosenAlgorithm(const CallOrigin& origin, const AlgorithmSpec& given, Call& call,
                  const Chooser& chooser)
      : transport(given.transport == nullptr && given.transport_name.empty()
                      ? default_transport(origin.core.environment())
                      : transport_for(origin, given, call.memory)) {
    apply_contract(call, given);
    spec.transport = &transport;
    spec.order = given.order;
    const bool any_transport = given.transport == nullptr && given.transport_name.empty();
    const bool must_pass_messages = origin.non_blocking || given.order;
    learn_from_call(origin.core, call, chooser, origin.non_blocking);
    SelectionInputs inputs = inputs_of(origin.core, call, must_pass_messages, any_transport);
    if (given.order) inputs.learner = nullptr;
    if (inputs.rules == nullptr || choose_by_rules(spec, call, inputs, chooser) == nullptr) {
      choose(spec, call, inputs, chooser);
    }
    follows_arrivals = watches_across_nodes(call, inputs);
    may_exchange_costs = !must_pass_messages && any_transport && counts_calls(origin.core);
    if (spec.hierarchical != nullptr) return;
    if (spec.arrival != nullptr) {
      check_arrival(origin, *spec.arrival, transport, call);
    } else {
      check_schedule(origin, spec.schedule, call);
    }
  }
};

/// Runs a blocking call by what is chosen for it now, and remembers it where that may stand.
[[gnu::noinline]] inline void run_choosing(const CallOrigin& origin, const AlgorithmSpec& given,
                                           Call& call, const Chooser& chooser, bool remembers) {
  TeamCore& core = origin.core;
  const ChosenAlgorithm chosen{origin, given, call, chooser};
  const HierarchicalSpec* const h = chosen.spec.hierarchical;
  if (remembers && (chosen.spec.arrival != nullptr || (h != nullptr && h->by_caches))) {
    selection_of(core).choices.keep(call, core.node.generation(), core.next_epoch(),
                                    chosen.spec.arrival);
  }
  const auto run = [&] {
    if (h != nullptr) {
      with_contiguous_buffers(core, call,
                              [&](const Call& c) { run_hierarchical(core, *h, c, chooser); });
    } else {
      run_checked(origin, chosen.spec, chosen.transport, call);
    }
  };
  if (!chosen.may_exchange_costs) return run();
  // Phases of the call have trials of their own.
  const CallTrial trial = std::exchange(call.trial, {});
  const Hierarchy* const nodes = core.hierarchy();
  core.scheduled.run_counted(nodes == nullptr ? nullptr : &nodes->groups, call, trial,
                             chosen.follows_arrivals, run);
}

[[gnu::noinline]] inline void run_chosen(const CallOrigin& origin, const AlgorithmSpec& given,
                                         Call& call, const Chooser& chooser) {
  const auto again = [&](Call& moved) { run_chosen(origin, given, moved, chooser); };
  if (origin.core.registrations() != nullptr && run_in_arena(origin, call, again)) return;
  TeamCore& core = origin.core;
  const bool remembers = given.is_free() && core.on_one_node();
  if (remembers) {
    apply_contract(call, given);
    const SelectionCache& choices = selection_of(core).choices;
    const ArrivalAlgorithm* const before =
        choices.find(call, core.node.generation(), core.next_epoch());
    if (before != nullptr) {
      if (!call.is_noncontiguous) [[likely]]
        return core.run(*before, call);
      return with_contiguous_buffers(core, call, [&](const Call& c) { core.run(*before, c); });
    }
    if (choices.goes_by_caches(call, core.node.generation(), core.next_epoch())) {
      return with_contiguous_buffers(core, call, [&](const Call& c) {
        run_hierarchical(core, chooser.by_caches(), c, chooser);
      });
    }
  }
  run_choosing(origin, given, call, chooser, remembers);
}

[[gnu::noinline]] inline Request start_chosen(const CallOrigin& origin, const AlgorithmSpec& spec,
                                              Call& call, Shared<const void> owned,
                                              const Chooser& chooser) {
  const ChosenAlgorithm chosen{origin, spec, call, chooser};
  return start_checked(origin, chosen.spec, chosen.transport, call, std::move(owned));
}

[[gnu::noinline]] inline ResolvedAlgorithm resolve_chosen(const CallOrigin& origin,
                                                          const AlgorithmSpec& spec, Call& call,
                                                          const Chooser& chooser) {
  const ChosenAlgorithm chosen{origin, spec, call, chooser};
  if (chosen.spec.hierarchical != nullptr || chosen.spec.order) return {};
  if (chosen.spec.arrival == nullptr) return {nullptr, chosen.spec.schedule};
  if (chosen.transport.make_context != nullptr || chosen.follows_arrivals) return {};
  return {chosen.spec.arrival, {}};
}

template <Collective C>
void Chosen<C>::run(const CallOrigin& origin, const AlgorithmSpec& given, Call& call) {
  run_chosen(origin, given, call, ChooserOf<C>::value);
}
template <Collective C>
Request Chosen<C>::start(const CallOrigin& origin, const AlgorithmSpec& spec, Call& call,
                         Shared<const void> owned) {
  return start_chosen(origin, spec, call, std::move(owned), ChooserOf<C>::value);
}
template <Collective C>
ResolvedAlgorithm Chosen<C>::resolve(const CallOrigin& origin, const AlgorithmSpec& spec,
                                     Call& call) {
  return resolve_chosen(origin, spec, call, ChooserOf<C>::value);
}

#define PAPCOLL_ONCE_FOR(c) PAPCOLL_COMPILE_ONCE(struct Chosen<Collective::c>)
PAPCOLL_FOR_EACH_COLLECTIVE(PAPCOLL_ONCE_FOR)
#undef PAPCOLL_ONCE_FOR

template <Collective C> inline constexpr bool chooses<CollectiveTag<C>> = true;

}  // namespace papcoll::inline PAPCOLL_ABI::detail
#endif
