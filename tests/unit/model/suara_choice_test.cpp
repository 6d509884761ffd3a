// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/suara_choice.hpp>
#include <papcoll/options.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

// SUARA's choice against brute force over all grids and all algorithms for each dimension.

using namespace papcoll;

namespace {

/// Tries everything. A grid has two rows at least, and two columns somewhere.
SuaraChoice brute_force(const SuaraModel& model, int p, double m, std::size_t dimensions) {
  SuaraChoice best;
  bool found = false;
  const auto examine = [&](SuaraChoice c) {
    std::size_t combinations = 1;
    for (std::size_t d = 0; d < c.dimensions; ++d) combinations *= suara_part_count;
    for (std::size_t i = 0; i < combinations; ++i) {
      std::size_t code = i;
      bool allowed = true;
      for (std::size_t d = 0; d < c.dimensions; ++d, code /= suara_part_count) {
        c.parts[d] = suara_parts[code % suara_part_count];
        allowed = allowed && (model.commutative || keeps_order(c.parts[d]));
      }
      c.seconds = seconds_of(model, c, p, m);
      if (!allowed || (found && c.seconds >= best.seconds)) continue;
      found = true;
      best = c;
    }
  };
  for (std::size_t d = 1; d <= dimensions; ++d) {
    for (const bool folded : {false, true}) {
      for (int last = d > 1 ? 2 : 1; last < std::max(p, 2); ++last) {
        const int longest = (p + last - 1) / last;
        for (int middle = d == 3 ? 2 : 1; middle < (d == 3 ? longest : 2); ++middle) {
          SuaraChoice c;
          c.dimensions = d;
          c.folded = folded;
          c.extents[d - 1] = last;
          if (d == 3) c.extents[1] = middle;
          examine(c);
          if (d == 1) break;
        }
      }
    }
  }
  return best;
}

SuaraModel delays_only() { return SuaraModel{HockneyWithGap{Hockney{}, 0}}; }

SuaraModel fitted() {
  SuaraModel model;
  for (std::size_t i = 0; i < suara_part_count; ++i) {
    const auto f = static_cast<double>(i);
    model.machine[i] = HockneyWithGap{Hockney{1e-6 * (1 + f / 4), 1e-10 * (1.5 - f / 8), 2e-10}};
  }
  return model;
}

}  // namespace

TEST_CASE("SUARA chooses as brute force does", "[model][suara]") {
  for (SuaraModel model : {SuaraModel{}, delays_only(), fitted()}) {
    for (const int p : {1, 2, 3, 4, 5, 7, 12, 16, 17, 36, 61, 64, 100}) {
      for (const double m : {8.0, 4096.0, 65536.0, 1e6, 52e6}) {
        for (const bool commutative : {true, false}) {
          model.commutative = commutative;
          const SuaraChoice found = choose_suara(model, p, m);
          const SuaraChoice best = brute_force(model, p, m, 2);
          CAPTURE(p, m, commutative, found.dimensions, found.extents[1]);
          CAPTURE(best.dimensions, best.extents[1], best.folded, static_cast<int>(best.parts[0]));
          CHECK(found.seconds == Approx(best.seconds));
          CHECK(found.seconds == Approx(seconds_of(model, found, p, m)));
          CHECK(found.flat == Approx(brute_force(model, p, m, 1).seconds));
        }
      }
    }
  }
  for (const int p : {8, 27, 31}) {
    const SuaraChoice found = choose_suara(delays_only(), p, 1e5, 3);
    CHECK(found.seconds == Approx(brute_force(delays_only(), p, 1e5, 3).seconds));
  }
}

TEST_CASE("what SUARA chooses for the published machine", "[model][suara]") {
  CHECK(SuaraModel{}.pipeline_depth == Options{}.pipeline_depth);
  // The longest messages on few positions want no grid, short ones on many do.
  CHECK(choose_suara(SuaraModel{}, 16, 52e6).dimensions == 1);
  const SuaraChoice prime = choose_suara(delays_only(), 1021, 4e6);
  CHECK(prime.dimensions == 2);
  SuaraModel ordered;
  ordered.commutative = false;
  for (const SuaraPart part : choose_suara(ordered, 1021, 4e6).parts) CHECK(keeps_order(part));
}

TEST_CASE("the best grid for given algorithms", "[model][suara]") {
  SuaraChoice rings;
  rings.dimensions = 2;
  rings.parts = {SuaraPart::ring, SuaraPart::ring};
  const SuaraChoice found = choose_suara_grid(SuaraModel{}, rings, 1024, 1e6);
  CHECK(found.extents[1] == 32);
  CHECK_FALSE(found.folded);
  CHECK(choose_suara_grid(SuaraModel{}, rings, 1, 1e6).extents[1] == 1);
  CHECK(choose_suara_grid(SuaraModel{}, rings, 2, 1e6).seconds ==
        Approx(closed_form::ring_allreduce(Hockney{}, 2, 1e6)));
}
