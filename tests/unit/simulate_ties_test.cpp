#include <papcoll/algorithms/static/binomial.hpp>
#include <papcoll/algorithms/static/knomial.hpp>
#include <papcoll/analysis/simulate.hpp>

#include <cstddef>

#include "catch.hpp"

using namespace papcoll;

// A rank's messages that could all leave at once leave in the order in which it sends them, not in
// that of the ranks that wait for them: else the root of a tree would serve its leaves first.
TEST_CASE("simulate: what may leave at the same moment leaves in the order of the plan") {
  constexpr LogGops model{.latency = 1e-6, .gap_per_byte = 1e-9, .rendezvous = 1000};
  Shape shape;
  shape.collective = Collective::bcast;
  shape.size = 32;
  const auto time = [&](const AnySchedule& s) {
    return simulate(s, shape, static_order(shape), model).time();
  };
  for (const std::size_t bytes : {std::size_t{999}, std::size_t{1000}, std::size_t{100000}}) {
    shape.count = bytes;
    const double message = model.latency + model.gap_per_byte * static_cast<double>(bytes);
    CHECK(time(Binomial{}) <= 5 * message * 1.001);
    CHECK(time(KNomial{.radix = 4}) <= 8 * message);
  }
}
