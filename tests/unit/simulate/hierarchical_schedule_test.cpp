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
