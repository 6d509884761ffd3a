// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/algorithms/static/suara_choice.hpp>
#include <papcoll/simulate/simulate.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

// The closed forms against the simulator, and SUARA's choice against the best that is simulated: a
// network without contention that delays messages by alpha and takes beta a byte, at ports where
// messages take turns and where they share.

using namespace papcoll;

namespace {

SuaraModel turns() { return SuaraModel{HockneyWithGap{Hockney{}, 0}}; }
SuaraModel shared() { return {}; }

double simulated(const AnySchedule& schedule, int p, double m, const SuaraModel& model) {
  Shape shape;
  shape.collective = Collective::allreduce;
  shape.size = p;
  shape.element_size = 8;
  shape.count = static_cast<std::size_t>(m / 8);
  LogGops network;
  SimulateOptions options;
  if (model.shared_ports) {
    options.ports = Ports::shared;
  } else {
    network.rendezvous = static_cast<std::size_t>(-1);
  }
  return simulate(schedule, shape, Order::identity(p), network, options).time();
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
  for (const SuaraModel& model : {turns(), shared()}) {
    for (const int p : {2, 4, 5, 8, 13, 16, 22, 32}) {
      for (const double m : {65536.0, 1e6}) {
        for (const SuaraPart part : suara_parts) {
          // The scatter of ScatterAllgather and its ring do not share ports evenly; and what is
          // folded comes early or late by chance of who its neighbours are.
          const bool power_of_two = (p & (p - 1)) == 0;
          const bool uneven = part == SuaraPart::nonoverlapping ||
                              (part == SuaraPart::recursive_doubling && p < 8 && p != 4) ||
                              (part == SuaraPart::rabenseifner && !power_of_two);
          const double time = simulated(detail::schedule_of_part(model, part, p, m), p, m, model);
          CAPTURE(p, m, static_cast<int>(part), model.shared_ports);
          CHECK(seconds_of(model, part, p, m) == Approx(time).epsilon(uneven ? 0.18 : 0.08));
        }
      }
    }
  }
}

TEST_CASE("segmented rings along a dimension run block by block", "[model][suara]") {
  for (const SuaraModel& model : {turns(), shared()}) {
    for (const int p : {2, 3, 4, 7, 16}) {
      const AnySchedule ring = detail::schedule_of_part(model, SuaraPart::segmented_ring, p, 1e6);
      const double time = simulated(AnySuara{{ring, Ring{}}, {p}, false}, p, 1e6, model);
      CAPTURE(p, model.shared_ports);
      CHECK(seconds_along(model, SuaraPart::segmented_ring, p, 1e6) == Approx(time).epsilon(0.03));
    }
  }
}

TEST_CASE("Suara's steps take the sum of what each takes alone", "[model][suara]") {
  SuaraChoice c;
  c.dimensions = 2;
  for (const SuaraModel& model : {turns(), shared()}) {
    for (const int p : {16, 64}) {
      for (const SuaraPart row : {SuaraPart::ring, SuaraPart::rabenseifner}) {
        for (const SuaraPart column : {SuaraPart::ring, SuaraPart::recursive_doubling}) {
          c.parts = {row, column};
          c.extents[1] = p / 4;
          const double time = simulated(schedule_of(model, c, p, 1e6), p, 1e6, model);
          CAPTURE(p, static_cast<int>(row), static_cast<int>(column), model.shared_ports);
          CHECK(seconds_of(model, c, p, 1e6) == Approx(time).epsilon(0.03));
        }
      }
    }
  }
}

TEST_CASE("pairs that meet those who were alone in their row are held up", "[model][suara]") {
  SuaraChoice c;
  c.dimensions = 2;
  c.parts = {SuaraPart::ring, SuaraPart::rabenseifner};
  c.extents[1] = 64;
  const SuaraModel model = shared();
  for (const double m : {65536.0, 1048576.0}) {
    for (int p = 121; p <= 125; ++p) {
      const double time = simulated(schedule_of(model, c, p, m), p, m, model);
      CAPTURE(p, m);
      CHECK(seconds_of(model, c, p, m) == Approx(time).epsilon(0.06));
    }
  }
}

TEST_CASE("segmented rings in both dimensions, where rows differ in length", "[model][suara]") {
  // Blocks are cut for the shorter rows: 61 in 3 rows make two windows of blocks, not one.
  const SuaraModel model = shared();
  SuaraChoice c;
  c.dimensions = 2;
  c.parts = {SuaraPart::segmented_ring, SuaraPart::segmented_ring};
  for (const int rows : {3, 4, 8}) {
    c.extents[1] = rows;
    const AnySchedule schedule = schedule_of(model, c, 61, 660e3);
    CAPTURE(schedule.name());
    CHECK(seconds_of(model, c, 61, 660e3) ==
          Approx(simulated(schedule, 61, 660e3, model)).epsilon(0.15));
  }
}

TEST_CASE("what SUARA chooses is within 5 % of the best of all that is simulated",
          "[model][suara]") {
  for (const SuaraModel& model : {turns(), shared()}) {
    for (const int p : {16, 36, 61}) {
      for (const double m : {65536.0, 250e3, 1e6}) {
        const std::vector<SuaraChoice> all = all_choices(model, p, m);
        const SuaraChoice chosen = choose_suara(model, p, m);
        CHECK(chosen.seconds == Approx(all.front().seconds));
        const double time = simulated(schedule_of(model, chosen, p, m), p, m, model);
        // What the model puts farther behind is not simulated.
        for (const SuaraChoice& other : all) {
          if (other.seconds > 1.2 * chosen.seconds) break;
          CAPTURE(p, m, model.shared_ports, schedule_of(model, chosen, p, m).name());
          CAPTURE(schedule_of(model, other, p, m).name());
          CHECK(time <= 1.05 * simulated(schedule_of(model, other, p, m), p, m, model));
        }
      }
    }
  }
}

TEST_CASE("on a prime number of positions Suara beats every flat schedule", "[model][suara]") {
  constexpr int p = 61;
  constexpr double m = 250e3;
  for (const SuaraModel& model : {turns(), shared()}) {
    const AnySchedule suara = schedule_of(model, choose_suara(model, p, m), p, m);
    CHECK(suara.base_name() == "Suara");
    const double time = simulated(suara, p, m, model);
    for (const SuaraPart part : suara_parts) {
      CAPTURE(suara.name(), static_cast<int>(part), time);
      CHECK(1.02 * time < simulated(detail::schedule_of_part(model, part, p, m), p, m, model));
    }
  }
}

TEST_CASE("what Suara chooses is played as if it had been named, blocks included", "[suara]") {
  for (const int p : {8, 16, 36, 509}) {
    for (const double m : {65536.0, 1048576.0, 4194304.0}) {
      if (p > 36 && m > 65536.0) continue;  // takes long
      const SuaraModel model = shared();
      const AnySchedule named = schedule_of(model, choose_suara(model, p, m), p, m);
      INFO(p << " positions, " << m << " bytes: " << named.name());
      CHECK(AnySchedule(AnySuara{}).resolved(p, static_cast<std::size_t>(m)) == named);
      CHECK(simulated(AnySuara{}, p, m, model) == simulated(named, p, m, model));
    }
  }
  // The grid goes by the bytes of the vector, not of a block.
  const AnySchedule rings{Suara<SegmentedRing, SegmentedRing>{}};
  const AnySchedule grid = rings.resolved(64, 1048576);
  CHECK(grid.name() != rings.name());
  CHECK(simulated(rings, 64, 1048576, shared()) == simulated(grid, 64, 1048576, shared()));
  const AnySchedule at_run_time{AnySuara{{SegmentedRing{}, SegmentedRing{}}, {}, false}};
  CHECK(at_run_time.resolved(64, 1048576).name() == grid.name());
}

TEST_CASE("who is folded waits for messages, too, before segmented rings and after", "[suara]") {
  const SuaraModel model = shared();
  for (const double m : {8.0, 1024.0}) {
    const AnySchedule chosen = schedule_of(model, choose_suara(model, 3, m), 3, m);
    INFO(chosen.name());
    CHECK(simulated(chosen, 3, m, model) <= 1.05 * simulated(RecursiveDoubling{}, 3, m, model));
  }
}
