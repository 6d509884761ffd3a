// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "catch.hpp"
#include "run_tool.hpp"

using namespace papcoll;
using nlohmann::json;

namespace {

/// Forgets all ranks but the first two.
struct Careless {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "Careless";
  static constexpr std::string_view sentence = "Forgets some.";
  static constexpr bool commutative_only = false;
  void emit(Reduce, Builder& b) const {
    if (b.size() < 2) return;
    if (b.position() == 1) b.send(0, b.whole());
    if (b.position() == 0) b.reduce(1, b.whole());
  }
  friend bool operator==(const Careless&, const Careless&) = default;
};

constexpr std::array own_rows{static_row<Careless>(), static_row<Ring>()};

}  // namespace

TEST_CASE("verify: what is right is proven") {
  const Outcome o = run({"verify", "--max-ranks", "5"});
  CHECK(o.status == 0);
  CHECK(o.err.empty());
  CHECK(contains(o.out, "proven  Rabenseifner allreduce, 1 to 5 ranks"));
  CHECK(contains(o.out, ", 0 at fault"));
}

TEST_CASE("verify --algorithm: with parameters, several times") {
  const Outcome o = run({"verify", "--max-ranks", "4", "--algorithm", "KNomial:3", "--algorithm",
                         "ReduceThenBcast:Binomial,Chain", "--json"});
  REQUIRE(o.status == 0);
  const json all = json::parse(o.out);
  REQUIRE(all.size() == 4);
  CHECK(all[0].at("name") == "KNomial:3");
  CHECK(all[3].at("name") == "ReduceThenBcast:Binomial,Chain");
  for (const json& one : all) {
    CHECK(one.at("proven") == true);
    CHECK(one.at("fault").is_null());
    CHECK(one.at("max_ranks") == 4);
    CHECK(one.at("cases") > 4);
  }
}

TEST_CASE("verify: a hierarchy on several groupings") {
  const Outcome o = run({"verify", "Hierarchical:Binomial,Ring", "--max-ranks", "6", "--json"});
  REQUIRE(o.status == 0);
  const json all = json::parse(o.out);
  REQUIRE(all.size() == 3 * collective_count);
  CHECK(all[0].at("name") == "Hierarchical:Binomial,Ring");
  CHECK(all[0].at("groups") == "nodes of 2");
  for (const json& one : all) CHECK(one.at("proven") == true);
  const Outcome three = run({"verify", "Hierarchical:Linear,Ring,Binomial", "--max-ranks", "5"});
  CHECK(contains(three.out,
                 "proven  Hierarchical:Linear,Ring,Binomial allreduce, 3 nodes in turn, "
                 "1 to 5 ranks"));
  CHECK_FALSE(contains(three.out, "alltoall"));
}

TEST_CASE("verify: a fault in a part of a hierarchy is found") {
  constexpr std::array rows{static_row<Careless>(), static_row<Ring>(), detail::hierarchical_row()};
  const Outcome o = run({"verify", "Hierarchical:Careless,Ring", "--max-ranks", "4"}, rows);
  CHECK(o.status == 1);
  CHECK(contains(o.out, "FAULT   Hierarchical:Careless,Ring allreduce, nodes of 3: missing"));
  CHECK(contains(o.out, "proven  Hierarchical:Careless,Ring allreduce, nodes of 2"));
}

TEST_CASE("verify: names without an option, as those of list, simulate and draw") {
  const Outcome o = run({"verify", "Ring", "Bruck", "--max-ranks", "4"});
  REQUIRE(o.status == 0);
  CHECK(contains(o.out, "proven  Ring allreduce, 1 to 4 ranks"));
  CHECK(contains(o.out, "proven  Bruck allgather, 1 to 4 ranks"));
  CHECK(contains(o.out, "\n6 proven, 0 at fault"));
}

TEST_CASE("verify: a catalogue of one's own, and a fault in it") {
  const Outcome o = run({"verify", "--max-ranks", "4"}, own_rows);
  CHECK(o.status == 1);
  CHECK(contains(o.out, "FAULT   Careless reduce: missing"));
  CHECK(contains(o.out, "in reduce of 6 elements on 3 ranks, root 0"));
  CHECK(contains(o.out, "4 proven, 1 at fault"));

  const Outcome as_json = run({"verify", "--max-ranks", "4", "--json"}, own_rows);
  CHECK(as_json.status == 1);
  const json fault = json::parse(as_json.out).at(0).at("fault");
  CHECK(fault.at("kind") == "missing");
  CHECK(fault.at("rank") == 0);
  CHECK(fault.at("step").is_null());
  CHECK(fault.at("element") == 0);

  CHECK(run({"verify", "--max-ranks", "2"}, own_rows).status == 0);
  CHECK(run({"verify", "--algorithm", "Bruck"}, own_rows).status == 2);
}

TEST_CASE("verify: refusals") {
  refused({"verify", "--max-ranks", "0"}, "--max-ranks");
  refused({"verify", "--max-ranks", "many"}, "--max-ranks");
  refused({"verify", "--algorithm"}, "--algorithm");
  refused({"verify", "--algorithm", "Rnig"}, "did you mean Ring");
  refused({"verify", "Ring,Binomial"}, "Ring,Binomial: write a blank between names");
  refused({"verify", "--algorithm", "KNomial:1"}, "at least 2");
  refused({"verify", "--algorithm", "MpiTransport"}, "names no schedule");
  refused({"verify", "--algorithm", "DynamicLeader"}, "no plan to verify");
}
