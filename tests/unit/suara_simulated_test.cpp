#include "catch.hpp"

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/analysis/simulate.hpp>
#include <papcoll/model/suara_choice.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

// The closed forms against the simulator, and SUARA's choice against the best that is simulated: a
// network without contention that delays messages by alpha and takes beta a byte.

using namespace papcoll;

namespace {

SuaraModel published() { return SuaraModel{HockneyWithGap{Hockney{}, 0}}; }

double simulated(const AnySchedule& schedule, int p, double m) {
  Shape shape;
  shape.collective = Collective::allreduce;
  shape.size = p;
  shape.element_size = 8;
  shape.count = static_cast<std::size_t>(m / 8);
  LogGops network;
  network.rendezvous = static_cast<std::size_t>(-1);
  return simulate(schedule, shape, Order::identity(p), network).time();
}

/// All grids of two dimensions and all pairs of algorithms, and the flat ones, the best first.
std::vector<SuaraChoice> all_choices(const SuaraModel& model, int p, double m) {
  std::vector<SuaraChoice> all;
  const auto add = [&](SuaraChoice c) {
    c.seconds = seconds_of(model, c, p, m);
    all.push_back(c);
  };
  SuaraChoice c;
  for (const SuaraPart row : suara_parts) {
    c.dimensions = 1;
    c.folded = false;
    c.parts[0] = row;
    add(c);
    c.dimensions = 2;
    for (const SuaraPart column : suara_parts) {
      c.parts[1] = column;
      for (c.extents[1] = 2; c.extents[1] < p; ++c.extents[1]) {
        for (const bool folded : {false, true}) {
          c.folded = folded;
          if (!folded || p % c.extents[1] != 0) add(c);
        }
      }
    }
  }
  std::sort(all.begin(), all.end(),
            [](const SuaraChoice& a, const SuaraChoice& b) { return a.seconds < b.seconds; });
  return all;
}

}  // namespace

TEST_CASE("closed forms of allreduces are what is simulated", "[model][suara]") {
  const SuaraModel model = published();
  for (const int p : {2, 4, 5, 8, 13, 16, 32}) {
    for (const double m : {65536.0, 1e6}) {
      for (const SuaraPart part : suara_parts) {
        // The scatter of ScatterAllgather and its ring do not share ports evenly; and of a fold of
        // few, contributions come early: up to 15 %.
        const bool uneven = part == SuaraPart::nonoverlapping ||
                            (part == SuaraPart::recursive_doubling && p < 8 && p != 4);
        const double time = simulated(detail::schedule_of_part(model, part, p, m), p, m);
        CAPTURE(p, m, static_cast<int>(part));
        CHECK(seconds_of(model, part, p, m, model.window) ==
              Approx(time).epsilon(uneven ? 0.15 : 0.08));
      }
    }
  }
}

TEST_CASE("Suara's steps take the sum of what each takes alone", "[model][suara]") {
  const SuaraModel model = published();
  SuaraChoice c;
  c.dimensions = 2;
  for (const int p : {16, 64}) {
    for (const SuaraPart row : {SuaraPart::ring, SuaraPart::rabenseifner}) {
      for (const SuaraPart column : {SuaraPart::ring, SuaraPart::recursive_doubling}) {
        c.parts = {row, column};
        c.extents[1] = p / 4;
        const double time = simulated(schedule_of(model, c, p, 1e6), p, 1e6);
        CAPTURE(p, static_cast<int>(row), static_cast<int>(column));
        CHECK(seconds_of(model, c, p, 1e6) == Approx(time).epsilon(0.03));
      }
    }
  }
}

TEST_CASE("what SUARA chooses is within 5 % of the best of all that is simulated",
          "[model][suara]") {
  const SuaraModel model = published();
  for (const int p : {16, 36, 61}) {
    for (const double m : {250e3, 1e6}) {
      const std::vector<SuaraChoice> all = all_choices(model, p, m);
      const SuaraChoice chosen = choose_suara(model, p, m);
      CHECK(chosen.seconds == Approx(all.front().seconds));
      const double time = simulated(schedule_of(model, chosen, p, m), p, m);
      // What the model puts farther behind is not simulated.
      for (const SuaraChoice& other : all) {
        if (other.seconds > 1.3 * chosen.seconds) break;
        CAPTURE(p, m, schedule_of(model, other, p, m).name());
        CHECK(time <= 1.05 * simulated(schedule_of(model, other, p, m), p, m));
      }
    }
  }
}

TEST_CASE("on a prime number of positions Suara beats every flat schedule", "[model][suara]") {
  const SuaraModel model = published();
  constexpr int p = 61;
  constexpr double m = 250e3;
  const AnySchedule suara = schedule_of(model, choose_suara(model, p, m), p, m);
  CHECK(suara.base_name() == "Suara");
  const double time = simulated(suara, p, m);
  for (const SuaraPart part : suara_parts) {
    CAPTURE(suara.name(), static_cast<int>(part), time);
    CHECK(1.1 * time < simulated(detail::schedule_of_part(model, part, p, m), p, m));
  }
}
