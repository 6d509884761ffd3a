// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/arrival/arrival_driven.hpp>
#include <papcoll/base/call.hpp>
#include <papcoll/base/policy.hpp>
#include <papcoll/node/call_context.hpp>
#include <papcoll/node/node_context.hpp>
#include <papcoll/node/waiting/waiter.hpp>

#include <concepts>
#include <string_view>

namespace papcoll::inline PAPCOLL_ABI {

/// An arrival-driven algorithm without its type: an arrival policy with its schedule.
struct ArrivalAlgorithm : ArrivalTraits {
  ContextType context;  ///< what it is compiled for
  /// Runs one call of this rank on its call context, which is of that type.
  void (*run)(void* context, Waiter&, const Call&);
};

namespace detail {

/// Runs a call on `any_context`, which is an S: its type is known again from here on, so that
/// nothing within the call goes through a pointer to a function.
template <class Run, CallContext S = NodeContext>
void run_arrival(void* any_context, Waiter& waiter, const Call& call) {
  S& context = *static_cast<S*>(any_context);
  Run run;
  waiter.until([&] { return run.step(context, call); });
}

// One wrong thing, one sentence: see choice/policies/policy_checks.hpp.

template <class Arrival, class Schedule> struct arrival_algorithm_is_specified {
  static constexpr bool ok = IsArrivalDriven<Arrival, Schedule>;
  static_assert(ok,
                "papcoll: ArrivalDriven<Arrival, Schedule> is not an arrival-driven algorithm: "
                "specialise it with the types Schedule and Run and the constants name and "
                "keeps_order_on_request");
};

template <class Schedule> struct arrival_schedule_describes_itself {
  static constexpr bool ok = requires {
    { Schedule::name } -> std::convertible_to<std::string_view>;
    { Schedule::sentence } -> std::convertible_to<std::string_view>;
    { Schedule::needs } -> std::convertible_to<unsigned>;
    { Schedule::contract } -> std::convertible_to<NumericalContract>;
    { &Schedule::serves } -> std::convertible_to<bool (*)(Collective) noexcept>;
  };
  static_assert(ok,
                "papcoll: the schedule of an arrival-driven algorithm has name, sentence, "
                "needs, contract and a static bool serves(Collective) noexcept");
};

template <class Run> struct arrival_run_steps {
  static constexpr bool ok = requires(Run run, NodeContext& context, const Call& call) {
    Run{};
    { run.step(context, call) } -> std::same_as<bool>;
  };
  static_assert(
      ok,
      "papcoll: the Run of an arrival-driven algorithm is default-constructible and has "
      "template <papcoll::CallContext S> bool step(S& context, const papcoll::Call& call)");
};

template <class Arrival, class Schedule> constexpr bool is_arrival_driven() noexcept {
  if constexpr (arrival_algorithm_is_specified<Arrival, Schedule>::ok) {
    using Driven = ArrivalDriven<Arrival, Schedule>;
    if constexpr (arrival_schedule_describes_itself<typename Driven::Schedule>::ok) {
      return arrival_run_steps<typename Driven::Run>::ok;
    }
  }
  return false;
}

template <class Arrival, class Schedule, CallContext S>
constexpr ArrivalAlgorithm arrival_algorithm_of() noexcept {
  if constexpr (is_arrival_driven<Arrival, Schedule>()) {
    using Driven = ArrivalDriven<Arrival, Schedule>;
    return {arrival_traits_of<Driven>(), ContextType::of<S>(),
            &run_arrival<typename Driven::Run, S>};
  } else {
    return {};
  }
}

}  // namespace detail

/// True for an arrival-driven algorithm; else the compiler says in one sentence what is wrong.
template <class Arrival, class Schedule>
inline constexpr bool arrival_driven = detail::is_arrival_driven<Arrival, Schedule>();

/// The algorithm that a schedule is under an arrival policy, for transports with this type of call
/// context. Naming one compiles it.
template <class Arrival, class Schedule, CallContext S = NodeContext>
requires IsArrivalDriven<Arrival, Schedule>
inline constexpr ArrivalAlgorithm arrival_algorithm =
    detail::arrival_algorithm_of<Arrival, Schedule, S>();

namespace detail {

template <class Arrival, class Schedule, class S>
const ArrivalAlgorithm& algorithm_under() noexcept {
  if constexpr (CallContext<S>) {
    return arrival_algorithm<Arrival, Schedule, S>;
  } else {  // whose transport is refused: see check_context()
    return arrival_algorithm<Arrival, Schedule>;
  }
}

/// For the library's algorithms, in namespace detail: see PAPCOLL_COMPILE_ONCE.
#define PAPCOLL_ARRIVAL_ALGORITHM(Arrival, Schedule)                                     \
  PAPCOLL_COMPILE_ONCE(void run_arrival<typename ArrivalDriven<Arrival, Schedule>::Run>( \
      void*, Waiter&, const Call&))                                                      \
  PAPCOLL_COMPILE_ONCE(                                                                  \
      const ArrivalAlgorithm& algorithm_under<Arrival, Schedule, NodeContext>() noexcept)

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI
