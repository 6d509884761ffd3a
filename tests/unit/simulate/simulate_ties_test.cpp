// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/algorithms/static/binomial.hpp>
#include <papcoll/simulate/simulate.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

#include "call_shape.hpp"
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

namespace {

/// Position 0 combines the last 5 elements with position 2's, and lends position 1 the first 15.
struct Lends {
  using policy_kind = SchedulePolicyKind;
  static constexpr std::string_view name = "Lends";
  static constexpr std::string_view sentence = "For tests.";
  static constexpr bool commutative_only = false;
  friend bool operator==(const Lends&, const Lends&) = default;

  void emit(Allreduce, Builder& b) const {
    const Range lent{0, 15};
    const Range combined{15, 20};
    if (b.position() == 0) {
      b.reduce(2, combined);
      b.send(1, lent);
      b.receive(1, lent);
    } else if (b.position() == 1) {
      b.receive(0, lent);
      b.send(0, lent);
    } else {
      b.send(0, combined);
    }
  }
};

}  // namespace

// A byte is a second on a port and four to combine, the latency is 10, and all messages wait for
// their receives. At 15 two messages of rank 0 end at once: its 15 bytes have left, and rank 2's 5
// have come (10 + 5), for which it posted the receive before it sent.
//
//   rank 1  has the 15 bytes at 10 + 15 = 25 and sends them back as soon as rank 0 is ready
//   rank 0  notices its send first: is ready at 15, combines until 15 + 5 · 4 = 35, and has its
//           bytes again at 25 + 10 + 15 = 50
//
// If it noticed the receive first, it would be ready only at 35, when it has combined, and have its
// bytes again at 35 + 10 + 15 = 60.
TEST_CASE("simulate: ends of sends are noticed before those of receives") {
  constexpr LogGops model{.latency = 10, .gap_per_byte = 1, .rendezvous = 0, .combine_per_byte = 4};
  Shape shape = shape_of(Collective::allreduce, 3, 20);
  shape.in_place = true;  // else what is lent would come back into other memory
  const Simulated s = simulate(Lends{}, shape, static_order(shape), model);
  CHECK(s.exits == std::vector<double>{50, 25 + 15, 5});
}
