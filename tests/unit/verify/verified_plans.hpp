// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Schedules that are right and one that is wrong, and plans to be damaged, for the tests of
// verify().

#include <papcoll/base/vector.hpp>
#include <papcoll/verify/sweep.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace verified {

using namespace papcoll;

/// What all schedules of these tests have in common.
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
  template <class Part> static void reduce_around(Builder& b, Part part) {
    for (int k = 1; k < b.size(); ++k) {
      b.send(next(b), part(b.position() - k));
      b.reduce(previous(b), part(b.position() - k - 1));
    }
  }
};

/// Forgets the ranks behind the first two, and lets ranks leave a barrier before all have arrived.
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
  Plan plan() const {
    papcoll::detail::Vector<Step> copy;
    copy.append(steps.data(), steps.size());
    return {std::move(copy), dependencies, scratch, count};
  }

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
inline std::size_t find_step(const Plan& plan, OpKind kind, std::size_t n = 0) {
  std::size_t i = 0;
  while (plan[i].kind != kind || n-- > 0) ++i;
  return i;
}

inline void change_step(Plan& plan, std::size_t i, Step changed) {
  Parts parts{plan};
  parts.steps[i] = changed;
  plan = parts.plan();
}

inline bool mentions(const Verdict& v, std::string_view text) {
  return v.sentence.find(text) != std::string::npos;
}

}  // namespace verified
