// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/choice/names/name_parser.hpp>
#include <papcoll/topology/mapping/read_traffic.hpp>

#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace papcoll;

namespace {

using Shares = std::map<std::pair<int, int>, double>;

Shares shares_of(const Traffic& traffic) {
  Shares shares;
  for (const Traffic::Arc& a : traffic.arcs()) {
    shares[{a.from, a.to}] += static_cast<double>(a.share);
  }
  return shares;
}

/// Off the text of emit(), of a vector so long that parts of it are as good as equal.
Shares read_shares(const AnySchedule& schedule, Collective c, int size) {
  detail::TrafficReader reader{c, size, std::size_t{1} << 16U};
  for (int p = 0; p < size; ++p) {
    reader.read(p);
    Builder builder{reader, reader.vector()};
    schedule.emit(c, builder);
  }
  return shares_of(reader.traffic);
}

/// Every schedule that runs in any order, with parameters that `papcoll verify` proves it with.
std::vector<AnySchedule> schedules_in_any_order() {
  std::vector<AnySchedule> all;
  for (const CatalogueRow& row : catalogue()) {
    if (row.plan == nullptr || row.arrival == PredictedOrder<>::name) continue;
    all.push_back(row.plan());
  }
  for (const char* suara :
       {"Suara:Ring,Rabenseifner,3", "Suara:Ring,Ring,4", "Suara:RecursiveDoubling,Ring,4,folded",
        "Suara:Ring,Ring,Ring,2x3", "Suara:TwoTreeComplete,Binomial,5"}) {
    all.push_back(parse_name(suara, catalogue()).plan);
  }
  all.emplace_back(ScatterAllgather{ScatterAllgather::Gathering::bruck});
  return all;
}

}  // namespace

TEST_CASE("what a schedule says of its traffic is what its text sends", "[mapping]") {
  std::size_t told = 0;
  for (const AnySchedule& named : schedules_in_any_order()) {
    for (std::size_t i = 0; i < collective_count; ++i) {
      const auto c = static_cast<Collective>(i);
      if (!named.serves(c) || is_prefix_reduction(c)) continue;
      for (const int size : {2, 3, 4, 7, 12, 16, 21}) {
        const std::size_t bytes = std::size_t{1} << 16U;
        const AnySchedule schedule = named.resolved(size, bytes * static_cast<std::size_t>(size));
        Traffic traffic{size};
        if (!schedule.add_traffic(c, traffic)) continue;
        ++told;
        INFO(schedule.name() << " " << name_of(c) << " " << size);
        const Shares said = shares_of(traffic);
        const Shares read = read_shares(schedule, c, size);
        REQUIRE(said.size() == read.size());
        for (const auto& [pair, share] : read) {
          INFO(pair.first << " to " << pair.second);
          REQUIRE(said.count(pair) == 1);
          CHECK(said.at(pair) == Approx(share).epsilon(0.02));
        }
      }
    }
  }
  CHECK(told > 100);
}

TEST_CASE("who talks to everybody is not read to the end", "[mapping]") {
  CHECK_FALSE(traffic_of(AnySchedule::of<Pairwise>(), Collective::alltoall, 256).has_value());
  CHECK(traffic_of(AnySchedule::of<Pairwise>(), Collective::alltoall, 16).has_value());
  CHECK(traffic_of(AnySchedule::of<Ring>(), Collective::allreduce, 256).has_value());
}
