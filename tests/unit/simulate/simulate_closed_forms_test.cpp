// SPDX-License-Identifier: BSD-3-Clause
#include "call_shape.hpp"
#include "catch.hpp"

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/simulate/simulate.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

// Times that can be told without a simulator. Units are such that numbers are round: a byte is a
// second on a port.

using namespace papcoll;

namespace {

/// L = 10, o = 1, everything else but G free; all messages eager.
LogGops eager() {
  LogGops m;
  m.latency = 10;
  m.overhead = 1;
  m.gap_per_byte = 1;
  m.rendezvous = 1000;
  m.combine_per_byte = 0;
  return m;
}

LogGops rendezvous() {
  LogGops m = eager();
  m.rendezvous = 0;
  return m;
}

SimulateOptions shared() {
  SimulateOptions o;
  o.ports = Ports::shared;
  return o;
}

Simulated run(const AnySchedule& schedule, Collective c, int size, std::size_t count,
              const LogGops& model, const SimulateOptions& options = {}) {
  const Shape shape = shape_of(c, size, count);
  return simulate(schedule, shape, static_order(shape), model, options);
}

using Times = std::vector<double>;

void check_exits(const Simulated& s, const Times& expected) {
  REQUIRE(s.exits.size() == expected.size());
  for (std::size_t r = 0; r < expected.size(); ++r) {
    CAPTURE(r);
    CHECK(s.exits[r] == Approx(expected[r]).epsilon(1e-9).margin(2e-9));
  }
}

}  // namespace

TEST_CASE("a linear bcast leaves the root's port message by message", "[simulate]") {
  // Out of the processor at 1, 2, 3; out of the port from 1, 6, 11 on; there 15 later, taken at +1.
  check_exits(run(Linear{}, Collective::bcast, 4, 5, eager()), {3, 17, 22, 27});
  // The root stays until the last byte has left.
  check_exits(run(Linear{}, Collective::bcast, 4, 5, rendezvous()), {16, 17, 22, 27});
  LogGops gap = eager();
  gap.gap = 8;
  check_exits(run(Linear{}, Collective::bcast, 4, 5, gap), {3, 17, 25, 33});
  LogGops per_byte = eager();
  per_byte.overhead_per_byte = 2;
  // Each message takes either processor 11: 11, 22, 33 and then 15 + 11.
  check_exits(run(Linear{}, Collective::bcast, 4, 5, per_byte), {33, 37, 48, 59});
}

TEST_CASE("a linear gather waits at the root's port and then for its processor", "[simulate]") {
  // All come at 11: through the port at 16, 21, 26.
  check_exits(run(Linear{}, Collective::gather, 4, 5, eager()), {27, 1, 1, 1});
  LogGops slow = eager();
  slow.overhead = 7;
  // Sent at 7, there at 22, 27, 32, but 7 of the processor each.
  check_exits(run(Linear{}, Collective::gather, 4, 5, slow), {43, 7, 7, 7});
}

TEST_CASE("a chain adds up its hops", "[simulate]") {
  check_exits(run(Chain{}, Collective::bcast, 4, 5, eager()), {1, 18, 35, 51});
  LogGops combining = eager();
  combining.combine_per_byte = 2;
  // A hop of 17, then 10 to combine.
  const Simulated s = run(Chain{}, Collective::reduce, 4, 5, combining);
  CHECK(s.time() == Approx(3 * (17 + 10)));
  CHECK(s.messages == 3);
}

TEST_CASE("rings and trees cost what their closed forms say", "[simulate]") {
  LogGops m = eager();
  m.overhead = 0;
  m.combine_per_byte = 2;
  for (const SimulateOptions& o : {SimulateOptions{}, shared()}) {
    for (const int p : {2, 3, 8}) {
      CAPTURE(p, o.ports == Ports::shared);
      const auto ranks = static_cast<std::size_t>(p);
      const double hops = p - 1;
      // Parts of 4 bytes.
      CHECK(run(Ring{}, Collective::allreduce, p, 4 * ranks, m, o).time() ==
            Approx(2 * hops * (10 + 4) + hops * 8));
      CHECK(run(Ring{}, Collective::allgather, p, 4, m, o).time() == Approx(hops * (10 + 4)));
    }
    CHECK(run(RecursiveDoubling{}, Collective::allreduce, 8, 4, m, o).time() ==
          Approx(3 * (10 + 4 + 8)));
    CHECK(run(Rabenseifner{}, Collective::allreduce, 8, 8, m, o).time() ==
          Approx(6 * 10 + 2 * 7 + 7 * 2));
  }
}

TEST_CASE("an eager send does not wait for a late receive, a long one does", "[simulate]") {
  SimulateOptions late;
  late.arrivals = {0, 100};
  check_exits(run(Chain{}, Collective::bcast, 2, 5, eager(), late), {1, 101});
  check_exits(run(Chain{}, Collective::bcast, 2, 5, rendezvous(), late), {105, 116});
  late.ports = Ports::shared;
  // Begins when both are there.
  check_exits(run(Chain{}, Collective::bcast, 2, 5, eager(), late), {1, 116});
  check_exits(run(Chain{}, Collective::bcast, 2, 5, rendezvous(), late), {115, 116});
}

TEST_CASE("the pipeline depth bounds how many blocks are under way", "[simulate]") {
  LogGops m = rendezvous();
  m.overhead = 0;
  const PipelinedChain blocks{.segment_bytes = 5};
  SimulateOptions o;
  // All ports are busy all the time: four blocks of 5 bytes over two hops.
  CHECK(run(blocks, Collective::bcast, 3, 20, m, o).time() == Approx(2 * 10 + (2 + 3) * 5));
  // The middle one has sent a block before it takes the next.
  o.pipeline_depth = 1;
  CHECK(run(blocks, Collective::bcast, 3, 20, m, o).time() ==
        Approx(3 * (10 + 2 * 5) + 2 * (10 + 5)));
  // A last block that is shorter: 2 bytes.
  o.pipeline_depth = 4;
  CHECK(run(blocks, Collective::bcast, 3, 17, m, o).time() == Approx(2 * 10 + 4 * 5 + 2));
}

TEST_CASE("flows into one port share it, and their latencies overlap", "[simulate]") {
  LogGops m = eager();
  m.overhead = 0;
  CHECK(run(Linear{}, Collective::gather, 2, 50, m, shared()).time() == Approx(10 + 50));
  CHECK(run(Linear{}, Collective::gather, 3, 50, m, shared()).time() == Approx(10 + 2 * 50));
  CHECK(run(Linear{}, Collective::gather, 9, 50, m, shared()).time() == Approx(10 + 8 * 50));
  SimulateOptions late = shared();
  late.arrivals = {0, 0, 25};
  // Half of the first is through when the second joins it at 35: 35 + 50, then 25 alone.
  const Simulated s = run(Linear{}, Collective::gather, 3, 50, m, late);
  CHECK(s.time() == Approx(35 + 50 + 25));
  CHECK(s.tail() == Approx(35 + 50));
}

TEST_CASE("pairs of ranks may have costs of their own", "[simulate]") {
  LogGops m = eager();
  m.overhead = 0;
  SimulateOptions o;
  const LinkCost near{1, 0.5};
  const LinkCost far{20, 2};
  o.links = LinkCosts::nodes({0, 0, 1, 1}, near, far);
  const double hop_near = 1 + 0.5 * 4;
  const double hop_far = 20 + 2 * 4;
  CHECK(run(Chain{}, Collective::bcast, 4, 4, m, o).time() == Approx(2 * hop_near + hop_far));
  o.ports = Ports::shared;
  CHECK(run(Chain{}, Collective::bcast, 4, 4, m, o).time() == Approx(2 * hop_near + hop_far));
  // A cheap flow and a dear one have half of the root's port each.
  o.links = LinkCosts::nodes({0, 0, 1}, near, {1, 1});
  CHECK(run(Linear{}, Collective::bcast, 3, 4, m, o).time() == Approx(1 + 2 + 4));

  std::vector<LinkCost> costs(4, near);
  costs[1] = far;  // from 0 to 1
  o.links = LinkCosts::matrix(2, costs);
  CHECK(run(Chain{}, Collective::bcast, 2, 4, m, o).time() == Approx(hop_far));
  CHECK(run(Chain{}, Collective::reduce, 2, 4, m, o).time() == Approx(hop_near));

  const LinkCosts racks =
      LinkCosts::levels({{0, 0, 1, 1, 2}, {0, 0, 0, 0, 1}}, {near, LinkCost{5, 1}, far});
  CHECK(racks.between(0, 1) == near);
  CHECK(racks.between(1, 2) == LinkCost{5, 1});
  CHECK(racks.between(4, 0) == far);
  CHECK_THROWS_WITH(LinkCosts::levels({{0, 0}}, {near}),
                    Catch::Contains("one for each level and one for ranks that share none"));
  CHECK_THROWS_WITH(LinkCosts::levels({{0, 0}, {0}}, {near, near, far}),
                    Catch::Contains("each level has one for each rank"));
  CHECK_THROWS_WITH(LinkCosts::matrix(2, {near}), Catch::Contains("for 2 ranks"));
}
