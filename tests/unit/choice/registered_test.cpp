// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/simulate/virtual_node.hpp>
#include <papcoll/verify/sweep.hpp>

#include <algorithm>
#include <string_view>

#include "../../../examples/09_write_your_own_arrival_algorithm/last_combines.hpp"
#include "../simulate/virtual_costs.hpp"
#include "catch.hpp"

namespace {

/// A schedule that only this file has.
struct ToTheFirst {
  using policy_kind = papcoll::SchedulePolicyKind;
  static constexpr std::string_view name = "ToTheFirst";
  static constexpr std::string_view sentence = "All send to position 0.";
  static constexpr bool commutative_only = false;

  void emit(papcoll::Reduce, papcoll::Builder& b) const {
    if (b.position() != 0) return b.send(0, b.whole());
    for (int p = 1; p < b.size(); ++p) b.reduce(p, b.whole());
  }
  friend bool operator==(const ToTheFirst&, const ToTheFirst&) = default;
};

}  // namespace

TEST_CASE("a registered algorithm has a name like any other", "[catalogue]") {
  // Here, and not before main(), so that other tests go by the library's algorithms alone.
  static const papcoll::Registered registered{papcoll::static_row<ToTheFirst>()};
  const papcoll::Catalogue all = papcoll::catalogue();
  const auto rows = std::count_if(all.begin(), all.end(),
                                  [](const auto& row) { return row.name == ToTheFirst::name; });
  CHECK(rows == 1);
  CHECK(papcoll::algorithm("ToTheFirst").name() == "ToTheFirst");
  CHECK_THROWS_WITH(papcoll::algorithm("ToTheFist"), Catch::Contains("ToTheFirst"));
  CHECK(papcoll::algorithm("Hierarchical:Exchange,(ReduceThenBcast:ToTheFirst,Chain)").name() !=
        "");
  CHECK_THROWS_WITH(papcoll::Registered{papcoll::static_row<ToTheFirst>()},
                    Catch::Contains("two algorithms are called ToTheFirst"));
  const papcoll::CatalogueRow split =
      papcoll::arrival_row<papcoll::ArrivalOrder, papcoll::SplitTail>();
  CHECK(split.name == "SplitTail");
  CHECK(split.algorithm != nullptr);
}

TEST_CASE("a registered arrival-driven algorithm runs in virtual time, too", "[catalogue]") {
  static const papcoll::RegisteredArrival<papcoll::ArrivalOrder, LastCombines> registered;
  CHECK(papcoll::algorithm("LastCombines").name() == "LastCombines");
  const papcoll::VirtualAlgorithm* const own = papcoll::find_virtual_algorithm("LastCombines");
  REQUIRE(own != nullptr);
  papcoll::Shape shape;
  shape.collective = papcoll::Collective::allreduce;
  shape.size = 3;
  shape.count = 8;
  shape.element_size = 8;
  const papcoll::Simulated run =
      papcoll::simulate_on_node(*own, shape, virtual_costs(), {0, 0, 5e-6});
  CHECK(run.tail() > 0);
  CHECK(run.tail() < 5e-6);
}
