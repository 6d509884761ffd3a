// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/algorithms/static/binomial.hpp>
#include <papcoll/algorithms/static/chain.hpp>
#include <papcoll/algorithms/static/linear.hpp>
#include <papcoll/algorithms/static/pipelined.hpp>
#include <papcoll/algorithms/static/rabenseifner.hpp>
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/simulate/path_costs.hpp>
#include <papcoll/simulate/simulate.hpp>

#include <cstddef>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace papcoll;

namespace {

constexpr LogGops model{.latency = 2e-6,
                        .overhead = 1e-7,
                        .gap_per_byte = 1e-9,
                        .rendezvous = std::size_t{1} << 30U,
                        .combine_per_byte = 3e-10,
                        .copy_per_byte = 1e-10};

std::pair<Simulated, PathCosts> costs_of(const AnySchedule& s, Collective c, int size,
                                         std::size_t bytes, SimulateOptions options = {},
                                         const LogGops& m = model) {
  Shape shape;
  shape.collective = c;
  shape.size = size;
  shape.count = bytes;
  options.keep_steps = true;
  const Simulated run = simulate(s, shape, static_order(shape), m, options);
  return {run, path_costs(run, m, options)};
}

}  // namespace

TEST_CASE("path costs: a chain of messages") {
  const auto [run, c] = costs_of(Chain{}, Collective::bcast, 4, 10000);
  CHECK(c.latency == Approx(3 * 2e-6));
  CHECK(c.bytes == Approx(3 * 1e-5));
  CHECK(c.overhead == Approx(6 * 1e-7));
  CHECK(c.combining == 0);
  CHECK(c.waiting == Approx(0).margin(1e-12));
  CHECK(c.sum() == Approx(run.time()));
}

TEST_CASE("path costs: messages that wait for their sender's port") {
  const auto [run, c] = costs_of(Linear{}, Collective::bcast, 4, 10000);
  CHECK(c.bytes == Approx(1e-5));
  CHECK(c.waiting >= 1.9e-5);
  CHECK(c.waiting <= 2e-5);
  CHECK(c.sum() == Approx(run.time()));
}

TEST_CASE("path costs: the last rank's lateness is the path's beginning") {
  SimulateOptions options;
  options.arrivals = {1e-3, 1e-3, 5e-3, 1e-3};
  const auto [run, c] = costs_of(Binomial{}, Collective::reduce, 4, 10000, options);
  CHECK(c.late_arrival == Approx(4e-3));
  CHECK(c.combining > 0);
  CHECK(c.sum() == Approx(run.time()));
}

TEST_CASE("path costs: they add up to the time, whatever runs") {
  LogGops rendezvous = model;
  rendezvous.rendezvous = 0;
  for (const LogGops& m : {model, rendezvous}) {
    for (const Ports ports : {Ports::exclusive, Ports::shared}) {
      for (const int size : {1, 2, 5, 8}) {
        SimulateOptions options;
        options.ports = ports;
        for (const AnySchedule& s : {AnySchedule{Ring{}}, AnySchedule{Rabenseifner{}},
                                     AnySchedule{Binomial{}}, AnySchedule{Linear{}}}) {
          const auto [run, c] = costs_of(s, Collective::allreduce, size, 30000, options, m);
          INFO(s.name() << " " << size);
          CHECK(c.sum() == Approx(run.time()));
          CHECK(c.waiting >= -1e-15);
        }
        const PipelinedChain pipelined{.segment_bytes = 1000};
        const auto [run, c] = costs_of(pipelined, Collective::bcast, size, 30000, options, m);
        CHECK(c.sum() == Approx(run.time()));
      }
    }
  }
}
