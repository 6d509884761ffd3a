#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/call/team_of.hpp>
#include <papcoll/choice/policies/refused_call.hpp>
#include <papcoll/choice/policies/requirements.hpp>
#include <papcoll/runtime/memory/arena.hpp>
#include <papcoll/runtime/memory/registrations.hpp>
#include <papcoll/runtime/team.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI::detail {

PAPCOLL_DECL void Caller::refuse(const std::string& what) const {
  core.invalid.refuse(called(), what);
}

PAPCOLL_DECL void Caller::refuse_length(std::size_t found, std::size_t needed,
                                        const char* what) const {
  refuse(joined({what, " (found ", found, ", needed ", needed, ")"}));
}

PAPCOLL_DECL void Caller::refuse_count(std::size_t count, std::size_t bytes_of_one) const {
  refuse(joined({"a count of ", count, " elements of ", bytes_of_one, " bytes is too much for ",
                 size(),
                 " ranks: together they would have more than PTRDIFF_MAX bytes; pass a smaller "
                 "one, or make several calls"}));
}

PAPCOLL_DECL void Caller::refuse_sum(std::span<const std::size_t> of_rank,
                                     std::size_t bytes_of_one) const {
  // The first that is too much.
  std::size_t left = PTRDIFF_MAX / bytes_of_one;
  std::size_t r = 0;
  while (r + 1 < of_rank.size() && of_rank[r] <= left) left -= of_rank[r++];
  refuse_count(of_rank[r], bytes_of_one);
}

PAPCOLL_DECL bool Caller::are_too_many(std::size_t count, std::size_t bytes_of_one) const noexcept {
  std::size_t bytes = 0;
  const bool wraps = __builtin_mul_overflow(count, bytes_of_one, &bytes) ||
                     __builtin_mul_overflow(bytes, ranks(), &bytes);
  return wraps || bytes > PTRDIFF_MAX;
}

PAPCOLL_DECL int rank_of(const TeamCore& core) noexcept { return core.rank(); }
PAPCOLL_DECL const Machine* several_nodes_of(const TeamCore& core) noexcept {
  const TeamEnvironment& s = core.surroundings();
  return s.node != nullptr || s.machine == nullptr ? nullptr : &s.machine->get();
}

[[gnu::cold]] PAPCOLL_DECL const std::string& no_ipc_of(const TeamCore& core) noexcept {
  return core.connections.why_no_ipc();
}

PAPCOLL_DECL int size_of(const TeamCore& core) noexcept { return core.size(); }

PAPCOLL_DECL const TransportTable& transport_for(const Caller& caller, const AlgorithmSpec& s,
                                                 MemoryKind memory) {
  TeamCore& core = caller.core;
  const TransportTable* transport = s.transport;
  try {
    if (transport == nullptr) {
      transport = &s.find_transport(core.surroundings(), s.transport_name);
      if (s.transport_name.empty()) return *transport;
    }
    core.connections.require(*transport);
  } catch (const transport_unavailable& problem) {
    core.invalid.tell(caller.non_blocking, problem.what());
    throw;
  }
  if ((transport->offers & capability::device_memory) != 0 && memory == MemoryKind::host) {
    core.invalid.refuse<unsupported_call>(
        caller.called(), joined({transport->name, " moves memory of devices: call papcoll::gpu::",
                                 name_of(caller.collective), ", or take another transport"}));
  }
  return *transport;
}

PAPCOLL_DECL void check_arrival(const Caller& caller, const ArrivalAlgorithm& algorithm,
                                const TransportTable& transport, const Call& call) {
  TeamCore& core = caller.core;
  TeamOffers offers{.ranks = core.size(), .chunk_bytes = core.options().chunk_bytes};
  if (!core.on_one_node()) offers.bits &= ~requirement::common_memory;
  if (transport.site != algorithm.site) {
    offers.bits &= ~(requirement::compiled_site | requirement::node_memory);
    offers.bits |= transport.offers & requirement::node_memory;
  }
  require_able(core, caller.called(), algorithm, needs_in_call(algorithm, call), call, offers,
               transport.name);
}

PAPCOLL_DECL void check_schedule(const Caller& caller, const AnySchedule& schedule,
                                 const Call& call) {
  const AlgorithmNeeds needs = needs_in_call(schedule, call);
  if (needs.serves && needs.bits == 0) return;
  require_able(caller.core, caller.called(), schedule, needs, call);
}

/// Checks a schedule in the order that a spec names.
PAPCOLL_DECL void check_named_schedule(const Caller& caller, const AlgorithmSpec& spec,
                                       const Call& call) {
  if (const TicketedAlgorithm* const drawn = spec.tickets) {
    require_able(caller.core, caller.called(), *drawn, needs_in_call(*drawn, call), call);
  }
  check_schedule(caller, spec.schedule, call);
}

/// Runs what a spec names on its transport, where nothing is left to check.
PAPCOLL_DECL void run_checked(const Caller& caller, const AlgorithmSpec& spec,
                              const TransportTable& transport, const Call& call) {
  if (spec.arrival != nullptr) {
    with_neighbours(caller.core, call,
                    [&](const Call& c) { caller.core.run(*spec.arrival, transport, c); });
  } else {
    caller.core.run(spec.schedule, transport, call, spec.order, spec.tickets != nullptr);
  }
}

/// If a call has registered buffers, runs it by `run` with their places in the arena, and returns
/// true. Used only if something was ever registered. Takes the call by value, so that a compiler
/// still knows afterwards what the caller's is.
template <class Run>
[[gnu::noinline]] bool run_in_arena(const Caller& caller, Call call, const Run& run) {
  CallInArena moved{*caller.core.registrations(), call, caller.rank(), caller.size()};
  if (!moved.any()) return false;
  run(moved.call());
  moved.finish();
  return true;
}

PAPCOLL_DECL void run_arrival_driven(const Caller& caller, const AlgorithmSpec& spec, Call& call) {
  const auto again = [&](Call& moved) { run_arrival_driven(caller, spec, moved); };
  if (caller.core.registrations() != nullptr && run_in_arena(caller, call, again)) return;
  const TransportTable& transport = transport_for(caller, spec, call.memory);
  state_contract(call, spec);
  check_arrival(caller, *spec.arrival, transport, call);
  run_checked(caller, spec, transport, call);
}

PAPCOLL_DECL void run_schedule(const Caller& caller, const AlgorithmSpec& spec, Call& call) {
  const TransportTable& transport = transport_for(caller, spec, call.memory);
  state_contract(call, spec);
  check_schedule(caller, spec.schedule, call);
  caller.core.run_in_rank_order(spec.schedule, transport, call);
}

PAPCOLL_DECL void run_at_endpoint(const Caller& caller, const AlgorithmSpec& spec, Call& call,
                                  std::uint32_t id, std::string_view name, RunAtEndpoint& run) {
  const TransportTable& transport = transport_for(caller, spec, MemoryKind::device);
  state_contract(call, spec);
  if (!name.empty()) caller.core.counts.add(call.collective, name);
  caller.core.scheduled.run_at_endpoint(id, transport, call, run);
}

PAPCOLL_DECL void run_spec(const Caller& caller, const AlgorithmSpec& spec, Call& call) {
  if (spec.hierarchical != nullptr) {
    const auto again = [&](Call& moved) { run_spec(caller, spec, moved); };
    if (caller.core.registrations() != nullptr && run_in_arena(caller, call, again)) return;
    state_contract(call, spec);
    return with_neighbours(caller.core, call, [&](const Call& c) {
      spec.run_hierarchical(caller.core, *spec.hierarchical, c);
    });
  }
  if (spec.arrival != nullptr) return run_arrival_driven(caller, spec, call);
  const TransportTable& transport = transport_for(caller, spec, call.memory);
  state_contract(call, spec);
  check_named_schedule(caller, spec, call);
  run_checked(caller, spec, transport, call);
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
