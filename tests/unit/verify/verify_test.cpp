// SPDX-License-Identifier: BSD-3-Clause
// verify() of whole calls, and the sweep over calls: what is right is proven, and what is left out
// is missed. What a verdict says of each fault: verify_data, verify_messages and verify_memory.

#include <papcoll/verify/sweep.hpp>

#include <cstddef>
#include <cstdint>

#include "call_shape.hpp"
#include "catch.hpp"
#include "verified_plans.hpp"

using namespace verified;

TEST_CASE("good schedules are proven for all calls") {
  for (const AnySchedule& schedule : {AnySchedule::of<Star>(), AnySchedule::of<Around>()}) {
    for (std::size_t i = 0; i < collective_count; ++i) {
      const auto collective = static_cast<Collective>(i);
      if (!schedule.serves(collective)) continue;
      const Proof proof = verify_up_to(schedule, collective, 9);
      INFO(schedule.name() << ", " << describe(proof.shape) << ": " << proof.verdict.sentence);
      CHECK(proof);
      CHECK(proof.verdict.fault == FaultKind::none);
      CHECK(proof.cases > 9);
    }
  }
}

TEST_CASE("more ranks than bits in a word") {
  const Shape s = shape_of(Collective::allreduce, 130, 133);
  CHECK(verify(AnySchedule::of<Around>(), s, static_order(s)));
  CHECK(
      verify(AnySchedule::of<Star>(), shape_of(Collective::barrier, 130, 1), Order::identity(130)));
}

TEST_CASE("every step is needed: dropping any one is a fault") {
  for (const bool in_place : {false, true}) {
    Shape s = shape_of(Collective::allreduce, 4, 6);
    s.in_place = in_place;
    const Plans good{Around{}, s};
    for (std::size_t r = 0; r < 4; ++r) {
      for (std::uint32_t i = 0; i < good.all[r].full.size(); ++i) {
        Plans plans = good;
        Parts parts{plans.all[r].full};
        parts.erase_step(i);
        plans.all[r].full = parts.plan();
        INFO("rank " << r << ", step " << i);
        CHECK_FALSE(plans.verdict());
      }
    }
  }
}

TEST_CASE("blocks: each kind is verified, and that they make up the vector") {
  Shape s = shape_of(Collective::allreduce, 3, 20);
  s.element_size = 8;
  const Plans good{Star{}, s};
  REQUIRE(good.all[0].blocks == 3);
  REQUIRE(good.all[0].shorter_last);
  CHECK(good.verdict());

  SECTION("a fault in the last block is reported in elements of the vector") {
    Plans plans = good;
    Parts full{plans.all[1].full};
    Parts last{plans.all[1].last};
    last.steps[find_step(plans.all[1].last, OpKind::receive)].to = {Space::scratch, 0};
    full.scratch = last.scratch = last.count;
    plans.all[1].full = full.plan();
    plans.all[1].last = last.plan();
    const Verdict v = plans.verdict();
    CHECK(v.fault == FaultKind::missing);
    CHECK(v.rank == 1);
    CHECK(v.element == 16);
  }
  SECTION("too few blocks") {
    Plans plans = good;
    for (BlockedPlan& p : plans.all) p.blocks = 2;
    CHECK(plans.verdict().fault == FaultKind::missing);
  }
  SECTION("too many blocks") {
    Plans plans = good;
    for (BlockedPlan& p : plans.all) p.blocks = 4;
    CHECK(plans.verdict().fault == FaultKind::out_of_bounds);
  }
  SECTION("blocks that begin elsewhere") {
    Plans plans = good;
    for (BlockedPlan& p : plans.all) p.block_elements = 7;
    CHECK_FALSE(plans.verdict());
  }
  SECTION("ranks that cut differently") {
    Plans plans = good;
    plans.all[2].blocks = 2;
    const Verdict v = plans.verdict();
    CHECK(v.fault == FaultKind::unmatched);
    CHECK(v.rank == 2);
  }
  SECTION("a last block that needs more scratch than there is") {
    Plans plans = good;
    Parts last{plans.all[0].last};
    last.scratch = plans.all[0].full.scratch() + 1;
    plans.all[0].last = last.plan();
    CHECK(plans.verdict().fault == FaultKind::out_of_bounds);
  }
}

TEST_CASE("the sweep reports the call that shows a fault") {
  const Proof proof = verify_up_to(Forgetful{}, Collective::reduce, 8);
  CHECK_FALSE(proof);
  CHECK(proof.shape.size == 3);
  CHECK(describe(proof.shape) == "reduce of 6 elements on 3 ranks, root 0");
  CHECK(verify_up_to(Forgetful{}, Collective::reduce, 2));
}

TEST_CASE("one plan for each rank") {
  const Plans plans{Star{}, shape_of(Collective::bcast, 3, 2)};
  Shape s = plans.shape;
  s.size = 4;
  CHECK_THROWS_AS(verify(plans.all, s, plans.order), argument_error);
}
