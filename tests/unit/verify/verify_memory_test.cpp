// SPDX-License-Identifier: BSD-3-Clause
// verify(): steps that reach for memory at the wrong time or in the wrong place.

#include <papcoll/verify/verify.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "call_shape.hpp"
#include "catch.hpp"
#include "verified_plans.hpp"

using namespace verified;

namespace {

bool overlap(const Step& writer, const Step& other) {
  auto meets = [&](Operand o) {
    return o.space == writer.to.space && o.offset < writer.to.offset + writer.n &&
           writer.to.offset < o.offset + other.n;
  };
  if (writer.kind == OpKind::send) return false;
  return (other.kind != OpKind::receive && meets(other.a)) ||
         (other.kind == OpKind::reduce && meets(other.b)) ||
         (other.kind != OpKind::send && meets(other.to));
}

/// By comparing all pairs of steps.
bool has_conflict(const Parts& parts) {
  const std::size_t n = parts.steps.size();
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n, false));
  for (const Dependency& d : parts.dependencies) before[d.earlier][d.later] = true;
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (before[i][k] && before[k][j]) before[i][j] = true;
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      const bool conflicting =
          overlap(parts.steps[i], parts.steps[j]) || overlap(parts.steps[j], parts.steps[i]);
      if (conflicting && !before[i][j]) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("conflict: every dependency that is needed is missed when it is dropped") {
  std::size_t needed = 0;
  std::size_t implied = 0;
  for (const bool in_place : {false, true}) {
    Shape s = shape_of(Collective::allreduce, 4, 5);
    s.in_place = in_place;
    for (const AnySchedule& schedule : {AnySchedule::of<Star>(), AnySchedule::of<Around>()}) {
      const Plans good{schedule, s};
      for (std::size_t r = 0; r < 4; ++r) {
        const Parts whole{good.all[r].full};
        CHECK_FALSE(has_conflict(whole));
        for (std::size_t d = 0; d < whole.dependencies.size(); ++d) {
          Parts parts = whole;
          parts.dependencies.erase(parts.dependencies.begin() + static_cast<std::ptrdiff_t>(d));
          Plans damaged = good;
          damaged.all[r].full = parts.plan();
          const Verdict v = damaged.verdict();
          INFO(schedule.name() << " rank " << r << ": " << v.sentence);
          if (has_conflict(parts)) {
            ++needed;
            CHECK(v.fault == FaultKind::conflict);
            CHECK(v.rank == static_cast<int>(r));
          } else {
            ++implied;
            CHECK(v);
          }
        }
      }
    }
  }
  CHECK(needed > 50);
  CHECK(implied > 5);
}

TEST_CASE("conflict: in place, input and output are the same memory") {
  Shape s = shape_of(Collective::allreduce, 2, 2);
  s.in_place = true;
  Plans plans{Star{}, s};
  // Rank 1 sends from its input and receives into its output: the same elements.
  Parts parts{plans.all[1].full};
  REQUIRE(parts.steps.size() == 2);
  parts.steps[0].a.space = Space::in;
  plans.all[1].full = parts.plan();
  CHECK(plans.verdict());
  parts.dependencies.clear();
  plans.all[1].full = parts.plan();
  const Verdict v = plans.verdict();
  CHECK(v.fault == FaultKind::conflict);
  CHECK(v.rank == 1);
  CHECK(v.step == 1);
  CHECK(v.element == 0);
}

TEST_CASE("conflict: two writes") {
  Plans plans{Star{}, shape_of(Collective::gather, 3, 2)};
  Plan& root = plans.all[0].full;
  const std::size_t first = find_step(root, OpKind::receive, 0);
  const std::size_t second = find_step(root, OpKind::receive, 1);
  Step step = root[second];
  step.to = root[first].to;
  change_step(root, second, step);
  const Verdict v = plans.verdict();
  CHECK(v.fault == FaultKind::conflict);
  CHECK(v.step == second);
}

TEST_CASE("conflict: a reduction over a part of its own operand") {
  Shape s = shape_of(Collective::reduce, 2, 4);
  s.in_place = true;
  Plans plans{Star{}, s};
  Plan& root = plans.all[0].full;
  const std::size_t i = find_step(root, OpKind::reduce);
  Step step = root[i];
  step.n = 3;
  step.to.offset += 1;
  change_step(root, i, step);
  const Verdict v = plans.verdict();
  CHECK(v.fault == FaultKind::conflict);
  CHECK(v.step == i);
}

TEST_CASE("input written: out of place, and of ranks that are not the root") {
  Plans plans{Star{}, shape_of(Collective::reduce, 2, 2)};
  Parts parts{plans.all[1].full};
  Step copy;
  copy.kind = OpKind::copy;
  copy.n = 1;
  copy.to = {Space::in, 1};
  copy.a = {Space::in, 0};
  parts.steps.push_back(copy);
  for (const bool in_place : {false, true}) {
    plans.shape.in_place = in_place;
    plans.all[1].full = parts.plan();
    const Verdict v = plans.verdict();
    CHECK(v.fault == FaultKind::input_written);
    CHECK(v.rank == 1);
    CHECK(v.step == 1);
    CHECK(v.element == 1);
  }
}

TEST_CASE("out of bounds: every space, and peers") {
  const Plans good{Star{}, shape_of(Collective::allreduce, 2, 3)};
  auto damaged = [&](OpKind kind, auto change) {
    Plans plans = good;
    Plan& plan = plans.all[0].full;
    const std::size_t i = find_step(plan, kind);
    Step step = plan[i];
    change(step);
    change_step(plan, i, step);
    const Verdict v = plans.verdict();
    CHECK(v.rank == 0);
    CHECK(v.step == i);
    return v.fault;
  };
  CHECK(damaged(OpKind::reduce, [](Step& s) { s.a.offset = 1; }) == FaultKind::out_of_bounds);
  CHECK(damaged(OpKind::reduce, [](Step& s) { s.to.offset = 3; }) == FaultKind::out_of_bounds);
  CHECK(damaged(OpKind::receive, [](Step& s) { s.to.offset += 1; }) == FaultKind::out_of_bounds);
  CHECK(damaged(OpKind::send, [](Step& s) { s.n = 4; }) == FaultKind::out_of_bounds);
  CHECK(damaged(OpKind::send, [](Step& s) { s.a.offset = static_cast<std::size_t>(-1); }) ==
        FaultKind::out_of_bounds);
  CHECK(damaged(OpKind::send, [](Step& s) { s.peer = 2; }) == FaultKind::out_of_bounds);
}

namespace {
struct Reaches : TestSchedule {
  static constexpr std::string_view name = "Reaches";
  void emit(Bcast, Builder& b) const { b.send(b.position() + 1, b.whole()); }
  void emit(Gather, Builder& b) const { b.send(0, {0, b.whole().hi + 1}); }
};
}  // namespace

TEST_CASE("out of bounds: a schedule that names what is not there") {
  const Verdict peer = verify(Reaches{}, shape_of(Collective::bcast, 1, 2), Order::identity(1));
  CHECK(peer.fault == FaultKind::out_of_bounds);
  CHECK(mentions(peer, "position 1"));
  const Verdict range = verify(Reaches{}, shape_of(Collective::gather, 2, 2), Order::identity(2));
  CHECK(range.fault == FaultKind::out_of_bounds);
  CHECK(mentions(range, "[0, 5) of a vector of 4"));
}
