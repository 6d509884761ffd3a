#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/call/argument_checks.hpp>
#include <papcoll/call/argument_kinds.hpp>
#include <papcoll/choice/policies/policy_checks.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace papcoll::inline PAPCOLL_ABI {

class Endpoint;
class Request;
class Waiter;

/// Gives the TeamCore behind whatever a collective accepts as its first argument: a Communicator, a
/// ThreadTeam::Rank, or (where communicator.hpp is included) a bare MPI_Comm.
template <class C>
struct TeamOf {
  static TeamCore& core(C& team) requires requires {
    { team.core() } -> std::same_as<TeamCore&>;
  }
  { return team.core(); }
  /// Lets a call name by a text what such a team has beyond what it begins with.
  static void offer_transports(TeamCore& core) requires requires { C::offer_transports(core); }
  { C::offer_transports(core); }
  /// Lets messages of devices go through the host.
  static void offer_told_messages(TeamCore& core) requires requires {
    C::offer_told_messages(core);
  }
  { C::offer_told_messages(core); }
};

/// What a collective accepts as its first argument.
template <class C>
concept Team = requires(std::remove_cvref_t<C>& c) {
  { TeamOf<std::remove_cvref_t<C>>::core(c) } -> std::same_as<TeamCore&>;
};

namespace detail {

template <class C>
TeamCore& core_of(C&& team) {
  return TeamOf<std::remove_cvref_t<C>>::core(const_cast<std::remove_cvref_t<C>&>(team));
}

/// For a call that is given an Algorithm, which may name any transport of a team of type C.
template <class C>
void offer_transports(TeamCore& core) {
  using Of = TeamOf<std::remove_cvref_t<C>>;
  if constexpr (requires { Of::offer_transports(core); }) Of::offer_transports(core);
}

/// The same for a call on memory of devices.
template <class C>
TeamCore& core_for_devices(C&& team) {
  TeamCore& core = core_of(team);
  using Of = TeamOf<std::remove_cvref_t<C>>;
  if constexpr (requires { Of::offer_told_messages(core); }) Of::offer_told_messages(core);
  return core;
}

/// Each checks the call against what the spec names, and runs it: an arrival-driven algorithm, a
/// static schedule in the order of the ranks, or whatever it is.
PAPCOLL_DECL void run_arrival_driven(const Caller& caller, const AlgorithmSpec& spec, Call& call);
PAPCOLL_DECL void run_schedule(const Caller& caller, const AlgorithmSpec& spec, Call& call);
PAPCOLL_DECL void run_spec(const Caller& caller, const AlgorithmSpec& spec, Call& call);

/// Checks the transport that the spec names, and runs an algorithm of its endpoint: see
/// ScheduledCalls::run_at_endpoint(). All else has been checked.
PAPCOLL_DECL void run_at_endpoint(const Caller& caller, const AlgorithmSpec& spec, Call& call,
                                  std::uint32_t id, std::string_view name,
                                  void (&run)(Endpoint&, std::uint32_t sequence, Waiter&,
                                              const Call&));

struct Settled;

/// Checks the call against what the spec names, and starts it. `owned` keeps alive what the call's
/// reducer points to.
PAPCOLL_DECL Request start_spec(const Caller& caller, const AlgorithmSpec& spec, Call& call,
                                Shared<const void> owned);

/// What a call runs by that is made again and again, of a spec that leaves nothing open.
PAPCOLL_DECL Settled settle_spec(const Caller& caller, const AlgorithmSpec& spec, Call& call);

/// The same three of a spec that leaves something open, which is chosen: see automatic.hpp.
template <Collective C>
struct Chosen {
  static void run(const Caller& caller, const AlgorithmSpec& spec, Call& call);
  static Request start(const Caller& caller, const AlgorithmSpec& spec, Call& call,
                       Shared<const void> owned);
  static Settled settle(const Caller& caller, const AlgorithmSpec& spec, Call& call);
};

/// What a call does when it is asked to, once its collective and what it names are known.
struct CallActions {
  void (*run)(const Caller&, const AlgorithmSpec&, Call&);
  Request (*start)(const Caller&, const AlgorithmSpec&, Call&, Shared<const void>);
  /// Checks a call, blocking or not as its caller says.
  Settled (*settle)(const Caller&, const AlgorithmSpec&, Call&);
};

/// Has this file what chooses? Files with PAPCOLL_COMPILED need not; automatic.hpp says yes.
template <class Tag>
inline constexpr bool chooses = !PAPCOLL_HAS_SHARED_CODE;

template <class Tag>
struct call_can_be_chosen_for {
  static constexpr bool ok = chooses<Tag>;
  static_assert(ok,
                "papcoll: this call names no algorithm, and nothing that chooses one is included: "
                "include <papcoll/automatic.hpp> (papcoll.hpp and core.hpp do), or name one, as in "
                "allreduce<papcoll::Ring>(comm, data)");
};

/// What a set of policies names, as far as it decides what a call has to compile.
enum class Named : unsigned char { nothing, schedule, arrival_driven, something };

template <class... Ps>
consteval Named named_by() {
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

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/call/run.ipp>
#endif
