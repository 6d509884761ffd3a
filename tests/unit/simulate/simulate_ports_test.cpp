// SPDX-License-Identifier: BSD-3-Clause
#include "call_shape.hpp"
#include "catch.hpp"

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/simulate/simulate.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

// When messages keep ports busy: Simulated's ends.

using namespace papcoll;

TEST_CASE("the ports of messages are busy as the figure of the simulator has them", "[simulate]") {
  LogGops model;
  model.latency = 4;
  model.overhead = 2;
  model.gap_per_byte = 1;
  model.combine_per_byte = 0;
  SimulateOptions options;
  options.keep_steps = true;
  const auto times = [&](std::size_t bytes, std::vector<double> arrivals) {
    Shape shape = shape_of(Collective::gather, 3, bytes);
    shape.root = 2;
    options.arrivals = std::move(arrivals);
    const Simulated run = simulate(Linear{}, shape, static_order(shape), model, options);
    std::vector<SimulatedEnds> by_sender(2);
    for (const SimulatedEnds& e : run.ends) {
      by_sender[static_cast<std::size_t>(run.steps[e.send].rank)] = e;
    }
    return by_sender;
  };
  // As the figure in simulate/simulate.hpp has them: 8 bytes each, to rank 2.
  auto t = times(8, {0, 4, 0});
  CHECK(t[0].depart == Approx(2));
  CHECK(t[0].out_to == Approx(10));
  CHECK(t[0].in_from == Approx(6));
  CHECK(t[0].in_to == Approx(14));
  CHECK(t[1].out_from == Approx(6));
  CHECK(t[1].in_from == Approx(14));  // behind the other
  CHECK(t[1].in_to == Approx(22));
  // What is too long waits for its receive before it uses a port.
  model.rendezvous = 8;
  t = times(8, {0, 4, 30});
  CHECK(t[0].sent == Approx(2));
  CHECK(t[0].depart == Approx(30));
  CHECK(t[0].in_from == Approx(34));
  // Flows that share a port.
  options.ports = Ports::shared;
  model.overhead = 0;
  t = times(8, {0, 4, 0});
  CHECK(t[0].depart == Approx(0));
  CHECK(t[0].out_from == Approx(4));
  CHECK(t[0].out_to == Approx(16));
  CHECK(t[1].in_from == Approx(8));
  CHECK(t[1].in_to == Approx(20));
}

TEST_CASE("messages go through the ports in time for the steps that wait for them", "[simulate]") {
  const Shape shape = shape_of(Collective::bcast, 5, std::size_t{1} << 19U);
  LogGops model;
  for (const std::size_t rendezvous : {std::size_t{0}, model.rendezvous}) {
    for (const Ports ports : {Ports::exclusive, Ports::shared}) {
      CAPTURE(rendezvous, ports == Ports::shared);
      model.rendezvous = rendezvous;
      SimulateOptions o;
      o.ports = ports;
      o.keep_steps = true;
      const Simulated run = simulate(TwoTreeComplete{}, shape, static_order(shape), model, o);
      bool in_turn = true;
      for (const SimulatedEnds& e : run.ends) {
        const SimulatedStep& send = run.steps[e.send];
        const SimulatedStep& receive = run.steps[e.receive];
        in_turn &= send.start <= e.sent && e.sent <= e.depart && e.depart <= e.out_from;
        in_turn &= e.out_from <= e.in_from && e.in_to <= receive.end;
        if (rendezvous == 0) in_turn &= receive.start <= e.depart && e.out_to <= send.end;
      }
      CHECK(in_turn);
    }
  }
}

TEST_CASE("of ports that take turns each has one message at a time", "[simulate]") {
  const Shape shape = shape_of(Collective::allreduce, 8, 10000);
  LogGops model;
  model.gap = 2e-6;
  SimulateOptions o;
  o.keep_steps = true;
  const LinkCost near{1e-6, 1e-9};
  const LinkCost far{5e-6, 4e-9};
  for (const bool levels : {false, true}) {
    if (levels) o.links = LinkCosts::nodes({0, 0, 0, 1, 1, 1, 1, 2}, near, far);
    const Simulated run = simulate(Rabenseifner{}, shape, static_order(shape), model, o);
    using Busy = std::pair<double, double>;
    std::array<std::vector<Busy>, 16> ports;  // out and in, of each rank
    bool as_long = true;
    for (const SimulatedEnds& e : run.ends) {
      const SimulatedStep& send = run.steps[e.send];
      const LinkCost link = o.link(model, send.rank, send.peer);
      const double busy = std::max(model.gap, link.gap_per_byte * static_cast<double>(send.bytes));
      as_long &= e.out_to == e.out_from + busy && e.in_to == e.in_from + busy;
      ports[static_cast<std::size_t>(send.rank)].emplace_back(e.out_from, e.out_to);
      ports[static_cast<std::size_t>(8 + send.peer)].emplace_back(e.in_from, e.in_to);
    }
    CHECK(as_long);
    bool one_at_a_time = true;
    for (std::vector<Busy>& port : ports) {
      std::sort(port.begin(), port.end());
      for (std::size_t i = 1; i < port.size(); ++i) {
        one_at_a_time &= port[i - 1].second <= port[i].first;
      }
    }
    CHECK(one_at_a_time);
  }
}
