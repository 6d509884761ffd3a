// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/pipelined.hpp>
#include <papcoll/model/closed_forms.hpp>
#include <papcoll/model/log_gp.hpp>
#include <papcoll/simulate/simulate.hpp>

#include <cstddef>

using papcoll::LogGp;
using papcoll::Pipeline;
using papcoll::pipeline_chunks;
using papcoll::pipeline_seconds;

namespace {
constexpr LogGp model{2e-6, 3e-7, 5e-7, 1e-10};
}

TEST_CASE("LogGP, Hockney and LogGOPS agree on a message", "[model]") {
  CHECK(papcoll::hockney(model, 0).message(1e6) == Approx(model.message(1e6)));
  CHECK(papcoll::hockney(model, 0).port(1e6) == Approx(model.port(1e6)));
  const papcoll::LogGops m = papcoll::log_gops(model);
  CHECK(m.latency + 2 * m.overhead + m.gap_per_byte * 1e6 == Approx(model.message(1e6)));
}

TEST_CASE("a pipeline's closed form is what the simulator says", "[model]") {
  constexpr int ranks = 9;
  constexpr std::size_t bytes = 1 << 20;
  papcoll::LogGp m = model;
  m.gap = 0;  // the simulator's port takes the longer of g and G·bytes
  m.overhead = 0;
  for (const std::size_t chunks : {1U, 4U, 32U}) {
    papcoll::Shape shape;
    shape.collective = papcoll::Collective::bcast;
    shape.size = ranks;
    shape.count = bytes;
    shape.in_place = true;
    papcoll::SimulateOptions options;
    options.pipeline_depth = chunks;
    const double simulated =
        papcoll::simulate(papcoll::PipelinedChain{.segment_bytes = bytes / chunks}, shape,
                          papcoll::static_order(shape), papcoll::log_gops(m), options)
            .time();
    const auto n = static_cast<double>(chunks);
    CHECK(pipeline_seconds(m, {ranks - 1, 1}, bytes, n) == Approx(simulated));
  }
  CHECK(pipeline_seconds(model, {ranks - 1, 1}, bytes, 16) ==
        Approx(papcoll::closed_form::pipelined_chain_bcast(papcoll::hockney(model, 0), ranks, bytes,
                                                           bytes / 16)));
}

TEST_CASE("the best number of chunks is that of a search", "[model]") {
  constexpr std::size_t most = 400;
  for (const Pipeline p : {Pipeline{1, 1}, Pipeline{7, 1}, Pipeline{63, 1}, Pipeline{12, 2}}) {
    for (const double bytes : {0.0, 8.0, 4096.0, 1e6, 3e7}) {
      std::size_t best = 1;
      for (std::size_t n = 2; n <= most; ++n) {
        const auto seconds = [&](std::size_t chunks) {
          return pipeline_seconds(model, p, bytes, static_cast<double>(chunks));
        };
        if (seconds(n) < seconds(best)) best = n;
      }
      CAPTURE(p.hops, p.passes, bytes);
      CHECK(pipeline_chunks(model, p, bytes, most) == best);
    }
  }
  LogGp free = model;
  free.overhead = free.gap = 0;
  CHECK(pipeline_chunks(free, {7, 1}, 1e6, most) == most);
}
