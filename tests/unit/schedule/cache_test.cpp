// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/schedule/make_plan.hpp>

#include <cstddef>
#include <memory>
#include <vector>

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
  const auto plan = [&](std::size_t count) {
    return cache.get(ring, shape_of(4, count), order).plan;
  };

  papcoll::detail::Weak<const BlockedPlan> first = plan(1);
  const papcoll::detail::Weak<const BlockedPlan> second = plan(2);
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

TEST_CASE("a cache of plans does not grow with those that hold plans", "[plan]") {
  const AnySchedule ring{Ring{}};
  const Order order = Order::identity(4);
  PlanCache cache;
  std::vector<PlanOf> held;
  for (std::size_t n = 1; n <= 3 * PlanCache::max_entries; ++n) {
    held.push_back(cache.get(ring, shape_of(4, n), order));
  }
  CHECK(cache.size() == PlanCache::max_entries);
  CHECK(held[0].is_of(ring, shape_of(4, 1), order));
  CHECK_FALSE(held[0].is_of(ring, shape_of(4, 2), order));
}
