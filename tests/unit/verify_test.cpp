#include <papcoll/analysis/verify_sweep.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "call_shape.hpp"
#include "catch.hpp"

using namespace papcoll;

namespace {

/// What all schedules of this file have in common.
struct TestSchedule {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view sentence = "For tests.";
  static constexpr bool commutative_only = true;
  friend bool operator==(const TestSchedule&, const TestSchedule&) = default;
};

/// The right ones: everything through position 0, and around a ring.
struct Star : TestSchedule {
  static constexpr std::string_view name = "Star";
  static constexpr bool commutative_only = false;
  static std::size_t segment(int, std::size_t element_size) { return 64 / element_size; }

  void emit(Reduce, Builder& b) const {
    if (b.position() != 0) return b.send(0, b.whole());
    for (int p = 1; p < b.size(); ++p) b.reduce(p, b.whole());
  }
  void emit(Bcast, Builder& b) const {
    if (b.position() != 0) return b.receive(0, b.whole());
    for (int p = 1; p < b.size(); ++p) b.send(p, b.whole());
  }
  void emit(Allreduce, Builder& b) const {
    emit(Reduce{}, b);
    emit(Bcast{}, b);
  }
  void emit(Gather, Builder& b) const {
    if (b.position() != 0) return b.send(0, b.contribution(b.position()));
    for (int p = 1; p < b.size(); ++p) b.receive(p, b.contribution(p));
  }
  void emit(Scatter, Builder& b) const {
    if (b.position() != 0) return b.receive(0, b.contribution(b.position()));
    for (int p = 1; p < b.size(); ++p) b.send(p, b.contribution(p));
  }
  void emit(Barrier, Builder& b) const { emit(Allreduce{}, b); }
};

struct Around : TestSchedule {
  static constexpr std::string_view name = "Around";

  void emit(ReduceScatter, Builder& b) const {
    reduce_around(b, [&b](int p) { return b.contribution(p); });
  }
  void emit(Allgather, Builder& b) const {
    for (int k = 0; k + 1 < b.size(); ++k) {
      b.send(next(b), b.contribution(b.position() - k));
      b.receive(previous(b), b.contribution(b.position() - k - 1));
    }
  }
  void emit(Allreduce, Builder& b) const {
    reduce_around(b, [&b](int p) { return b.block(p); });
    for (int k = 0; k + 1 < b.size(); ++k) {
      b.send(next(b), b.block(b.position() - k));
      b.receive(previous(b), b.block(b.position() - k - 1));
    }
  }

 private:
  static int next(const Builder& b) { return b.wrap(b.position() + 1); }
  static int previous(const Builder& b) { return b.wrap(b.position() - 1); }
  template <class Part>
  static void reduce_around(Builder& b, Part part) {
    for (int k = 1; k < b.size(); ++k) {
      b.send(next(b), part(b.position() - k));
      b.reduce(previous(b), part(b.position() - k - 1));
    }
  }
};

/// The plans of all ranks, to be damaged.
struct Plans {
  Plans(const AnySchedule& schedule, const Shape& of) : shape(of), order(static_order(of)) {
    for (Shape s = of; s.rank < s.size; ++s.rank) all.push_back(make_plan(schedule, s, order));
  }
  Verdict verdict() const { return verify(all, shape, order); }

  Shape shape;
  Order order;
  std::vector<BlockedPlan> all;
};

/// A plan taken to pieces.
struct Parts {
  explicit Parts(const Plan& plan)
      : steps(plan.steps().begin(), plan.steps().end()),
        scratch(plan.scratch()),
        count(plan.count()) {
    for (std::uint32_t i = 0; i < plan.size(); ++i) {
      for (const std::uint32_t later : plan.successors(i)) dependencies.push_back({i, later});
    }
  }
  Plan plan() const { return {steps, dependencies, scratch, count}; }

  void erase_step(std::uint32_t step) {
    steps.erase(steps.begin() + step);
    std::vector<Dependency> kept;
    for (Dependency d : dependencies) {
      if (d.earlier == step || d.later == step) continue;
      kept.push_back({d.earlier - (d.earlier > step), d.later - (d.later > step)});
    }
    dependencies = kept;
  }

  std::vector<Step> steps;
  std::vector<Dependency> dependencies;
  std::size_t scratch;
  std::size_t count;
};

/// The index of the n-th step of a kind.
std::size_t find_step(const Plan& plan, Act act, std::size_t n = 0) {
  std::size_t i = 0;
  while (plan[i].act != act || n-- > 0) ++i;
  return i;
}

void change_step(Plan& plan, std::size_t i, Step changed) {
  Parts parts{plan};
  parts.steps[i] = changed;
  plan = parts.plan();
}

bool mentions(const Verdict& v, std::string_view text) {
  return v.sentence.find(text) != std::string::npos;
}

}  // namespace

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

namespace {
struct Forgetful : TestSchedule {
  static constexpr std::string_view name = "Forgetful";
  void emit(Reduce, Builder& b) const {
    if (b.size() == 1) return;
    if (b.position() == 1) b.send(0, b.whole());
    if (b.position() == 0) b.reduce(1, b.whole());
  }
  void emit(Bcast, Builder& b) const {
    if (b.position() == 0) b.send(1, b.whole());
    if (b.position() == 1) b.receive(0, b.whole());
  }
  void emit(Barrier, Builder& b) const {
    if (b.position() != 0) b.send(0, b.whole());
    if (b.position() != 0) return;
    for (int p = 1; p < b.size(); ++p) b.reduce(p, b.whole());
  }
};
}  // namespace

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
  const std::size_t copy = find_step(plans.all[0].full, Act::copy);
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
  const std::size_t i = find_step(root, Act::reduce);
  Step step = root[i];
  step.a = step.to;
  change_step(root, i, step);
  const Verdict v = plans.verdict();
  CHECK(v.fault == FaultKind::missing);
  CHECK(v.step == i);
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
  const std::size_t i = find_step(plan, Act::send);
  Step step = plan[i];
  step.n = 1;
  Step other = plans.all[2].full[find_step(plans.all[2].full, Act::receive)];
  other.n = 1;
  other.to.offset += 1;
  change_step(plan, i, step);
  change_step(plans.all[2].full, find_step(plans.all[2].full, Act::receive), other);
  CHECK(plans.verdict().fault == FaultKind::missing);

  Plans swapped{Star{}, shape_of(Collective::gather, 3, 1)};
  Plan& root = swapped.all[0].full;
  const std::size_t first = find_step(root, Act::receive, 0);
  const std::size_t second = find_step(root, Act::receive, 1);
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
  const std::size_t i = find_step(root, Act::reduce);
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
  parts.dependencies.push_back({static_cast<std::uint32_t>(find_step(root, Act::receive)),
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
  combine.act = Act::reduce;
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
  const std::size_t i = find_step(root, Act::reduce);
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
  const std::size_t i = find_step(plan, Act::send, 1);
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
  const std::size_t s = find_step(plans.all[0].full, Act::send);
  const std::size_t r = find_step(plans.all[1].full, Act::receive);
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

namespace {

bool overlap(const Step& writer, const Step& other) {
  auto meets = [&](Operand o) {
    return o.space == writer.to.space && o.offset < writer.to.offset + writer.n &&
           writer.to.offset < o.offset + other.n;
  };
  if (writer.act == Act::send) return false;
  return (other.act != Act::receive && meets(other.a)) ||
         (other.act == Act::reduce && meets(other.b)) ||
         (other.act != Act::send && meets(other.to));
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
  const std::size_t first = find_step(root, Act::receive, 0);
  const std::size_t second = find_step(root, Act::receive, 1);
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
  const std::size_t i = find_step(root, Act::reduce);
  Step step = root[i];
  step.n = 3;
  step.to.offset += 1;
  change_step(root, i, step);
  const Verdict v = plans.verdict();
  CHECK(v.fault == FaultKind::conflict);
  CHECK(v.step == i);
}

TEST_CASE("deadlock: sends that wait for receives behind them") {
  // Each rank receives only after its send is complete.
  Plans plans{Around{}, shape_of(Collective::allgather, 3, 1)};
  for (BlockedPlan& p : plans.all) {
    Parts parts{p.full};
    for (std::uint32_t i = 0; i < parts.steps.size(); ++i) {
      if (parts.steps[i].act != Act::send) continue;
      for (std::uint32_t j = i + 1; j < parts.steps.size(); ++j) {
        if (parts.steps[j].act == Act::receive) parts.dependencies.push_back({i, j});
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
    const auto send = static_cast<std::uint32_t>(find_step(p.full, Act::send));
    const auto receive = static_cast<std::uint32_t>(find_step(p.full, Act::receive));
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

TEST_CASE("input written: out of place, and of ranks that are not the root") {
  Plans plans{Star{}, shape_of(Collective::reduce, 2, 2)};
  Parts parts{plans.all[1].full};
  Step copy;
  copy.act = Act::copy;
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
  auto damaged = [&](Act act, auto change) {
    Plans plans = good;
    Plan& plan = plans.all[0].full;
    const std::size_t i = find_step(plan, act);
    Step step = plan[i];
    change(step);
    change_step(plan, i, step);
    const Verdict v = plans.verdict();
    CHECK(v.rank == 0);
    CHECK(v.step == i);
    return v.fault;
  };
  CHECK(damaged(Act::reduce, [](Step& s) { s.a.offset = 1; }) == FaultKind::out_of_bounds);
  CHECK(damaged(Act::reduce, [](Step& s) { s.to.offset = 3; }) == FaultKind::out_of_bounds);
  CHECK(damaged(Act::receive, [](Step& s) { s.to.offset += 1; }) == FaultKind::out_of_bounds);
  CHECK(damaged(Act::send, [](Step& s) { s.n = 4; }) == FaultKind::out_of_bounds);
  CHECK(damaged(Act::send, [](Step& s) { s.a.offset = static_cast<std::size_t>(-1); }) ==
        FaultKind::out_of_bounds);
  CHECK(damaged(Act::send, [](Step& s) { s.peer = 2; }) == FaultKind::out_of_bounds);
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
    last.steps[find_step(plans.all[1].last, Act::receive)].to = {Space::scratch, 0};
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
