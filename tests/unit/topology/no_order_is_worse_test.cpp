// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "counted_costs.hpp"
#include "machines.hpp"

#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/topology/mapping/map_positions.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

using namespace papcoll;
using machines::Placement;

namespace {

std::vector<AnySchedule> schedules_with_orders() {
  std::vector<AnySchedule> all;
  for (const CatalogueRow& row : catalogue()) {
    if (row.plan != nullptr && (row.needs & capability::forecast) == 0) all.push_back(row.plan());
  }
  all.emplace_back(ScatterAllgather{ScatterAllgather::Gathering::bruck});
  all.push_back(AnySchedule{AnyReduceThenBcast{Binomial{}, Chain{}}});
  return all;
}

}  // namespace

TEST_CASE("no order that is used is worse than that of the ranks", "[mapping]") {
  std::size_t used = 0;
  for (const int ranks : {64, 96, 130, 256, 500, 512, 1000, 1024, 2048}) {
    for (const Placement placement : machines::all_placements) {
      for (const Machine& m : {machines::fat_tree_of_32(ranks, placement),
                               machines::dragonfly_of_32(ranks, placement)}) {
        for (const AnySchedule& named : schedules_with_orders()) {
          const AnySchedule s = named.resolved(ranks, 1 << 20);
          for (std::size_t i = 0; i < collective_count; ++i) {
            const auto c = static_cast<Collective>(i);
            if (!named.serves(c) || is_prefix_reduction(c)) continue;
            // To read what a schedule does not tell off its text takes some of them P² steps.
            Traffic told{ranks};
            if (ranks > 512 && !s.add_traffic(c, told)) continue;
            const int root = is_rooted(c) ? ranks / 3 : 0;
            const MappedOrder mapped = map_positions(s, c, m, root);
            if (mapped.verdict != MappedOrder::Verdict::mapped) continue;
            ++used;
            INFO(s.name() << " " << name_of(c) << ", " << ranks << " ranks, placement "
                          << static_cast<int>(placement));
            const std::optional<Traffic> traffic = traffic_of(s, c, ranks);
            REQUIRE(traffic.has_value());
            const CountedCosts before{*traffic, m, Order::rotation(ranks, root)};
            const CountedCosts after{*traffic, m, mapped.order};
            CHECK(after.byte_hops <= before.byte_hops * (1 + 1e-5));
            CHECK(after.heaviest <= before.heaviest * (1 + 1e-5));
            CHECK(after.byte_hops == Approx(mapped.arranged.byte_hops));
            CHECK(after.heaviest == Approx(mapped.arranged.heaviest_link));
          }
        }
      }
    }
  }
  CHECK(used > 1000);
}
