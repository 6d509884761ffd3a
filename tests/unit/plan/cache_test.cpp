#include "catch.hpp"

#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/plan/cache.hpp>

#include <cstddef>
#include <memory>

using namespace papcoll;

namespace {

Shape shape_of(int ranks, std::size_t count) {
  Shape shape;
  shape.collective = Collective::allreduce;
  shape.size = ranks;
  shape.count = count;
  return shape;
}

}  // namespace

TEST_CASE("a cache of plans is bounded, and drops what was not used for longest", "[plan]") {
  const AnySchedule ring{Ring{}};
  const Order order = Order::identity(4);
  PlanCache cache;
  const auto plan = [&](std::size_t count) { return cache.get(ring, shape_of(4, count), order); };

  const auto first = plan(1);
  const auto second = plan(2);
  for (std::size_t n = 3; n <= PlanCache::max_entries; ++n) plan(n);
  CHECK(cache.size() == PlanCache::max_entries);
  CHECK(plan(1) == first);  // used again, so that the second one is now the oldest
  plan(PlanCache::max_entries + 1);
  CHECK(cache.size() == PlanCache::max_entries);
  CHECK(plan(1) == first);
  CHECK(plan(2) != second);

  // Plans of many steps are fewer, but the one in use stays.
  const Order many = Order::identity(20'000);
  for (std::size_t n = 1; n <= 4; ++n) cache.get(ring, shape_of(20'000, n * 20'000), many);
  CHECK(cache.size() == 1);
}
