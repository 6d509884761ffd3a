#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/entry/entry.hpp>
#include <papcoll/entry/run_hierarchical.hpp>
#include <papcoll/error.hpp>
#include <papcoll/policies/not_served.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/select/automatic.hpp>

#include <string>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

template <class>
void refuse(TeamCore& core, Collective collective, bool non_blocking, const std::string& what) {
  core.refuse(collective, non_blocking, what);
}
PAPCOLL_COMPILE_ONCE(void refuse<>(TeamCore&, Collective, bool, const std::string&))

template <class>
int rank_of(const TeamCore& core) noexcept {
  return core.rank();
}
PAPCOLL_COMPILE_ONCE(int rank_of<>(const TeamCore&) noexcept)

template <class>
int size_of(const TeamCore& core) noexcept {
  return core.size();
}
PAPCOLL_COMPILE_ONCE(int size_of<>(const TeamCore&) noexcept)

/// A selection with everything filled in, checked against the call. Holds no memory of its own
/// unless the choice was made here.
struct Resolved {
  const ArrivalAlgorithm* arrival = nullptr;
  const AnySchedule* schedule = nullptr;
  const TransportTable* transport = nullptr;
  AlgorithmSpec chosen;
  bool is_watched = false;  ///< its algorithm depends on arrivals that ranks tell each other

  Resolved(const Caller& caller, const AlgorithmSpec& s, Call& call, Choose* choose) {
    TeamCore& core = caller.core;
    find_transport(caller, s);
    state_contract(call, s);
    if (s.is_automatic()) {
      chosen.transport = transport;
      const bool any_transport = s.transport == nullptr && s.transport_name.empty();
      const bool by_messages = caller.non_blocking || s.predictor || call.schedules_only;
      const SelectionInputs inputs = core.selection_inputs(call, by_messages, any_transport);
      choose(chosen, call, inputs);
      is_watched = watches_across_nodes(call, inputs);
      if (chosen.hierarchical != nullptr) return;
      arrival = chosen.arrival;
      schedule = &chosen.schedule;
    } else {
      arrival = s.arrival;
      schedule = &s.schedule;
    }
    if (arrival != nullptr) {
      check_arrival(caller, call);
    } else {
      check_schedule(caller, call);
      if (s.by_ticket) check_ticket_chain(caller, call);
    }
  }
  Resolved(const Resolved&) = delete;
  Resolved& operator=(const Resolved&) = delete;

 private:
  void find_transport(const Caller& caller, const AlgorithmSpec& s) {
    TeamCore& core = caller.core;
    transport = s.transport;
    if (transport == nullptr && s.transport_name.empty()) transport = &core.default_transport();
    if (transport == &core.default_transport()) return;
    try {
      if (transport == nullptr) transport = &core.transport(s.transport_name);
      core.require(*transport);
    } catch (const transport_unavailable& problem) {
      core.tell_refusal(caller.non_blocking, problem.what());
      throw;
    }
  }

  void check_arrival(const Caller& caller, const Call& call) const {
    TeamCore& core = caller.core;
    const bool reads_memory = (transport->offers & capability::node_memory) != 0;
    const bool fits = call.reducer.size <= core.options().chunk_bytes;
    const bool few = core.size() <= arrival->most_ranks;
    const bool ordered = !call.rank_order || !is_reduction(call.collective) ||
                         arrival->contract == NumericalContract::reproducible ||
                         arrival->keeps_order_on_request;
    if (reads_memory && core.on_one_node() && fits && few && ordered && !caller.non_blocking &&
        !call.schedules_only && arrival->serves(call.collective)) {
      return;
    }
    const std::string name{arrival->name};
    if (!ordered) {
      caller.refuse(name +
                    " combines in the order of arrival: for Reproducible, or an operator that is "
                    "not known to commute, take CombiningTree or DynamicLeader");
    }
    if (caller.non_blocking) {
      caller.refuse(name + " cannot be non-blocking: take a static schedule or the blocking call");
    }
    if (!arrival->serves(call.collective)) {
      caller.refuse(not_served(name, call.collective, arrival->serves));
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
    if (!reads_memory) {
      caller.refuse(name + " reads its peers' memory, and " + std::string(transport->name) +
                    " only passes messages: take ShmTransport (ThreadTransport in a ThreadTeam)");
    }
    if (!few) caller.refuse(arrival->refusal_of(core.size()));
    caller.refuse(name + " takes elements of at most " +
                  std::to_string(core.options().chunk_bytes) +
                  " bytes: take a static schedule, or larger Options::chunk_bytes");
  }

  static void check_ticket_chain(const Caller& caller, const Call& call) {
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

  void check_schedule(const Caller& caller, const Call& call) const {
    if (!schedule->serves(call.collective)) {
      caller.refuse(not_served(schedule->name(), call.collective,
                               [this](Collective c) { return schedule->serves(c); }));
    }
    if (!call.reducer.commutative && schedule->commutative_only()) {
      caller.refuse(schedule->name() +
                    " combines out of rank order and the operator is not known to commute: "
                    "wrap it as papcoll::commutative(op), or take Rabenseifner or Exchange");
    }
  }
};

template <class>
void execute(const Caller& caller, const AlgorithmSpec& spec, Call& call, Choose* choose) {
  if (spec.hierarchical != nullptr) {
    state_contract(call, spec);
    return spec.hierarchical->run(caller.core, *spec.hierarchical, call);
  }
  const bool is_free = spec.is_free() && !caller.non_blocking && !call.schedules_only;
  if (is_free) {
    state_contract(call, spec);
    const ArrivalAlgorithm* const before = caller.core.chosen_before(call);
    if (before != nullptr) return caller.core.run(*before, call);
  }
  const Resolved r{caller, spec, call, choose};
  if (is_free && r.arrival != nullptr) caller.core.remember_choice(call, *r.arrival);
  const auto run = [&] {
    if (r.chosen.hierarchical != nullptr) {
      r.chosen.hierarchical->run(caller.core, *r.chosen.hierarchical, call);
    } else if (r.arrival != nullptr) {
      caller.core.run(*r.arrival, call);
    } else {
      caller.core.run(*r.schedule, *r.transport, call, spec.predictor, spec.by_ticket);
    }
  };
  if (r.is_watched) return caller.core.run_watched(run);
  run();
}
PAPCOLL_COMPILE_ONCE(void execute<>(const Caller&, const AlgorithmSpec&, Call&, Choose*))

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
