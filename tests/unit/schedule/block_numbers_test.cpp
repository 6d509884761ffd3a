// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/schedule/make_plan.hpp>

#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

using namespace papcoll;

namespace {

/// As many contiguous pairs apart as can be.
Order strided(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  int stride = size / 2 + 1;
  while (std::gcd(stride, size) != 1) ++stride;
  for (std::size_t p = 0; p < ranks.size(); ++p) {
    ranks[p] = static_cast<int>(p * static_cast<std::size_t>(stride) % ranks.size());
  }
  return Order::permutation(std::move(ranks));
}

std::size_t messages_of(const AnySchedule& schedule, Shape shape, const Order& order) {
  std::size_t sends = 0;
  for (shape.rank = 0; shape.rank < shape.size; ++shape.rank) {
    const BlockedPlan plan = make_plan(schedule, shape, order);
    for (std::size_t i = 0; i < plan.full.size(); ++i) {
      sends += plan.full[i].kind == OpKind::send ? 1U : 0U;
    }
  }
  return sends;
}

}  // namespace

TEST_CASE("contributions take as many messages in any order as in rank order", "[plan]") {
  constexpr Collective of_blocks[] = {Collective::allgather, Collective::gather,
                                      Collective::scatter, Collective::reduce_scatter};
  std::size_t tried = 0;
  for (const CatalogueRow& row : catalogue()) {
    if (row.plan == nullptr || (row.needs & capability::forecast) != 0) continue;
    const AnySchedule schedule = row.plan();
    for (const Collective c : of_blocks) {
      if (!schedule.serves(c)) continue;
      for (const int size : {2, 3, 8, 13, 16}) {
        Shape shape;
        shape.collective = c;
        shape.size = size;
        shape.count = 3;
        INFO(schedule.name() << " " << name_of(c) << " " << size);
        const std::size_t in_rank_order = messages_of(schedule, shape, Order::identity(size));
        CHECK(messages_of(schedule, shape, strided(size)) == in_rank_order);
        shape.counts.resize(static_cast<std::size_t>(size));
        for (std::size_t r = 0; r < shape.counts.size(); ++r) shape.counts[r] = 1 + r % 3;
        CHECK(messages_of(schedule, shape, strided(size)) == in_rank_order);
        ++tried;
      }
    }
  }
  CHECK(tried > 20);
}

TEST_CASE("a permutation numbers blocks by positions, a rotation by ranks", "[plan]") {
  Shape shape;
  shape.collective = Collective::allgather;
  shape.size = 3;
  shape.counts = {5, 1, 2};
  const Order order = Order::permutation({2, 0, 1});
  const BlockOrder permuted{shape, order};
  CHECK(permuted.by_position());
  CHECK(permuted[0] == Range{0, 2});
  CHECK(permuted[1] == Range{2, 7});
  CHECK(permuted[2] == Range{7, 8});
  const Order around = Order::rotation(3, 2);
  const BlockOrder rotated{shape, around};
  CHECK_FALSE(rotated.by_position());
  CHECK(rotated[0] == Range{6, 8});
  CHECK(rotated[1] == Range{0, 5});

  shape.rank = 1;
  const Layout layout = layout_of(shape, order, permuted);
  REQUIRE(layout.has.size() == 1);
  CHECK(layout.has.front().range == Range{7, 8});
  CHECK(layout.has.front().first == 5);  // of all contributions, which are by rank
  // Of ranks 0 and 1 the blocks are neighbours in both.
  REQUIRE(layout.must.size() == 2);
  CHECK(layout.must[0].range == Range{0, 2});
  CHECK(layout.must[0].offset == 6);
  CHECK(layout.must[1].range == Range{2, 8});
  CHECK(layout.must[1].offset == 0);
}
