// SPDX-License-Identifier: BSD-3-Clause
// verify(): faults in what the results consist of.

#include <papcoll/verify/verify.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "call_shape.hpp"
#include "catch.hpp"
#include "verified_plans.hpp"

using namespace verified;

TEST_CASE("missing: a contribution that is left out") {
  const Shape s = shape_of(Collective::reduce, 3, 4);
  const Verdict v = verify(Forgetful{}, s, static_order(s));
  CHECK(v.fault == FaultKind::missing);
  CHECK(v.rank == 0);
  CHECK(v.element == 0);
  CHECK(mentions(v, "lacks the contribution of rank 2"));
}

TEST_CASE("missing: also where the operator does not commute") {
  Shape s = shape_of(Collective::reduce, 3, 4);
  s.commutative = false;
  CHECK(verify(Forgetful{}, s, static_order(s)).fault == FaultKind::missing);
}

TEST_CASE("missing: a schedule that cannot even be written down") {
  const Shape s = shape_of(Collective::bcast, 3, 4);
  const Verdict v = verify(Forgetful{}, s, static_order(s));
  CHECK(v.fault == FaultKind::missing);
  CHECK(v.rank == 2);
}

TEST_CASE("missing: an output that is never written") {
  Plans plans{Star{}, shape_of(Collective::gather, 3, 2)};
  Parts root{plans.all[0].full};
  const std::size_t copy = find_step(plans.all[0].full, OpKind::copy);
  root.erase_step(static_cast<std::uint32_t>(copy));
  plans.all[0].full = root.plan();
  const Verdict v = plans.verdict();
  CHECK(v.fault == FaultKind::missing);
  CHECK(v.rank == 0);
  CHECK(v.element == 0);
}

TEST_CASE("missing: memory that was never written is combined") {
  Plans plans{Star{}, shape_of(Collective::reduce, 2, 2)};
  Plan& root = plans.all[0].full;
  const std::size_t i = find_step(root, OpKind::reduce);
  Step step = root[i];
  step.a = step.to;
  change_step(root, i, step);
  const Verdict v = plans.verdict();
  CHECK(v.fault == FaultKind::missing);
  CHECK(v.step == i);
}

namespace {
/// An exscan in which rank 3 gets what rank 2 has by two ways, and one that stops at the neighbour.
struct GivenTwice : TestSchedule {
  static constexpr std::string_view name = "GivenTwice";
  static constexpr bool commutative_only = false;
  void emit(Exscan, Builder& b) const {
    const int me = b.position();
    if (me > 0) b.reduce(me - 1, b.whole(), b.result());
    if (me + 1 < b.size()) b.send(me + 1, b.whole());
    if (me == 1) b.send(2, b.whole());
    if (me == 2) b.receive(1, b.result());
    if (me == 2) b.send(3, b.whole());
    if (me == 3) b.reduce(2, b.result());
  }
};
struct NextOnly : TestSchedule {
  static constexpr std::string_view name = "NextOnly";
  static constexpr bool commutative_only = false;
  void emit(Exscan, Builder& b) const {
    if (b.position() + 1 < b.size()) b.send(b.position() + 1, b.whole());
    if (b.position() > 0) b.receive(b.position() - 1, b.result());
  }
};
}  // namespace

TEST_CASE("an exscan has the contributions below a rank, each once, and rank 0 has none") {
  const Shape s = shape_of(Collective::exscan, 4, 4);
  const Verdict lacks = verify(NextOnly{}, s, static_order(s));
  CHECK(lacks.fault == FaultKind::missing);
  CHECK(lacks.rank == 2);
  CHECK(mentions(lacks, "lacks the contribution of rank 0"));
  const Verdict twice = verify(GivenTwice{}, s, static_order(s));
  CHECK(twice.fault == FaultKind::doubled);
  CHECK(twice.rank == 3);
  for (const bool in_place : {false, true}) {
    Shape first = s;
    first.in_place = in_place;
    CHECK(layout_of(first).must.empty());
    CHECK(layout_of(first).out == 0);
  }
}

TEST_CASE("missing: a rank may leave a barrier early") {
  const Shape s = shape_of(Collective::barrier, 3, 1);
  const Verdict v = verify(Forgetful{}, s, static_order(s));
  CHECK(v.fault == FaultKind::missing);
  CHECK(v.rank == 1);
  CHECK(mentions(v, "before rank 0 has come"));
}

namespace {
/// Recursive doubling that believes every number to be a power of two.
struct Wraps : TestSchedule {
  static constexpr std::string_view name = "Wraps";
  static constexpr bool commutative_only = false;
  void emit(Allreduce, Builder& b) const {
    for (int distance = 1; distance < b.size(); distance *= 2) {
      b.send(b.wrap(b.position() + distance), b.whole());
      b.reduce(b.wrap(b.position() - distance), b.whole());
    }
  }
  void emit(Barrier, Builder& b) const { emit(Allreduce{}, b); }
};
}  // namespace

TEST_CASE("doubled: a contribution comes by two ways") {
  const Shape s = shape_of(Collective::allreduce, 3, 4);
  const Verdict v = verify(Wraps{}, s, static_order(s));
  CHECK(v.fault == FaultKind::doubled);
  CHECK(v.rank == 0);
  CHECK(v.step != Verdict::nowhere);
}

TEST_CASE("doubled arrivals do not harm a barrier") {
  const Shape s = shape_of(Collective::barrier, 3, 1);
  CHECK(verify(Wraps{}, s, static_order(s)));
}

TEST_CASE("wrong: an element of another place") {
  Plans plans{Around{}, shape_of(Collective::allgather, 3, 2)};
  Plan& plan = plans.all[1].full;
  const std::size_t i = find_step(plan, OpKind::send);
  Step step = plan[i];
  step.n = 1;
  Step other = plans.all[2].full[find_step(plans.all[2].full, OpKind::receive)];
  other.n = 1;
  other.to.offset += 1;
  change_step(plan, i, step);
  change_step(plans.all[2].full, find_step(plans.all[2].full, OpKind::receive), other);
  CHECK(plans.verdict().fault == FaultKind::missing);

  Plans swapped{Star{}, shape_of(Collective::gather, 3, 1)};
  Plan& root = swapped.all[0].full;
  const std::size_t first = find_step(root, OpKind::receive, 0);
  const std::size_t second = find_step(root, OpKind::receive, 1);
  Step a = root[first];
  Step b = root[second];
  std::swap(a.to, b.to);
  change_step(root, first, a);
  change_step(root, second, b);
  const Verdict v = swapped.verdict();
  CHECK(v.fault == FaultKind::wrong);
  CHECK(v.rank == 0);
  CHECK(v.element == 1);
  CHECK(mentions(v, "holds element 2"));
}

TEST_CASE("wrong: different elements are combined") {
  Plans plans{Star{}, shape_of(Collective::reduce, 2, 4)};
  Plan& root = plans.all[0].full;
  const std::size_t i = find_step(root, OpKind::reduce);
  Step step = root[i];
  step.n = 2;
  step.a.offset += 2;
  Parts parts{root};
  parts.steps[i] = step;
  Step rest = root[i];
  rest.n = 2;
  rest.to.offset += 2;
  rest.b.offset += 2;
  parts.steps.push_back(rest);
  parts.dependencies.push_back({static_cast<std::uint32_t>(find_step(root, OpKind::receive)),
                                static_cast<std::uint32_t>(parts.steps.size() - 1)});
  root = parts.plan();
  const Verdict v = plans.verdict();
  CHECK(v.fault == FaultKind::wrong);
  CHECK(v.step == i);
}

TEST_CASE("wrong: a collective that only moves data combines some") {
  Plans plans{Star{}, shape_of(Collective::gather, 2, 1)};
  Parts root{plans.all[0].full};
  Step combine;
  combine.kind = OpKind::reduce;
  combine.n = 1;
  combine.to = combine.a = combine.b = {Space::out, 0};
  const auto last = static_cast<std::uint32_t>(root.steps.size());
  for (std::uint32_t i = 0; i < last; ++i) root.dependencies.push_back({i, last});
  root.steps.push_back(combine);
  plans.all[0].full = root.plan();
  CHECK(plans.verdict().fault == FaultKind::wrong);
}

TEST_CASE("out of rank order: a schedule that rotates the combination") {
  Shape s = shape_of(Collective::allreduce, 3, 6);
  CHECK(verify(Around{}, s, static_order(s)));
  s.commutative = false;
  const Verdict v = verify(Around{}, s, static_order(s));
  CHECK(v.fault == FaultKind::out_of_rank_order);
  CHECK(v.step != Verdict::nowhere);
}

TEST_CASE("out of rank order: ranks count, not positions") {
  Shape s = shape_of(Collective::reduce, 3, 2);
  s.commutative = false;
  s.root = 2;
  CHECK(verify(Star{}, s, static_order(s)));
  CHECK(verify(Star{}, s, Order::rotation(3, 2)).fault == FaultKind::out_of_rank_order);
}

TEST_CASE("out of rank order: operands exchanged") {
  Shape s = shape_of(Collective::reduce, 2, 1);
  s.commutative = false;
  Plans plans{Star{}, s};
  Plan& root = plans.all[0].full;
  const std::size_t i = find_step(root, OpKind::reduce);
  Step step = root[i];
  std::swap(step.a, step.b);
  change_step(root, i, step);
  const Verdict v = plans.verdict();
  CHECK(v.fault == FaultKind::out_of_rank_order);
  CHECK(v.rank == 0);
  CHECK(v.step == i);
}

namespace {
/// Every position combines all contributions by itself, beginning with its own.
struct Selfish : TestSchedule {
  static constexpr std::string_view name = "Selfish";
  void emit(Allreduce, Builder& b) const {
    for (int k = 1; k < b.size(); ++k) b.send(b.wrap(b.position() + k), b.whole());
    for (int k = 1; k < b.size(); ++k) b.reduce(b.wrap(b.position() - k), b.whole());
  }
};
}  // namespace

TEST_CASE("inconsistent: ranks combine in different ways") {
  const Shape s = shape_of(Collective::allreduce, 3, 2);
  const Verdict v = verify(Selfish{}, s, static_order(s));
  CHECK(v.fault == FaultKind::inconsistent);
  CHECK(v.rank == 1);
  CHECK(verify(Selfish{}, s, static_order(s), {.contract = NumericalContract::fast}));
}
