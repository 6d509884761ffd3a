#pragma once

#include <papcoll/algorithms/static/ticket_chain.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/entry/entry.hpp>
#include <papcoll/error.hpp>
#include <papcoll/policies/not_served.hpp>
#include <papcoll/runtime/team.hpp>

#include <string>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

PAPCOLL_DECL void refuse(TeamCore& core, Collective collective, bool non_blocking,
                         const std::string& what) {
  core.refuse(collective, non_blocking, what);
}

PAPCOLL_DECL int rank_of(const TeamCore& core) noexcept { return core.rank(); }

PAPCOLL_DECL int size_of(const TeamCore& core) noexcept { return core.size(); }

PAPCOLL_DECL const TransportTable& transport_for(const Caller& caller, const AlgorithmSpec& s) {
  TeamCore& core = caller.core;
  const TransportTable* transport = s.transport;
  if (transport == nullptr && s.transport_name.empty()) transport = &core.default_transport();
  if (transport == &core.default_transport()) return *transport;
  try {
    if (transport == nullptr) transport = &core.transport(s.transport_name);
    core.require(*transport);
  } catch (const transport_unavailable& problem) {
    core.tell_refusal(caller.non_blocking, problem.what());
    throw;
  }
  return *transport;
}

PAPCOLL_DECL void check_arrival(const Caller& caller, const ArrivalAlgorithm& algorithm,
                                const TransportTable& transport, const Call& call) {
  TeamCore& core = caller.core;
  const bool has_site = transport.site == algorithm.site;
  const bool fits = call.reducer.size <= core.options().chunk_bytes;
  const bool few = core.size() <= algorithm.most_ranks;
  const bool ordered = !call.rank_order || !is_reduction(call.collective) ||
                       algorithm.contract == NumericalContract::reproducible ||
                       algorithm.keeps_order_on_request;
  if (has_site && core.on_one_node() && fits && few && ordered && !caller.non_blocking &&
      !call.schedules_only && algorithm.serves(call.collective)) {
    return;
  }
  const std::string name{algorithm.name};
  if (!ordered) {
    caller.refuse(name +
                  " combines in the order of arrival: for Reproducible, or an operator that is "
                  "not known to commute, take CombiningTree or DynamicLeader");
  }
  if (caller.non_blocking) {
    caller.refuse(name + " cannot be non-blocking: take a static schedule or the blocking call");
  }
  if (!algorithm.serves(call.collective)) {
    caller.refuse(not_served(name, call.collective, algorithm.serves));
  }
  if (call.schedules_only) {
    caller.refuse(name +
                  " takes neighbouring elements, of each rank as many as of the others: for "
                  "strided buffers and for counts take a static schedule such as Ring");
  }
  if (!core.on_one_node()) {
    const std::string why =
        name + " needs memory that all ranks share: " + core.surroundings().why_no_shared_memory;
    core.tell_refusal(false, why);
    throw transport_unavailable("papcoll: " + why);
  }
  if (!has_site && (transport.offers & capability::node_memory) == 0) {
    caller.refuse(name + " reads its peers' memory, and " + std::string(transport.name) +
                  " only passes messages: take ShmTransport (ThreadTransport in a ThreadTeam)");
  }
  if (!has_site) {
    caller.refuse(name + " was not compiled for the site of " + std::string(transport.name) +
                  ": name both as policies, allreduce<" + name + ", " +
                  std::string(transport.name) + ">");
  }
  if (!few) caller.refuse(algorithm.refusal_of(core.size()));
  caller.refuse(name + " takes elements of at most " + std::to_string(core.options().chunk_bytes) +
                " bytes: take a static schedule, or larger Options::chunk_bytes");
}

PAPCOLL_DECL void check_ticket_chain(const Caller& caller, const Call& call) {
  if (!TicketChain::serves(call.collective)) {
    caller.refuse(not_served("ArrivalOrder+Chain", call.collective, &TicketChain::serves));
  }
  if (call.rank_order) {
    caller.refuse(
        "ArrivalOrder+Chain combines in the order of arrival: for Reproducible, or an operator "
        "that is not known to commute, take a static schedule such as Rabenseifner");
  }
  if (caller.non_blocking) {
    caller.refuse(
        "ArrivalOrder+Chain cannot be non-blocking: take a static schedule or the blocking call");
  }
}

PAPCOLL_DECL void check_schedule(const Caller& caller, const AnySchedule& schedule,
                                 const Call& call) {
  if (!schedule.serves(call.collective)) {
    caller.refuse(not_served(schedule.name(), call.collective,
                             [&](Collective c) { return schedule.serves(c); }));
  }
  if (!call.reducer.commutative && schedule.commutative_only()) {
    caller.refuse(schedule.name() +
                  " combines out of rank order and the operator is not known to commute: "
                  "wrap it as papcoll::commutative(op), or take Rabenseifner or Exchange");
  }
}

/// Runs what a spec names on its transport, where nothing is left to check.
PAPCOLL_DECL void run_checked(const Caller& caller, const AlgorithmSpec& spec,
                              const TransportTable& transport, const Call& call) {
  if (spec.arrival != nullptr) {
    caller.core.run(*spec.arrival, transport, call);
  } else {
    caller.core.run(spec.schedule, transport, call, spec.predictor, spec.by_ticket);
  }
}

PAPCOLL_DECL void run_arrival_driven(const Caller& caller, const AlgorithmSpec& spec, Call& call) {
  const TransportTable& transport = transport_for(caller, spec);
  state_contract(call, spec);
  check_arrival(caller, *spec.arrival, transport, call);
  caller.core.run(*spec.arrival, transport, call);
}

PAPCOLL_DECL void run_schedule(const Caller& caller, const AlgorithmSpec& spec, Call& call) {
  const TransportTable& transport = transport_for(caller, spec);
  state_contract(call, spec);
  check_schedule(caller, spec.schedule, call);
  caller.core.run_in_rank_order(spec.schedule, transport, call);
}

PAPCOLL_DECL void run_spec(const Caller& caller, const AlgorithmSpec& spec, Call& call) {
  if (spec.hierarchical != nullptr) {
    state_contract(call, spec);
    return spec.run_hierarchical(caller.core, *spec.hierarchical, call);
  }
  if (spec.arrival != nullptr) return run_arrival_driven(caller, spec, call);
  const TransportTable& transport = transport_for(caller, spec);
  state_contract(call, spec);
  check_schedule(caller, spec.schedule, call);
  if (spec.by_ticket) check_ticket_chain(caller, call);
  run_checked(caller, spec, transport, call);
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
