// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/draw/draw.hpp>
#include <papcoll/simulate/hierarchical_schedule.hpp>
#include <papcoll/simulate/simulate.hpp>
#include <papcoll/verify/sweep.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include "catch.hpp"
#include "hierarchies.hpp"

using namespace papcoll;

TEST_CASE("hierarchies of schedules are proven whole, on all groupings", "[hierarchical]") {
  constexpr int most = 8;
  const std::vector<std::vector<AnySchedule>> hierarchies{
      {Binomial{}, Ring{}},
      {Linear{}, RecursiveDoubling{}},
      {ReduceScatterGather{}, Rabenseifner{}},
      {PipelinedChain{40}, PipelinedBinaryTree{40}},
      {AnySchedule{}, AnySchedule{}},
      {Bruck{}, Pairwise{}},
  };
  for (const GroupColours& groups : hierarchies::groupings(most)) {
    for (const std::vector<AnySchedule>& parts : hierarchies) {
      HierarchicalSchedule schedule{parts, groups};
      if (groups.size() == 2) schedule.parts.push_back(Binomial{});
      for (std::size_t i = 0; i < collective_count; ++i) {
        const auto c = static_cast<Collective>(i);
        if (c == Collective::alltoall && groups.size() == 2) continue;  // of groups that differ
        INFO(AnySchedule{schedule}.name()
             << " " << name_of(c) << " " << hierarchies::text_of(groups));
        const Proof proof = verify_up_to(schedule, c, most);
        INFO(proof.verdict.sentence << " in " << describe(proof.shape));
        CHECK(proof);
      }
    }
  }
}

TEST_CASE("a hierarchy takes as long as its phases, one after the other", "[hierarchical]") {
  const HierarchicalSchedule pairs{{Linear{}, RecursiveDoubling{}}, {{0, 0, 1, 1, 2, 2, 3, 3}}};
  CHECK(AnySchedule{pairs}.name() == "Hierarchical:Linear,RecursiveDoubling");
  const HierarchicalSchedule listed{{AnyReduceThenBcast{Binomial{}, Chain{}}, Ring{}}};
  CHECK(AnySchedule{listed}.name() == "Hierarchical:(ReduceThenBcast:Binomial,Chain),Ring");
  Shape shape;
  shape.collective = Collective::allreduce;
  shape.size = 8;
  shape.count = 4;
  LogGops model{};
  model.latency = 1;
  model.gap_per_byte = model.combine_per_byte = 0;
  const auto time = [&](SimulateOptions options) {
    return simulate(pairs, shape, Order::identity(8), model, options).time();
  };
  CHECK(time({}) == Approx(1 + 2 + 1));
  // Nodes wait for their own ranks only: 7 does not keep 0 and 1 from their reduction.
  SimulateOptions late;
  late.arrivals = {0, 0, 0, 0, 0, 0, 0, 10};
  CHECK(time(late) == Approx(10 + 1 + 2 + 1));
  const std::string picture = draw(pairs, shape, Order::identity(8));
  CHECK(picture.find("Hierarchical:Linear,RecursiveDoubling allreduce") != std::string::npos);
}

TEST_CASE("an alltoall of three levels has a plan where groups are alike", "[hierarchical]") {
  HierarchicalSchedule schedule{{Linear{}, Linear{}, Pairwise{}},
                                {{0, 0, 1, 1, 2, 2, 3, 3}, {0, 0, 1, 1}}};
  Shape shape;
  shape.collective = Collective::alltoall;
  shape.size = 8;
  shape.count = 3;
  CHECK(verify(schedule, shape, Order::identity(8)));
  shape.size = 7;
  const Verdict v = verify(schedule, shape, Order::identity(7));
  CHECK_FALSE(v);
  CHECK(v.sentence.find("name groups of as many ranks, or two levels") != std::string::npos);
}
