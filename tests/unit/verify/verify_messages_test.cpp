// SPDX-License-Identifier: BSD-3-Clause
// verify(): messages that have no partner, and ranks that wait for each other.

#include <papcoll/verify/verify.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "call_shape.hpp"
#include "catch.hpp"
#include "verified_plans.hpp"

using namespace verified;

TEST_CASE("unmatched: a message without a partner") {
  Plans plans{Star{}, shape_of(Collective::bcast, 3, 2)};
  Parts root{plans.all[0].full};
  root.erase_step(1);
  plans.all[0].full = root.plan();
  const Verdict v = plans.verdict();
  CHECK(v.fault == FaultKind::unmatched);
  CHECK(v.rank == 2);
  CHECK(v.step == 0);
  CHECK(mentions(v, "sends 0 messages to rank 2, which receives 1"));
}

TEST_CASE("unmatched: sizes differ") {
  Plans plans{Star{}, shape_of(Collective::bcast, 2, 2)};
  Step step = plans.all[0].full[0];
  step.n = 1;
  change_step(plans.all[0].full, 0, step);
  const Verdict v = plans.verdict();
  CHECK(v.fault == FaultKind::unmatched);
  CHECK(v.rank == 1);
  CHECK(mentions(v, "sizes differ"));
}

TEST_CASE("unmatched: a number given twice") {
  Plans plans{Around{}, shape_of(Collective::allgather, 3, 2)};
  Plan& plan = plans.all[1].full;
  const std::size_t i = find_step(plan, OpKind::send, 1);
  Step step = plan[i];
  step.number = 0;
  change_step(plan, i, step);
  const Verdict v = plans.verdict();
  CHECK(v.fault == FaultKind::unmatched);
  CHECK(v.rank == 1);
  CHECK(v.step == i);
}

TEST_CASE("unmatched: receives that start in another order than their numbers are fine") {
  Plans plans{Star{}, shape_of(Collective::allreduce, 2, 4)};
  for (BlockedPlan& p : plans.all) CHECK(p.full.size() > 0);
  // Rank 0 sends two halves; rank 1 waits for the second one first.
  Parts sender{plans.all[0].full};
  Parts receiver{plans.all[1].full};
  const std::size_t s = find_step(plans.all[0].full, OpKind::send);
  const std::size_t r = find_step(plans.all[1].full, OpKind::receive);
  auto halve = [](Parts& parts, std::size_t i, bool reversed) {
    Step low = parts.steps[i];
    low.n = 2;
    Step high = low;
    high.number = 1;
    high.a.offset += 2;
    high.to.offset += 2;
    parts.steps[i] = reversed ? high : low;
    parts.steps.push_back(reversed ? low : high);
    const auto last = static_cast<std::uint32_t>(parts.steps.size() - 1);
    const auto before = parts.dependencies;
    for (const Dependency& d : before) {
      if (d.later == i) parts.dependencies.push_back({d.earlier, last});
    }
    if (reversed) parts.dependencies.push_back({static_cast<std::uint32_t>(i), last});
  };
  halve(sender, s, false);
  halve(receiver, r, true);
  plans.all[0].full = sender.plan();
  plans.all[1].full = receiver.plan();
  const Verdict v = plans.verdict();
  INFO(v.sentence);
  CHECK(v);
}

TEST_CASE("deadlock: sends that wait for receives behind them") {
  // Each rank receives only after its send is complete.
  Plans plans{Around{}, shape_of(Collective::allgather, 3, 1)};
  for (BlockedPlan& p : plans.all) {
    Parts parts{p.full};
    for (std::uint32_t i = 0; i < parts.steps.size(); ++i) {
      if (parts.steps[i].kind != OpKind::send) continue;
      for (std::uint32_t j = i + 1; j < parts.steps.size(); ++j) {
        if (parts.steps[j].kind == OpKind::receive) parts.dependencies.push_back({i, j});
      }
    }
    p.full = parts.plan();
  }
  const Verdict v = plans.verdict();
  CHECK(v.fault == FaultKind::deadlock);
  CHECK(v.rank == 0);
  CHECK(mentions(v, "waits for the first again"));
  CHECK(mentions(v, "only with its receive"));
}

TEST_CASE("deadlock: receives that wait for sends behind them, however sends complete") {
  Plans plans{Around{}, shape_of(Collective::allgather, 2, 1)};
  for (BlockedPlan& p : plans.all) {
    Parts parts{p.full};
    const auto send = static_cast<std::uint32_t>(find_step(p.full, OpKind::send));
    const auto receive = static_cast<std::uint32_t>(find_step(p.full, OpKind::receive));
    REQUIRE(send < receive);
    std::swap(parts.steps[send], parts.steps[receive]);
    parts.dependencies.push_back({send, receive});
    p.full = parts.plan();
  }
  const Verdict v = plans.verdict();
  CHECK(v.fault == FaultKind::deadlock);
  CHECK(mentions(v, "even if sends complete at once"));
}

TEST_CASE("deadlock: a step that waits for one behind it") {
  Plans plans{Star{}, shape_of(Collective::reduce, 2, 1)};
  Parts root{plans.all[0].full};
  root.dependencies.push_back({1, 0});
  plans.all[0].full = root.plan();
  const Verdict v = plans.verdict();
  CHECK(v.fault == FaultKind::deadlock);
  CHECK(v.rank == 0);
  CHECK(v.step == 0);
}
