#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/call/argument_checks.hpp>
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

/// Each chooses what the spec leaves open, see automatic.hpp, and does as the others here, in
/// request.hpp and in persistent.hpp do.
template <Collective C>
struct Chosen {
  static void run(const Caller& caller, const AlgorithmSpec& spec, Call& call);
  static Request start(const Caller& caller, const AlgorithmSpec& spec, Call& call,
                       detail::Shared<const void> owned);
  static Settled settle(const Caller& caller, const AlgorithmSpec& spec, Call& call);
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

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/call/run.ipp>
#endif
