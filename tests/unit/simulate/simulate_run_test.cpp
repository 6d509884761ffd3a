// SPDX-License-Identifier: BSD-3-Clause
#include "call_shape.hpp"
#include "catch.hpp"

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/simulate/fair_shares.hpp>
#include <papcoll/simulate/simulate.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What holds for every simulation: the critical path, bounds, arrivals, sameness; and what is
// refused. One file, since all cases share one list of schedules.

using namespace papcoll;

namespace {

const std::vector<AnySchedule>& schedules() {
  static const std::vector<AnySchedule> all{
      AnySchedule{Linear{}},
      AnySchedule{Binomial{}},
      AnySchedule{KNomial{}},
      AnySchedule{Ring{}},
      AnySchedule{SegmentedRing{.segment_bytes = 96}},
      AnySchedule{Rabenseifner{}},
      AnySchedule{RecursiveDoubling{}},
      AnySchedule{PipelinedChain{.segment_bytes = 100}},
      AnySchedule{PipelinedBinaryTree{.segment_bytes = 300}},
      AnySchedule{TwoTreeComplete{.chunk_bytes = 100}},
      AnySchedule{TwoTreeSanders{.chunk_bytes = 100}},
      AnySchedule{ScatterAllgather{}},
      AnySchedule{Pairwise{}},
  };
  return all;
}

LogGops model() {
  LogGops m;
  m.latency = 3e-6;
  m.overhead = 0.4e-6;
  m.gap = 0.9e-6;
  m.gap_per_byte = 1e-8;
  m.overhead_per_byte = 1e-10;
  m.rendezvous = 200;
  m.combine_per_byte = 3e-9;
  m.copy_per_byte = 1e-9;
  return m;
}

/// Calls f(schedule, shape, options) for both kinds of port, some ranks arriving late.
template <class F> void for_each_case(F&& f) {
  for (const AnySchedule& schedule : schedules()) {
    for (std::size_t c = 0; c < collective_count; ++c) {
      const auto collective = static_cast<Collective>(c);
      if (!schedule.serves(collective) || collective == Collective::barrier) continue;
      for (const int size : {2, 5, 8}) {
        const Shape shape = shape_of(collective, size, 1000);
        for (const Ports ports : {Ports::exclusive, Ports::shared}) {
          SimulateOptions o;
          o.ports = ports;
          for (int r = 0; r < size; ++r) o.arrivals.push_back((r * 7 % 5) * 2e-6);
          CAPTURE(schedule.name(), std::string(name_of(collective)), size, ports == Ports::shared);
          f(schedule, shape, o);
        }
      }
    }
  }
}

struct Wrong {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "Wrong";
  static constexpr std::string_view sentence = "Is wrong.";
  static constexpr bool commutative_only = false;
  friend bool operator==(const Wrong&, const Wrong&) = default;
};

struct Waits : Wrong {  // receives first, everybody
  void emit(Barrier, Builder& b) const {
    b.receive(b.wrap(b.position() - 1), b.whole());
    b.send(b.wrap(b.position() + 1), b.whole());
  }
};

struct WaitsAndSends : Wrong {  // 0 for 1 for 0; what 0 sends to 2 is not what it waits for
  void emit(Bcast, Builder& b) const {
    if (b.position() == 0) {
      b.receive(1, {0, 1});
      b.send(2, {1, 2});
      b.send(1, {0, 2});
    } else if (b.position() == 1) {
      b.receive(0, {0, 2});
      b.send(0, {0, 1});
      b.send(2, {0, 2});
    } else {
      b.receive(1, {0, 2});
      b.receive(0, {1, 2});
    }
  }
};

struct Sends : Wrong {  // nobody receives it
  void emit(Barrier, Builder& b) const { b.send(b.wrap(b.position() + 1), b.whole()); }
};

struct Receives : Wrong {  // nobody sends it
  void emit(Barrier, Builder& b) const { b.receive(b.wrap(b.position() + 1), b.whole()); }
};

struct Disagrees : Wrong {
  void emit(Bcast, Builder& b) const {
    if (b.position() == 0) b.send(1, b.whole());
    if (b.position() == 1) b.receive(0, {0, 1});
    if (b.position() == 1) b.receive(0, {1, b.whole().hi});
  }
};

struct Searches : Ring {  // for what it stands for
  static inline int times = 0;
  AnySchedule resolved(int /*size*/, std::size_t /*bytes*/) const {
    ++times;
    return AnySchedule::of<Ring>();
  }
  friend bool operator==(const Searches&, const Searches&) = default;
};

struct TwoChunks : Wrong {
  void emit(Reduce, Builder& b) const {
    for (const Range r : {Range{0, 6}, Range{6, 11}}) {
      b.position() == 0 ? b.reduce(1, r) : b.send(0, r);
    }
  }
};

}  // namespace

TEST_CASE("the critical path leads from an arrival to the last exit without a gap", "[simulate]") {
  for_each_case([](const AnySchedule& schedule, const Shape& shape, SimulateOptions o) {
    o.keep_steps = true;
    const Simulated s = simulate(schedule, shape, static_order(shape), model(), o);
    REQUIRE(!s.critical_path.empty());
    const SimulatedStep& first = s.critical_path.front();
    CHECK(first.start ==
          Approx(o.arrivals[static_cast<std::size_t>(first.rank)]).margin(o.resolution));
    double end = first.start;
    bool connected = true;
    for (const SimulatedStep& step : s.critical_path) {
      connected &= step.start == end && step.end >= step.start;
      end = step.end;
    }
    CHECK(connected);
    CHECK(end == *std::max_element(s.exits.begin(), s.exits.end()));
    // The next step of the path is on the same rank, at the other end of a message, or was behind
    // it at a port.
    bool plausible = true;
    for (std::size_t i = 1; i < s.critical_path.size(); ++i) {
      const SimulatedStep& a = s.critical_path[i - 1];
      const SimulatedStep& b = s.critical_path[i];
      plausible &= a.rank == b.rank || a.peer == b.rank || a.rank == b.peer;
    }
    CHECK(plausible);
  });
}

TEST_CASE("kept steps are those of the plans, and keeping them changes nothing", "[simulate]") {
  for_each_case([](const AnySchedule& schedule, Shape shape, SimulateOptions o) {
    const Order order = static_order(shape);
    const Simulated plain = simulate(schedule, shape, order, model(), o);
    const Simulated again = simulate(schedule, shape, order, model(), o);
    o.keep_steps = true;
    const Simulated kept = simulate(schedule, shape, order, model(), o);
    CHECK(plain.exits == again.exits);
    CHECK(plain.exits == kept.exits);
    o.keep_steps = false;
    o.keep_path = true;
    const Simulated path = simulate(schedule, shape, order, model(), o);
    CHECK(path.exits == plain.exits);
    CHECK(path.steps.empty());
    REQUIRE(path.critical_path.size() == kept.critical_path.size());
    bool same = true;
    for (std::size_t i = 0; i < path.critical_path.size(); ++i) {
      const SimulatedStep& a = path.critical_path[i];
      const SimulatedStep& b = kept.critical_path[i];
      same &= a.rank == b.rank && a.step == b.step && a.start == b.start && a.end == b.end;
    }
    CHECK(same);
    CHECK(plain.steps.empty());
    CHECK(plain.critical_path.empty());
    std::size_t steps = 0;
    std::size_t sends = 0;
    for (shape.rank = 0; shape.rank < shape.size; ++shape.rank) {
      const BlockedPlan plan = make_plan(schedule, shape, order);
      for (std::size_t b = 0; b < plan.blocks; ++b) {
        steps += plan.block(b).size();
        for (const Step& s : plan.block(b).steps()) sends += s.kind == OpKind::send;
      }
    }
    CHECK(kept.steps.size() == steps);
    CHECK(kept.messages == sends);
    REQUIRE(kept.ends.size() == sends);
    bool meet = true;
    for (const SimulatedEnds& e : kept.ends) {
      const SimulatedStep& send = kept.steps[e.send];
      const SimulatedStep& receive = kept.steps[e.receive];
      meet &= send.kind == OpKind::send && receive.kind == OpKind::receive &&
              send.peer == receive.rank && send.rank == receive.peer &&
              send.block == receive.block && send.bytes == receive.bytes &&
              send.start < receive.end;
    }
    CHECK(meet);
    bool in_time = true;
    for (const SimulatedStep& s : kept.steps) {
      const auto rank = static_cast<std::size_t>(s.rank);
      in_time &= o.arrivals[rank] <= s.start && s.start <= s.end && s.end <= kept.exits[rank];
    }
    CHECK(in_time);
  });
}

TEST_CASE("no simulated time beats the bandwidth of a port", "[simulate]") {
  for_each_case([](const AnySchedule& schedule, const Shape& shape, SimulateOptions o) {
    o.arrivals.clear();
    const double time = simulate(schedule, shape, static_order(shape), model(), o).time();
    const double parts = shape.size - 1;
    double least = 1000 * parts;  // bytes that some rank sends or receives
    if (shape.collective == Collective::allreduce) least = 2 * 1000 * parts / shape.size;
    if (shape.collective != Collective::allreduce && is_elementwise(shape.collective)) least = 1000;
    CHECK(time >= 3e-6 + least * 1e-8);
  });
}

TEST_CASE("if all arrive later, all leave as much later", "[simulate]") {
  for_each_case([](const AnySchedule& schedule, const Shape& shape, SimulateOptions o) {
    const Simulated before = simulate(schedule, shape, static_order(shape), model(), o);
    for (double& a : o.arrivals) a += 1e-3;
    const Simulated after = simulate(schedule, shape, static_order(shape), model(), o);
    CHECK(after.time() == Approx(before.time()).epsilon(1e-3));
    CHECK(after.tail() == Approx(before.tail()).epsilon(1e-3));
    for (std::size_t r = 0; r < before.exits.size(); ++r) {
      CHECK(after.exits[r] - 1e-3 == Approx(before.exits[r]).epsilon(1e-3));
    }
  });
}

TEST_CASE("chunks that differ by a byte are looked at in their order", "[simulate]") {
  const Shape shape = shape_of(Collective::reduce, 2, 11);
  SimulateOptions o;
  o.ports = Ports::shared;
  o.keep_steps = true;
  auto first_combined = [&] {
    const Simulated s = simulate(TwoChunks{}, shape, static_order(shape), LogGops{}, o);
    for (const SimulatedStep& step : s.steps) {
      if (step.kind == OpKind::reduce) return step.bytes;
    }
    return std::size_t{0};
  };
  CHECK(first_combined() == 6);
  o.resolution = 0;
  CHECK(first_combined() == 5);
}

TEST_CASE("one rank alone needs no time, and an empty vector neither", "[simulate]") {
  Shape shape = shape_of(Collective::allreduce, 1, 100);
  SimulateOptions o;
  o.arrivals = {5};
  o.keep_steps = true;
  LogGops m;
  const Simulated alone = simulate(Ring{}, shape, static_order(shape), m, o);
  CHECK(alone.exits == std::vector<double>{5});
  CHECK(alone.time() == 0);
  CHECK(alone.messages == 0);
  shape = shape_of(Collective::allreduce, 4, 0);
  const Simulated empty = simulate(Ring{}, shape, static_order(shape), m);
  CHECK(empty.time() == 0);
  CHECK(empty.critical_path.empty());
}

TEST_CASE("flows get max-min fair shares", "[simulate]") {
  // 0→2; 1→2, 1→3, 1→4: port out 1 is the fullest and gives ⅓ to each; 0→2 has the rest of in 2.
  FairShares shares{5};
  std::vector<double> ends(4);
  auto update = [&](double now) {
    shares.update(now, [&](std::uint32_t id, std::uint32_t, double end) { ends[id] = end; });
  };
  shares.add(0, 0, 2, 6, 0);
  update(0);
  CHECK(ends[0] == Approx(6));
  for (std::uint32_t id = 1; id < 4; ++id) shares.add(id, 1, id + 1, 6, 0);
  update(0);
  CHECK(ends[0] == Approx(9));
  for (std::uint32_t id = 1; id < 4; ++id) CHECK(ends[id] == Approx(18));
  // When the other two are gone at 3, of 0→2 4 are left and of 1→2 5: ½ each.
  shares.remove(2);
  shares.remove(3);
  update(3);
  CHECK(ends[0] == Approx(3 + 8));
  CHECK(ends[1] == Approx(3 + 10));
  // And when 0→2 has ended at 11, 1 is left of 1→2, alone.
  shares.remove(0);
  update(11);
  CHECK(ends[1] == Approx(12));
}

TEST_CASE("what cannot be simulated is refused with a sentence", "[simulate]") {
  const LogGops m;
  auto check = [&](const AnySchedule& schedule, const Shape& shape, const char* sentence,
                   const SimulateOptions& o = {}) {
    CAPTURE(sentence);
    CHECK_THROWS_WITH(simulate(schedule, shape, Order::identity(shape.size), m, o),
                      Catch::Contains(sentence));
  };
  const Shape barrier = shape_of(Collective::barrier, 3, 1);
  check(Waits{}, barrier, "rank 0 waits for 1 bytes from rank 2, which never sends them");
  check(WaitsAndSends{}, shape_of(Collective::bcast, 3, 2),
        "rank 0 waits for 1 bytes from rank 1, which never sends them");
  check(Sends{}, barrier, "from rank 0 to rank 1 (step 0) has no receive");
  check(Receives{}, barrier, "receive of 1 bytes by rank 2 from rank 0 (step 0) has no send");
  check(Disagrees{}, shape_of(Collective::bcast, 2, 4), "meets a receive of another size");
  const Shape shape = shape_of(Collective::allreduce, 4, 4);
  check(Pairwise{}, shape, "it does not serve allreduce");
  Shape in_order = shape;
  in_order.commutative = false;
  check(Ring{}, in_order, "it combines out of rank order");
  SimulateOptions o;
  o.pipeline_depth = 0;
  check(Ring{}, shape, "give a pipeline depth of 1 or more", o);
  o = {};
  o.arrivals = {0, 0, 0};
  check(Ring{}, shape, "3 arrivals: give one for each rank", o);
  o = {};
  o.links = LinkCosts::nodes({0, 0, 1}, {}, {});
  check(Ring{}, shape, "link costs for 3 ranks", o);
  o.links = LinkCosts::nodes({0, 0, 1, 1}, {1e-6, 0}, {std::nan(""), 0});
  check(Ring{}, shape, "a link costs a negative time, or one that is no finite number", o);
  o = {};
  o.arrivals = {0, 0, std::nan(""), 0};
  check(Ring{}, shape, "an arrival is no finite number", o);
  o = {};
  o.resolution = -1;
  check(Ring{}, shape, "the resolution is negative", o);
  o = {};
  o.most_steps = 30;
  check(Ring{}, shape, "takes 45 steps or more, and it may take 30 steps", o);
  CHECK_THROWS_WITH(simulate(Ring{}, shape, Order::identity(3), m),
                    Catch::Contains("the order has 3 ranks"));
  LogGops negative;
  negative.gap = -1;
  CHECK_THROWS_WITH(simulate(Ring{}, shape, Order::identity(4), negative),
                    Catch::Contains("negative time"));
  LogGops endless;
  endless.latency = 1e308;
  CHECK_THROWS_WITH(simulate(Ring{}, shape, Order::identity(4), endless),
                    Catch::Contains("add up to more than a double holds"));
  endless.latency = HUGE_VAL;
  CHECK_THROWS_WITH(simulate(Ring{}, shape, Order::identity(4), endless),
                    Catch::Contains("no finite number"));
}

TEST_CASE("simulations of more steps or memory than is allowed are refused at once", "[simulate]") {
  const auto check = [](const AnySchedule& schedule, const Shape& shape, const SimulateOptions& o,
                        const char* sentence) {
    CHECK_THROWS_WITH(simulate(schedule, shape, static_order(shape), LogGops{}, o),
                      Catch::Contains(sentence));
  };
  const Shape ring = shape_of(Collective::allreduce, 16384, std::size_t{1} << 24);
  SimulateOptions o;
  check(Ring{}, ring, o, "Ring with 16384 ranks takes 1342.1 million steps or more");
  check(Ring{}, ring, o, "simulate fewer ranks or bytes, or longer segments, or allow more");
  o.most_steps = std::size_t{1} << 40;
  check(Ring{}, ring, o, "GB of memory or more, and it may take 4 GB of memory: ");
  const Shape pipeline = shape_of(Collective::bcast, 4, std::size_t{1} << 30);
  check(PipelinedChain{.segment_bytes = 8}, pipeline, SimulateOptions{.most_steps = 100'000'000},
        "takes 134.2 million steps or more");
  // What is kept of each step counts.
  const Shape small = shape_of(Collective::bcast, 4, 1 << 20);
  SimulateOptions kept{.keep_steps = true};
  kept.most_memory = 1 << 20;
  check(PipelinedChain{.segment_bytes = 64}, small, kept, "of memory or more");
  kept.keep_steps = false;
  CHECK(simulate(PipelinedChain{.segment_bytes = 64}, small, static_order(small), LogGops{}, kept)
            .messages == 3 << 14);
}

TEST_CASE("what a schedule stands for is looked for once for all ranks", "[simulate]") {
  const Shape shape = shape_of(Collective::allreduce, 100, 1000);
  simulate(Searches{}, shape, static_order(shape), LogGops{});
  CHECK(Searches::times == 1);
}

TEST_CASE("the parts of a scattered bcast go around one after the other", "[simulate]") {
  constexpr int ranks = 33;
  Shape shape;
  shape.collective = Collective::bcast;
  shape.size = ranks;
  shape.count = std::size_t{1} << 20;
  shape.in_place = true;
  for (const Ports ports : {Ports::exclusive, Ports::shared}) {
    SimulateOptions options;
    options.ports = ports;
    const LogGops model;
    const double seconds =
        simulate(AnySchedule{ScatterAllgather{}}, shape, static_order(shape), model, options)
            .time();
    const double least = 2 * model.gap_per_byte * static_cast<double>(shape.count);
    CHECK(seconds < 2.5 * least);  // held back by nothing, it is 5.7 times with shared ports
  }
}
