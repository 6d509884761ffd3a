// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/call/argument_checks.hpp>
#include <papcoll/call/argument_kinds.hpp>
#include <papcoll/choice/policies/policy_checks.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

class Endpoint;
class Request;
class Waiter;

namespace detail {

/// Each checks the call against what the spec names, and runs it: an arrival-driven algorithm, a
/// static schedule in the order of the ranks, or whatever it is.
PAPCOLL_DECL void run_arrival_driven(const CallOrigin& origin, const AlgorithmSpec& spec,
                                     Call& call);
PAPCOLL_DECL void run_schedule(const CallOrigin& origin, const AlgorithmSpec& spec, Call& call);
PAPCOLL_DECL void run_spec(const CallOrigin& origin, const AlgorithmSpec& spec, Call& call);

/// Checks the transport that the spec names, and runs an algorithm of its endpoint: see
/// ScheduledCalls::run_at_endpoint(). All else has been checked.
PAPCOLL_DECL void run_at_endpoint(const CallOrigin& origin, const AlgorithmSpec& spec, Call& call,
                                  std::uint32_t id, std::string_view name,
                                  void (&run)(Endpoint&, std::uint32_t sequence, Waiter&,
                                              const Call&));

struct ResolvedAlgorithm;

/// Checks the call against what the spec names, and starts it. `owned` keeps alive what the call's
/// reducer points to.
PAPCOLL_DECL Request start_spec(const CallOrigin& origin, const AlgorithmSpec& spec, Call& call,
                                Shared<const void> owned);

/// The algorithm of a prepared call whose spec leaves nothing open.
PAPCOLL_DECL ResolvedAlgorithm resolve_spec(const CallOrigin& origin, const AlgorithmSpec& spec,
                                            Call& call);

/// The functions of a spec that leaves the algorithm open, which automatic.hpp then chooses.
template <Collective C> struct Chosen {
  static void run(const CallOrigin& origin, const AlgorithmSpec& spec, Call& call);
  static Request start(const CallOrigin& origin, const AlgorithmSpec& spec, Call& call,
                       Shared<const void> owned);
  static ResolvedAlgorithm resolve(const CallOrigin& origin, const AlgorithmSpec& spec, Call& call);
};

/// What a call does when it is asked to, once its collective and what it names are known.
struct CallActions {
  void (*run)(const CallOrigin&, const AlgorithmSpec&, Call&);
  Request (*start)(const CallOrigin&, const AlgorithmSpec&, Call&, Shared<const void>);
  /// Checks a call, blocking or not as its caller has it.
  ResolvedAlgorithm (*resolve)(const CallOrigin&, const AlgorithmSpec&, Call&);
};

/// True in a file that includes what chooses algorithms (automatic.hpp). Files with
/// PAPCOLL_COMPILED need not.
template <class Tag> inline constexpr bool chooses = !PAPCOLL_HAS_SHARED_CODE;

template <class Tag> struct call_can_be_chosen_for {
  static constexpr bool ok = chooses<Tag>;
  static_assert(ok,
                "papcoll: this call names no algorithm, and nothing that chooses one is included: "
                "include <papcoll/automatic.hpp> (papcoll.hpp and core.hpp do), or name one, as in "
                "allreduce<papcoll::Ring>(comm, data)");
};

/// What a set of policies names, as far as it decides what a call has to compile.
enum class Named : unsigned char { nothing, schedule, arrival_driven, something };

template <class... Ps> consteval Named named_by() {
  if constexpr ((is_hierarchical<Ps> || ...) || !well_formed<Ps...>) {
    return Named::something;
  } else {
    using Policies = NamedPolicies<Ps...>;
    using Arrival = typename Policies::Arrival;
    using Schedule = typename Policies::Schedule;
    if (!Policies::has_schedule) return Named::nothing;
    if (StaticSchedule<Schedule>) {
      return std::same_as<Arrival, StaticOrder> ? Named::schedule : Named::something;
    }
    return IsArrivalDriven<Arrival, typename Policies::Named> && !Policies::draws_tickets
               ? Named::arrival_driven
               : Named::something;
  }
}

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

template <class... Ps> constexpr auto runner_of() noexcept {
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
template <Way W, Collective C, bool Commutes, class... Ps> constexpr Route route_of() noexcept {
  Route r{};
  if constexpr (sizeof...(Ps) != 0) {
    r.policies = spec_of_policies<C, W == Way::non_blocking, Commutes, Ps...>;
  }
  // One that arrivals drive is resolved beforehand, where its run is known.
  constexpr bool names_schedule = named_by<Ps...>() == Named::schedule;
  if constexpr (W == Way::blocking) r.named.run = runner_of<Ps...>();
  if constexpr (W == Way::persistent) r.named.run = names_schedule ? run_schedule : run_spec;
  if constexpr (W != Way::blocking) r.named.start = start_spec;
  if constexpr (W == Way::persistent) r.named.resolve = resolve_spec;
  if constexpr (named_by<Ps...>() == Named::nothing) {
    if constexpr (call_can_be_chosen_for<CollectiveTag<C>>::ok) {
      r.chooses = true;
      if constexpr (W != Way::non_blocking) r.chosen.run = Chosen<C>::run;
      if constexpr (W != Way::blocking) r.chosen.start = Chosen<C>::start;
      if constexpr (W == Way::persistent) r.chosen.resolve = Chosen<C>::resolve;
    }
  }
  return r;
}

}  // namespace detail
}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/choice/policies/refused_call.hpp>
#include <papcoll/choice/policies/requirements.hpp>
#include <papcoll/runtime/memory/arena.hpp>
#include <papcoll/runtime/memory/registrations.hpp>
#include <papcoll/runtime/team.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

PAPCOLL_DECL void CallOrigin::refuse(const std::string& what) const {
  core.invalid.refuse(label(), what);
}

PAPCOLL_DECL void CallOrigin::refuse_length(std::size_t found, std::size_t needed,
                                            const char* what) const {
  refuse(joined({what, " (found ", found, ", needed ", needed, ")"}));
}

PAPCOLL_DECL void CallOrigin::refuse_count(std::size_t count, std::size_t bytes_of_one) const {
  refuse(joined({"a count of ", count, " elements of ", bytes_of_one, " bytes is too much for ",
                 size(),
                 " ranks: together they would have more than PTRDIFF_MAX bytes; pass a smaller "
                 "one, or make several calls"}));
}

PAPCOLL_DECL void CallOrigin::refuse_sum(std::span<const std::size_t> of_rank,
                                         std::size_t bytes_of_one) const {
  // The first that is too much.
  std::size_t left = PTRDIFF_MAX / bytes_of_one;
  std::size_t r = 0;
  while (r + 1 < of_rank.size() && of_rank[r] <= left) left -= of_rank[r++];
  refuse_count(of_rank[r], bytes_of_one);
}

PAPCOLL_DECL bool CallOrigin::are_too_many(std::size_t count,
                                           std::size_t bytes_of_one) const noexcept {
  std::size_t bytes = 0;
  const bool wraps = __builtin_mul_overflow(count, bytes_of_one, &bytes) ||
                     __builtin_mul_overflow(bytes, ranks(), &bytes);
  return wraps || bytes > PTRDIFF_MAX;
}

PAPCOLL_DECL int rank_of(const TeamCore& core) noexcept { return core.rank(); }
PAPCOLL_DECL const Machine* several_nodes_of(const TeamCore& core) noexcept {
  const TeamEnvironment& environment = core.environment();
  return environment.node != nullptr || environment.machine == nullptr
             ? nullptr
             : &environment.machine->get();
}

[[gnu::cold]] PAPCOLL_DECL const std::string& why_no_ipc_of(const TeamCore& core) noexcept {
  return core.connections.why_no_ipc();
}

PAPCOLL_DECL int size_of(const TeamCore& core) noexcept { return core.size(); }

PAPCOLL_DECL const TransportTable& transport_for(const CallOrigin& origin,
                                                 const AlgorithmSpec& spec, MemoryKind memory) {
  TeamCore& core = origin.core;
  const TransportTable* transport = spec.transport;
  try {
    if (transport == nullptr) {
      transport = &spec.find_transport(core.environment(), spec.transport_name);
      if (spec.transport_name.empty()) return *transport;
    }
    core.connections.require(*transport);
  } catch (const transport_unavailable& problem) {
    core.invalid.notify_peers(origin.non_blocking, problem.what());
    throw;
  }
  if ((transport->offers & capability::device_memory) != 0 && memory == MemoryKind::host) {
    core.invalid.refuse<unsupported_call>(
        origin.label(), joined({transport->name, " moves memory of devices: call papcoll::gpu::",
                                name_of(origin.collective), ", or take another transport"}));
  }
  return *transport;
}

PAPCOLL_DECL void check_arrival(const CallOrigin& origin, const ArrivalAlgorithm& algorithm,
                                const TransportTable& transport, const Call& call) {
  TeamCore& core = origin.core;
  TeamOffers offers{.ranks = core.size(), .chunk_bytes = core.options().chunk_bytes};
  if (!core.on_one_node()) offers.bits &= ~requirement::common_memory;
  if (transport.context != algorithm.context) {
    offers.bits &= ~(requirement::compiled_context | requirement::node_memory);
    offers.bits |= transport.offers & requirement::node_memory;
  }
  require_able(core, origin.label(), algorithm, needs_in_call(algorithm, call), call, offers,
               transport.name);
}

PAPCOLL_DECL void check_schedule(const CallOrigin& origin, const AnySchedule& schedule,
                                 const Call& call) {
  const AlgorithmNeeds needs = needs_in_call(schedule, call);
  if (needs.serves && needs.bits == 0) return;
  require_able(origin.core, origin.label(), schedule, needs, call);
}

/// Checks a schedule in the order that a spec names.
PAPCOLL_DECL void check_named_schedule(const CallOrigin& origin, const AlgorithmSpec& spec,
                                       const Call& call) {
  if (const TicketedAlgorithm* const drawn = spec.tickets) {
    require_able(origin.core, origin.label(), *drawn, needs_in_call(*drawn, call), call);
  }
  check_schedule(origin, spec.schedule, call);
}

/// Runs what a spec names on its transport, where nothing is left to check.
PAPCOLL_DECL void run_checked(const CallOrigin& origin, const AlgorithmSpec& spec,
                              const TransportTable& transport, const Call& call) {
  if (spec.arrival != nullptr) {
    with_contiguous_buffers(origin.core, call,
                            [&](const Call& c) { origin.core.run(*spec.arrival, transport, c); });
  } else {
    origin.core.run(spec.schedule, transport, call, spec.order, spec.tickets != nullptr);
  }
}

/// If a call has registered buffers, runs it by `run` with their places in the arena, and returns
/// true. Used only if something was ever registered. Takes the call by value, so that a compiler
/// still knows afterwards what the caller's is.
template <class Run>
[[gnu::noinline]] bool run_in_arena(const CallOrigin& origin, Call call, const Run& run) {
  CallInArena moved{*origin.core.registrations(), call, origin.rank(), origin.size()};
  if (!moved.any()) return false;
  run(moved.call());
  moved.finish();
  return true;
}

PAPCOLL_DECL void run_arrival_driven(const CallOrigin& origin, const AlgorithmSpec& spec,
                                     Call& call) {
  const auto again = [&](Call& moved) { run_arrival_driven(origin, spec, moved); };
  if (origin.core.registrations() != nullptr && run_in_arena(origin, call, again)) return;
  const TransportTable& transport = transport_for(origin, spec, call.memory);
  apply_contract(call, spec);
  check_arrival(origin, *spec.arrival, transport, call);
  run_checked(origin, spec, transport, call);
}

PAPCOLL_DECL void run_schedule(const CallOrigin& origin, const AlgorithmSpec& spec, Call& call) {
  const TransportTable& transport = transport_for(origin, spec, call.memory);
  apply_contract(call, spec);
  check_schedule(origin, spec.schedule, call);
  origin.core.run_in_rank_order(spec.schedule, transport, call);
}

PAPCOLL_DECL void run_at_endpoint(const CallOrigin& origin, const AlgorithmSpec& spec, Call& call,
                                  std::uint32_t id, std::string_view name, RunAtEndpoint& run) {
  const TransportTable& transport = transport_for(origin, spec, MemoryKind::device);
  apply_contract(call, spec);
  if (!name.empty()) origin.core.counts.add(call.collective, name);
  origin.core.scheduled.run_at_endpoint(id, transport, call, run);
}

PAPCOLL_DECL void run_spec(const CallOrigin& origin, const AlgorithmSpec& spec, Call& call) {
  if (spec.hierarchical != nullptr) {
    const auto again = [&](Call& moved) { run_spec(origin, spec, moved); };
    if (origin.core.registrations() != nullptr && run_in_arena(origin, call, again)) return;
    apply_contract(call, spec);
    return with_contiguous_buffers(origin.core, call, [&](const Call& c) {
      spec.run_hierarchical(origin.core, *spec.hierarchical, c);
    });
  }
  if (spec.arrival != nullptr) return run_arrival_driven(origin, spec, call);
  const TransportTable& transport = transport_for(origin, spec, call.memory);
  apply_contract(call, spec);
  check_named_schedule(origin, spec, call);
  run_checked(origin, spec, transport, call);
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
#endif
