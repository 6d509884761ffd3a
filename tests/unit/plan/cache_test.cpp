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

  std::weak_ptr<const BlockedPlan> first = plan(1);
  const std::weak_ptr<const BlockedPlan> second = plan(2);
  for (std::size_t n = 3; n <= PlanCache::max_entries; ++n) plan(n);
  CHECK(cache.size() == PlanCache::max_entries);
  CHECK(plan(1) == first.lock());  // used again, so that the second one is now the oldest
  plan(PlanCache::max_entries + 1);
  CHECK(cache.size() == PlanCache::max_entries);
  CHECK(plan(1) == first.lock());
  CHECK(second.expired());

  // Plans of many steps are fewer, but the one in use stays.
  const Order many = Order::identity(20'000);
  for (std::size_t n = 1; n <= 4; ++n) cache.get(ring, shape_of(20'000, n * 20'000), many);
  CHECK(cache.size() == 1);
}

TEST_CASE("a cache of plans keeps what is held elsewhere", "[plan]") {
  const AnySchedule ring{Ring{}};
  const Order order = Order::identity(4);
  PlanCache cache;
  const auto held = cache.get(ring, shape_of(4, 1), order);
  for (std::size_t n = 2; n <= 3 * PlanCache::max_entries; ++n) {
    cache.get(ring, shape_of(4, n), order);
  }
  CHECK(cache.size() == PlanCache::max_entries);
  CHECK(cache.get(ring, shape_of(4, 1), order) == held);
}
