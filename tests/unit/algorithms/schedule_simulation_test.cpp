// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/schedule/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "plan_matrix.hpp"

// The simulation finds what is wrong with schedules that are wrong.

using namespace papcoll;

namespace {

struct Wrong {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "Wrong";
  static constexpr std::string_view sentence = "Is wrong.";
  static constexpr bool commutative_only = false;
  friend bool operator==(const Wrong&, const Wrong&) = default;
};

struct Forgets : Wrong {
  void emit(Reduce, Builder& b) const {
    for (int p = 1; b.position() == 0 && p + 1 < b.size(); ++p) b.reduce(p, b.whole());
    if (b.position() != 0 && b.position() + 1 < b.size()) b.send(0, b.whole());
  }
};

struct Doubles : Wrong {
  void emit(Allreduce, Builder& b) const {
    for (int distance = 1; distance < b.size(); distance *= 2) {
      b.send(b.wrap(b.position() + distance), b.whole());
      b.reduce(b.wrap(b.position() - distance), b.whole());
    }
  }
};

struct OutOfOrder : Wrong {
  void emit(Reduce, Builder& b) const {
    for (int p = b.size() - 1; b.position() == 0 && p > 0; --p) b.reduce(p, b.whole());
    if (b.position() != 0) b.send(0, b.whole());
  }
};

struct Misplaces : Wrong {
  void emit(Allgather, Builder& b) const {
    const int me = b.position();
    for (int k = 1; k < b.size(); ++k) b.send(b.wrap(me + k), b.contribution(me));
    for (int k = 1; k < b.size(); ++k) b.receive(b.wrap(me - k), b.contribution(me + k));
  }
};

struct Disagrees : Wrong {
  void emit(Bcast, Builder& b) const {
    const Range all = b.whole();
    const std::size_t cut = b.position() == 0 ? all.lo : std::min(all.lo + 1, all.hi);
    for (int p = 1; b.position() == 0 && p < b.size(); ++p) b.send(p, all);
    if (b.position() != 0) b.receive(0, {cut, all.hi});
    if (b.position() != 0) b.receive(0, {all.lo, cut});
  }
};

struct Waits : Wrong {  // receives first, everybody
  void emit(Barrier, Builder& b) const {
    b.receive(b.wrap(b.position() - 1), b.whole());
    b.send(b.wrap(b.position() + 1), b.whole());
  }
};

struct Sends : Wrong {  // nobody receives it
  void emit(Barrier, Builder& b) const { b.send(b.wrap(b.position() + 1), b.whole()); }
};

struct Silent : Wrong {
  void emit(Barrier, Builder&) const {}
};

struct OrderOfCombination : Wrong {  // each rank another one
  void emit(Allreduce, Builder& b) const {
    const int me = b.position();
    for (int k = 1; k < b.size(); ++k) b.send(b.wrap(me + k), b.whole());
    for (int k = 1; k < b.size(); ++k) b.reduce(b.wrap(me + k), b.whole());
  }
};

template <class S> void check_verdict(Collective c, std::string_view expected) {
  const std::string verdict = plan_simulation::failure_of(S{}, c);
  CAPTURE(verdict, expected);
  CHECK(verdict.find(expected) != std::string::npos);
}

}  // namespace

TEST_CASE("the simulation finds what is wrong", "[schedule]") {
  using enum Collective;
  check_verdict<Forgets>(reduce, "element 0 of ranks 1");
  check_verdict<Doubles>(allreduce, "unsound");
  check_verdict<OutOfOrder>(reduce, "in rank order: rank 0 has for element 0 an unsound");
  check_verdict<Misplaces>(allgather, "rank 0 has for element 7 element 14");
  check_verdict<Disagrees>(bcast, "both sides of a message differ");
  check_verdict<Waits>(barrier, "deadlock");
  check_verdict<Sends>(barrier, "that only one side knows");
  check_verdict<Silent>(barrier, "element 0 of ranks 1");
  check_verdict<OrderOfCombination>(allreduce, "other bits");
}
