// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/base/collective.hpp>
#include <papcoll/choice/names/explain_choice.hpp>
#include <papcoll/choice/selection/choose.hpp>
#include <papcoll/choice/selection/selection_cache.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

// What is chosen on several nodes of several ranks, of which one may be late.

using namespace papcoll;

namespace {

constexpr std::size_t long_call = 4'000'000;

struct LateNodes {
  Thresholds thresholds{};
  LateNodeCache late_node{};
  SelectionInputs inputs{};
  TransportTable messages{transport_names[0].name, transport_names[0].offers, false, nullptr,
                          nullptr};

  LateNodes() {
    inputs.size = 8;
    inputs.nodes = 4;
    inputs.grouped = true;
    inputs.late_node = &late_node;
    takes_ps_a_byte(1000);
  }

  void takes_ps_a_byte(std::uint64_t ps) {
    inputs.imbalance.own_ps_a_byte = ps;
    inputs.imbalance.own = ps * long_call / 1000;
  }

  /// Node `node` comes after the others by so many hundredths of the time of a long call.
  void is_late(int node, std::uint64_t percent) {
    inputs.imbalance.late_node = node;
    inputs.imbalance.lead = inputs.imbalance.own * percent / 100;
  }

  static Call call(std::size_t bytes, bool commutative = true) {
    Call c;
    c.collective = Collective::allreduce;
    c.reducer.size = 8;
    c.reducer.commutative = commutative;
    c.count = bytes / 8;
    return c;
  }

  Explanation explained(const Call& c) {
    inputs.thresholds = &thresholds;
    TeamFacts facts;
    facts.transport = &messages;
    facts.inputs = inputs;
    Explanation e;
    detail::explain_automatic(e, facts, c);
    return e;
  }
  /// The node that StragglAR takes for the last.
  int awaited() {
    inputs.thresholds = &thresholds;
    AlgorithmSpec s;
    s.transport = &messages;
    Call long_one = call(long_call);
    choose(s, long_one, inputs, ChooserOf<Collective::allreduce>::value);
    REQUIRE(s.hierarchical != nullptr);
    const std::string name = s.hierarchical->inter.schedule.name();
    return name == "StragglAR" ? 0 : std::stoi(name.substr(std::string{"StragglAR:best,"}.size()));
  }
  std::string chosen(const Call& c) { return explained(c).algorithm; }
  std::string chosen(std::size_t bytes) { return chosen(call(bytes)); }
};

}  // namespace

TEST_CASE("StragglAR runs among nodes for the node that is late again") {
  LateNodes nodes;
  CHECK(nodes.chosen(long_call).starts_with("Rabenseifner+"));
  nodes.is_late(2, 100);
  CHECK(nodes.chosen(long_call) == "Hierarchical:auto,StragglAR");
  CHECK(nodes.explained(LateNodes::call(long_call)).reason.find("node 2") != std::string::npos);
  for (const int late : {0, 3, 1}) {
    nodes.is_late(late, 100);
    CHECK(nodes.awaited() == late);
  }
  SECTION("but not once it comes in time") {
    nodes.is_late(1, nodes.thresholds.network.late_percent - 1);
    CHECK(nodes.chosen(long_call).starts_with("Rabenseifner+"));
  }
  SECTION("nor if it is another one each time") {
    nodes.is_late(-1, 100);
    CHECK(nodes.chosen(long_call) == "Hierarchical");
  }
  SECTION("nor for short calls") {
    CHECK(nodes.chosen(papcoll::detail::watched_across_nodes_above) == "Hierarchical");
  }
  SECTION("nor for calls that are long beside its lateness") {
    CHECK(nodes.chosen(4 * long_call).starts_with("Rabenseifner+"));
  }
  SECTION("nor if the operator does not commute") {
    CHECK(nodes.chosen(LateNodes::call(long_call, false)) == "Hierarchical");
  }
  SECTION("nor if bits must not depend on arrivals") {
    Call c = LateNodes::call(long_call);
    c.contract = NumericalContract::reproducible;
    c.rank_order = true;
    CHECK(nodes.chosen(c).starts_with("Rabenseifner+"));
  }
  SECTION("nor among groups of nodes") {
    nodes.inputs.late_node = nullptr;
    CHECK(nodes.chosen(long_call) == "Hierarchical");
  }
}

TEST_CASE("by nodes with Ring among them is a candidate for long allreduces") {
  LateNodes nodes;
  const auto lists_ring = [&](const Call& c) {
    return nodes.explained(c).candidates.find("Hierarchical:auto,Ring") != std::string::npos;
  };
  CHECK(lists_ring(LateNodes::call(long_call)));
  CHECK_FALSE(lists_ring(LateNodes::call(long_call, false)));
  Call c = LateNodes::call(long_call);
  c.contract = NumericalContract::reproducible;
  c.rank_order = true;
  CHECK_FALSE(lists_ring(c));
}
