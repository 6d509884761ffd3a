// SPDX-License-Identifier: BSD-3-Clause
// The table of requirements: each row where it holds and where it does not, and its sentence.

#include "catch.hpp"

#include <papcoll/algorithms/arrival/all.hpp>
#include <papcoll/algorithms/static/binomial.hpp>
#include <papcoll/algorithms/static/chain.hpp>
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/choice/policies/requirements.hpp>
#include <papcoll/hierarchical.hpp>
#include <papcoll/thread_team.hpp>

#include <bit>
#include <string>
#include <string_view>

using namespace papcoll;

namespace {

/// An algorithm, a call and a team that do not go together because of one requirement.
struct Unmet {
  AlgorithmNeeds needs;
  CallFacts call;
  TeamOffers team;
};

Unmet unmet_by(const Requirement& r) {
  Unmet u;
  u.needs.bits = r.bit;
  switch (r.bit) {
    case requirement::blocking_call: u.call.non_blocking = true; break;
    case requirement::served_collective: u.needs.serves = false; break;
    case requirement::commutative_operator: u.call.commutes = false; break;
    case requirement::weaker_contract:
      u.needs.strongest = NumericalContract::rank_consistent;
      u.call.contract = NumericalContract::reproducible;
      break;
    case requirement::few_ranks:
      u.needs.most_ranks = 3;
      u.team.ranks = 4;
      break;
    case requirement::small_elements:
      u.call.element_size = 65;
      u.team.chunk_bytes = 64;
      break;
    default: u.team.bits = ~r.bit;
  }
  return u;
}

const Requirement& named(std::string_view name) {
  for (const Requirement& r : requirements) {
    if (r.name == name) return r;
  }
  FAIL("no requirement " << name);
  return requirements[0];
}

}  // namespace

TEST_CASE("requirements have a bit and a name each", "[requirements]") {
  unsigned known = 0;
  for (const Requirement& r : requirements) {
    INFO(r.name);
    CHECK(std::has_single_bit(r.bit));
    CHECK((known & r.bit) == 0);
    known |= r.bit;
    CHECK(&named(r.name) == &r);
    CHECK(first_requirement(r.bit) == &r);
  }
  CHECK(first_requirement(0) == nullptr);
}

TEST_CASE("each requirement is why not where only it does not hold", "[requirements]") {
  AlgorithmNeeds everything;
  everything.bits = ~0U;
  CHECK(why_not(everything, {}, {}) == nullptr);
  for (const Requirement& r : requirements) {
    INFO(r.name);
    const Unmet u = unmet_by(r);
    CHECK(why_not(u.needs, u.call, u.team) == &r);
    CHECK(why_not(u.needs, {}, {.ranks = 3, .chunk_bytes = 64}) == (u.needs.serves ? nullptr : &r));
    CHECK(why_not({}, u.call, u.team) == nullptr);
  }
}

TEST_CASE("of several requirements that do not hold, the first is why not", "[requirements]") {
  constexpr auto both = [] {
    AlgorithmNeeds needs;
    needs.bits = requirement::node_memory | requirement::blocking_call;
    needs.serves = false;
    return why_not(needs, {.non_blocking = true}, {.bits = 0});
  }();
  STATIC_REQUIRE(both->bit == requirement::blocking_call);
}

TEST_CASE("what holds at the very edge is allowed", "[requirements]") {
  AlgorithmNeeds needs;
  needs.bits = requirement::small_elements;
  needs.most_ranks = 4;
  needs.strongest = NumericalContract::rank_consistent;
  const CallFacts call{.contract = NumericalContract::rank_consistent, .element_size = 64};
  CHECK(why_not(needs, call, {.ranks = 4, .chunk_bytes = 64}) == nullptr);
}

TEST_CASE("the compiler says what is said at run time", "[requirements]") {
#define PAPCOLL_SAME(id, bit, asks, what, why, remedy) \
  CHECK("papcoll: " + refusal(named(#id), {}) ==       \
        papcoll::detail::with_details("papcoll: " what why ": " remedy, {}));
  PAPCOLL_REQUIREMENTS(PAPCOLL_SAME)
#undef PAPCOLL_SAME
}

TEST_CASE("sentences name what is known", "[requirements]") {
  RefusalDetails d;
  d.algorithm = "this schedule of mine";
  d.transport = "MpiTransport";
  CHECK(refusal(named("node_memory"), d) ==
        "this schedule of mine reads its peers' memory, and MpiTransport only passes messages: "
        "take ShmTransport (ThreadTransport in a ThreadTeam), or a schedule such as Ring");
  d.algorithm = "SplitTail";
  d.found = 1024;
  d.limit = 1023;
  CHECK(refusal(named("few_ranks"), d) ==
        "SplitTail serves a limited number of ranks that share memory, and here are 1024 ranks, "
        "more than 1023: take DynamicLeader");
  add_served_algorithms(d, named("served_collective"), Collective::bcast, [](Collective c) {
    return c == Collective::reduce || c == Collective::scan;
  });
  CHECK(refusal(named("served_collective"), d) ==
        "SplitTail does not serve bcast, only reduce, scan: take Binomial or ScatterAllgather");
  CHECK(refusal(named("weaker_contract"),
                {.algorithm = "SplitTail",
                 .contract = traits_of(NumericalContract::reproducible).promise}) ==
        "SplitTail keeps only weaker contracts, and the call asks for Reproducible, by which bits "
        "must not depend on arrivals: for Reproducible take CombiningTree, DynamicLeader or "
        "MultiLeader");
  CHECK(refusal(named("one_schedule"), {.both = ", Ring and Chain"})
            .starts_with("two schedules, Ring and Chain: keep one"));
  CHECK(refusal(named("blocking_call"), {.algorithm = "Exchange"})
            .starts_with("Exchange moves only while its rank waits in the call, and the call is"));
}

TEST_CASE("types and rows of the catalogue require the same", "[requirements]") {
  const auto agree = []<class Arrival, class Schedule>(Under<Arrival, Schedule>) {
    const AlgorithmNeeds type = detail::NamedPolicies<Arrival, Schedule>::needs();
    const AlgorithmNeeds row = needs_of_algorithm(arrival_traits<Arrival, Schedule>);
    constexpr unsigned shared =
        requirement::blocking_call | requirement::commutative_operator | requirement::node_memory;
    INFO(Arrival::name << " " << Schedule::name);
    CHECK((type.bits & shared) == (row.bits & shared));
    if ((type.bits & requirement::commutative_operator) != 0) {
      CHECK(type.strongest == row.strongest);
    }
  };
  [&]<class... Algorithms>(ArrivalAlgorithmList<Algorithms...>) {
    (agree(Algorithms{}), ...);
  }(ArrivalAlgorithms{});
  constexpr AlgorithmNeeds drawn =
      needs_of_algorithm(ticketed_algorithm<ArrivalDriven<ArrivalOrder, Chain>>);
  STATIC_REQUIRE(drawn.bits == (requirement::blocking_call | requirement::commutative_operator));
  STATIC_REQUIRE(drawn.strongest == NumericalContract::rank_consistent);
}

TEST_CASE("a hierarchical algorithm requires what its row says", "[requirements]") {
  const CatalogueRow row = detail::hierarchical_row();
  CHECK(row.needs == detail::hierarchical_needs(Collective::reduce).bits);
  CHECK(detail::hierarchical_needs(Collective::scan).serves);
  CHECK(detail::hierarchical_needs(Collective::gather).bits ==
        (row.needs | requirement::own_parts));
}
