// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/base/collective.hpp>
#include <papcoll/choice/names/explain_choice.hpp>
#include <papcoll/choice/selection/choose.hpp>
#include <papcoll/thread_team.hpp>

#include <cstddef>
#include <string>

// Suara as what is chosen between nodes.

using namespace papcoll;

namespace {

struct Nodes {
  Thresholds thresholds{};
  SuaraCache memory{};
  SelectionInputs inputs{};
  TransportTable messages{transport_names[0].name, transport_names[0].offers, false, nullptr,
                          nullptr};

  explicit Nodes(int nodes) {
    inputs.size = nodes;
    inputs.between_nodes = true;
    inputs.suara = &memory;
  }

  static Call call(std::size_t bytes, bool commutative = true) {
    Call c;
    c.collective = Collective::allreduce;
    c.reducer.size = 8;
    c.reducer.commutative = commutative;
    c.count = bytes / 8;
    return c;
  }

  std::string chosen(Call c) {
    inputs.thresholds = &thresholds;
    AlgorithmSpec s;
    s.transport = &messages;
    choose(s, c, inputs, detail::chooser_of(c.collective));
    return s.schedule.name();
  }
  std::string chosen(std::size_t bytes, bool commutative = true) {
    return chosen(call(bytes, commutative));
  }

  std::string reason(std::size_t bytes, bool commutative = true) {
    return reason(call(bytes, commutative));
  }
  std::string reason(const Call& c) {
    inputs.thresholds = &thresholds;
    TeamFacts facts;
    facts.transport = &messages;
    facts.inputs = inputs;
    Explanation e;
    detail::explain_automatic(e, facts, c);
    return e.algorithm + ": " + e.candidates;
  }
};

}  // namespace

TEST_CASE("two trees or Suara are chosen between many nodes where they win clearly", "[suara]") {
  Nodes many{1021};
  many.thresholds.network.gap_ns = 0;
  CHECK(many.chosen(4'000'000) == "TwoTreeComplete");
  CHECK_THAT(many.chosen(4'000'000, false), Catch::Matchers::StartsWith("Suara:"));
  // Nor for short vectors, for long ones on few nodes, or where all share memory.
  CHECK(many.chosen(4096) == "RecursiveDoubling");
  many.inputs.between_nodes = false;
  CHECK(many.chosen(4'000'000) == "Rabenseifner");
  CHECK(Nodes{8}.chosen(52'000'000) == "Rabenseifner");
}

TEST_CASE("two trees are weighed against what would run otherwise", "[suara]") {
  // The segmented ring is nearly as quick here, and Rabenseifner takes more than twice as long.
  for (const int nodes : {17, 20, 24}) {
    CAPTURE(nodes);
    CHECK(Nodes{nodes}.chosen(524'288) == "TwoTreeComplete");
  }
}

TEST_CASE("a grid is chosen where each chunk of two trees costs much", "[suara]") {
  Nodes many{509};
  many.thresholds.network.gap_ns = 1500;
  CHECK_THAT(many.chosen(524'288), Catch::Matchers::StartsWith("Suara:"));
}

TEST_CASE("two trees bcast and reduce long vectors between many nodes", "[suara]") {
  Nodes many{48};
  for (const Collective c : {Collective::bcast, Collective::reduce}) {
    Call call = Nodes::call(4'000'000);
    call.collective = c;
    CHECK(many.chosen(call) == "TwoTreeComplete");
    call.count = 100;
    CHECK(many.chosen(call) == "Binomial");
  }
  Call ordered = Nodes::call(4'000'000, false);
  ordered.collective = Collective::reduce;
  CHECK(many.chosen(ordered) != "TwoTreeComplete");
}

TEST_CASE("what is chosen between nodes keeps the order where the operator wants it", "[suara]") {
  for (const int nodes : {61, 509, 1000}) {
    Nodes n{nodes};
    for (const std::size_t bytes : {16384UL, 1UL << 20U, 1UL << 22U}) {
      const std::string name = n.chosen(bytes, false);
      CHECK(name.find("Ring") == std::string::npos);
      CHECK(n.chosen(bytes, false) == name);  // remembered
    }
  }
}

TEST_CASE("an explanation says by which model a choice between nodes was made", "[suara]") {
  Nodes many{1021};
  many.thresholds.network.gap_ns = 0;
  const std::string text = many.reason(4'000'000, false);
  CHECK_THAT(text, Catch::Matchers::StartsWith("Suara:"));
  CHECK_THAT(text, Catch::Matchers::Contains("network.gap_ns (0)"));
  CHECK_THAT(text, Catch::Matchers::Contains("; Rabenseifner: expected "));
  CHECK_THAT(Nodes{8}.reason(4'000'000), Catch::Matchers::StartsWith("Rabenseifner+"));
}

TEST_CASE("the best Suara is remembered by length and operator", "[suara]") {
  SuaraCache memory;
  CHECK(memory.find(8, true) == nullptr);
  memory.keep(8, true, {Ring{}, 1});
  REQUIRE(memory.find(8, true) != nullptr);
  CHECK(memory.find(8, true)->schedule == AnySchedule(Ring{}));
  CHECK(memory.find(8, true)->seconds == 1);
  CHECK(memory.find(8, false) == nullptr);
  CHECK(memory.find(16, true) == nullptr);
  for (std::size_t i = 0; i < 31; ++i) memory.keep(100 + i, true, {});
  REQUIRE(memory.find(8, true) != nullptr);
  memory.keep(200, true, {});  // instead of what was not asked for longest
  CHECK(memory.find(8, true) != nullptr);
  CHECK(memory.find(100, true) == nullptr);
  CHECK(memory.find(101, true) != nullptr);
  memory.forget();
  CHECK(memory.find(101, true) == nullptr);
}
