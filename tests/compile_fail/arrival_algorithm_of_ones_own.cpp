// SPDX-License-Identifier: BSD-3-Clause
// Arrival-driven algorithms from outside of the library that lack what one needs.
#include <papcoll/arrival/arrival_algorithm.hpp>
#include <papcoll/core.hpp>

#include <string_view>
#include <vector>

// EXPECT: papcoll: the Run of an arrival-driven algorithm is default-constructible and has
// EXPECT: papcoll: the schedule of an arrival-driven algorithm has name, sentence
// EXPECT: papcoll: ArrivalDriven<Arrival, Schedule> is not an arrival-driven algorithm

using namespace papcoll;

struct Mine {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "Mine";
  static constexpr std::string_view sentence = "An algorithm.";
  static constexpr unsigned needs = capability::tickets | capability::node_memory;
  static constexpr NumericalContract contract = NumericalContract::reproducible;
  static constexpr bool serves(Collective) noexcept { return true; }
  struct Run {
    template <CallContext S> bool step(S&, const Call&) { return true; }
  };
};
struct Stepless : Mine {
  struct Run {};
};
struct Silent {
  using policy_kind = SchedulePolicyKind;
  static constexpr unsigned needs = capability::tickets | capability::node_memory;
};
struct Unknown : Mine {};

template <class S> struct Driven {
  using Schedule = S;
  static constexpr std::string_view name = "Mine";
  static constexpr bool keeps_order_on_request = true;
};
template <> struct papcoll::ArrivalDriven<ArrivalOrder, Mine> : Driven<Mine> {
  using Run = Mine::Run;
};
template <> struct papcoll::ArrivalDriven<ArrivalOrder, Stepless> : Driven<Stepless> {
  using Run = Stepless::Run;
};
template <> struct papcoll::ArrivalDriven<ArrivalOrder, Silent> : Driven<Silent> {
  using Run = Stepless::Run;
};

constexpr bool wrong[]{
#ifdef PAPCOLL_TEST_CONTROL
    arrival_driven<ArrivalOrder, Mine>
#else
    arrival_driven<ArrivalOrder, Stepless>,
    arrival_driven<ArrivalOrder, Silent>,
    arrival_driven<ArrivalOrder, Unknown>,
#endif
};
static_assert(sizeof wrong != 0);
