// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/two_tree_complete.hpp>
#include <papcoll/model/closed_forms.hpp>
#include <papcoll/simulate/simulate.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

// The closed forms of two trees against the simulator.

using namespace papcoll;
using enum Collective;

namespace {

using Form = double (*)(const HockneyWithGap&, int, double, double);

/// How far simulated times lie from the form's, as factors.
struct Off {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
};

/// A megabyte in 64 chunks among 4 to 64 ranks. The simulator's messages have no gap.
Off compare(Collective collective, Form form, double gamma, Ports ports, int step) {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  constexpr std::size_t chunk = 16384;
  LogGops model;
  model.rendezvous = std::numeric_limits<std::size_t>::max();
  model.combine_per_byte = gamma;
  const HockneyWithGap h{{model.latency, model.gap_per_byte, gamma}, 0};
  SimulateOptions options;
  options.ports = ports;
  Off off;
  for (int p = 4; p <= 64; p += step) {
    Shape shape;
    shape.collective = collective;
    shape.size = p;
    shape.count = bytes;
    const double simulated =
        simulate(TwoTreeComplete{chunk}, shape, static_order(shape), model, options).time();
    const double factor = simulated / form(h, p, bytes, chunk);
    off.least = std::min(off.least, factor);
    off.most = std::max(off.most, factor);
  }
  return off;
}

void check(const Off& off, double least, double most) {
  CAPTURE(off.least, off.most);
  CHECK(off.least >= least);
  CHECK(off.most <= most);
}

}  // namespace

TEST_CASE("two trees take what their closed forms say", "[simulate]") {
  using namespace closed_form;
  check(compare(bcast, two_tree_bcast, 0, Ports::exclusive, 3), 0.9, 1.1);
  // Where a byte takes longer to combine than to send.
  check(compare(reduce, two_tree_reduce, 2e-10, Ports::exclusive, 3), 0.9, 1.2);
  check(compare(allreduce, two_tree_allreduce, 2e-10, Ports::exclusive, 3), 0.9, 1.2);
}

TEST_CASE("where combining is next to nothing, too", "[simulate]") {
  using namespace closed_form;
  // A pair has two messages in flight, of which the port is not always full.
  check(compare(reduce, two_tree_reduce, 1e-11, Ports::shared, 20), 0.9, 1.35);
  check(compare(allreduce, two_tree_allreduce, 1e-11, Ports::shared, 20), 0.9, 1.2);
  check(compare(bcast, two_tree_bcast, 0, Ports::shared, 20), 0.9, 1.2);
}
