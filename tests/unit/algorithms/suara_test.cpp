// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/algorithms/static/suara_choice.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/choice/names/catalogue.hpp>
#include <papcoll/choice/names/name_parser.hpp>
#include <papcoll/verify/sweep.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plan_matrix.hpp"
#include "sanitizer.hpp"

// Suara: grids of any number of positions, proven and run.

using namespace papcoll;
using enum Collective;
using plan_simulation::failure_serving;

namespace {

/// What the verifier finds wrong with an allreduce among these numbers of ranks, empty if nothing.
template <class Sizes> std::string fault_of(const AnySchedule& schedule, const Sizes& sizes) {
  for (const int size : sizes) {
    for (const VerifyCase& c : verify_cases(schedule, allreduce, size)) {
      const Verdict v = verify(schedule, c.shape, c.order);
      if (!v) return schedule.name() + ", " + describe(c.shape) + ": " + v.sentence;
    }
  }
  return {};
}

std::vector<int> up_to(int most) {
  std::vector<int> sizes;
  for (int n = 1; n <= most; ++n) sizes.push_back(n);
  return sizes;
}

std::string name_of_choice(int p, double m, std::size_t dimensions) {
  const SuaraModel model{HockneyWithGap{Hockney{}, 0}};
  return schedule_of(model, choose_suara(model, p, m, dimensions), p, m).name();
}

}  // namespace

TEST_CASE("an uneven grid", "[suara]") {
  for (int n = 1; n <= 40; ++n) {
    for (int rows = 1; rows <= n; ++rows) {
      const auto grid = UnevenGrid::of(n, rows);
      int next = 0;
      for (int r = 0; r < rows; ++r) {
        CHECK(grid.begin(r) == next);
        for (int i = 0; i < grid.length(r); ++i) CHECK(grid.row_of(next + i) == r);
        next += grid.length(r);
      }
      CHECK(next == n);
    }
  }
  CHECK(rows_of_grid(17, std::array{4}, 2) == 4);
  CHECK(rows_of_grid(20, std::array{8}, 2) == 2);
  CHECK(rows_of_grid(3, std::array{4}, 2) == 1);
  CHECK(rows_of_grid(64, std::array{4, 8}, 3) == 2);
  CHECK(rows_of_grid(64, std::array{1000000, 1000000}, 3) == 1);
  CHECK(rows_of_grid(17, std::array{4, 40}, 2) == 17);
  CHECK(rows_of_grid(17, std::array{4, 0}, 3) == 4);
}

TEST_CASE("Suara", "[suara]") {
  CHECK(failure_serving(Suara<Ring, Ring>{{3}}, {allreduce}) == "");
  CHECK(failure_serving(Suara<RecursiveDoubling, Rabenseifner>{{4}, true}, {allreduce}) == "");
  CHECK(failure_serving(Suara<Linear, Ring, Rabenseifner>{{2, 2}}, {allreduce}) == "");
  const Suara<SegmentedRing, SegmentedRing> both{{4}, false, {{16}, {24}}};
  CHECK(failure_serving(both, {allreduce}) == "");
  CHECK(failure_serving(AnySuara{}, {allreduce}) == "");
}

TEST_CASE("Suara is proven for all numbers of ranks", "[suara]") {
  const auto all = up_to(under_tsan ? 17 : 64);
  CHECK(fault_of(Suara<Ring, Rabenseifner>{{8}}, all) == "");
  CHECK(fault_of(Suara<Rabenseifner, RecursiveDoubling>{{4, 8}}, all) == "");
  CHECK(fault_of(Suara<Rabenseifner, Rabenseifner>{{6}, true}, all) == "");
}

TEST_CASE("where Suara chooses by the bytes, it is proven in blocks, too", "[suara]") {
  for (const int size : {3, 5, 8, 16, 33, 64}) {
    if (under_tsan && size > 16) break;
    for (const AnySchedule& schedule :
         {AnySchedule(AnySuara{}), AnySchedule(Suara<SegmentedRing, SegmentedRing>{})}) {
      INFO(schedule.name() << ", " << size << " positions");
      std::size_t cut = 0;
      for (const VerifyCase& c : verify_cases(schedule, allreduce, size)) {
        cut += make_plan(schedule, c.shape, c.order).shorter_last ? 1U : 0U;
      }
      CHECK(cut >= 2);
      CHECK(fault_of(schedule, std::array{size}) == "");
    }
  }
}

TEST_CASE("pairs, widths and three dimensions are proven", "[suara]") {
  const std::array sizes{7, 12, 13, 17, 24, 31};
  const std::vector<AnySchedule> parts{
      Linear{}, ReduceThenBcast<Binomial, Binomial>{}, RecursiveDoubling{},
      Ring{},   SegmentedRing{.segment_bytes = 16},    Rabenseifner{}};
  for (const AnySchedule& row : parts) {
    for (const AnySchedule& column : parts) {
      CHECK(fault_of(AnySuara{{row, column}, {3}, false}, std::array{13}) == "");
      CHECK(fault_of(AnySuara{{row, column}, {4}, true}, std::array{14}) == "");
    }
  }
  for (int width = 1; width <= 13; ++width) {
    for (const bool folded : {false, true}) {
      CHECK(fault_of(Suara<RecursiveDoubling, Ring>{{width}, folded}, std::array{13, 17}) == "");
    }
  }
  for (const bool folded : {false, true}) {
    CHECK(fault_of(Suara<Ring, Ring, Rabenseifner>{{2, 3}, folded}, sizes) == "");
    CHECK(fault_of(Suara<RecursiveDoubling, Rabenseifner, Linear>{{2, 3, 3}, folded}, sizes) == "");
  }
  CHECK(fault_of(Suara<Ring, Ring, Ring, Ring>{{2, 2, 2}}, std::array{16, 19, 23}) == "");
}

TEST_CASE("grids that Suara chooses are proven", "[suara]") {
  for (const AnySchedule& s :
       {AnySchedule(AnySuara{}), AnySchedule(Suara<Ring, Ring>{}),
        AnySchedule(Suara<Rabenseifner, Ring>{}), AnySchedule(Suara<Binomial, Ring>{}),
        AnySchedule(Suara<Ring, Ring, Rabenseifner>{})}) {
    CHECK(fault_of(s, std::array{1, 2, 3, 5, 16, 23, 30}) == "");
  }
  const SuaraModel model{HockneyWithGap{Hockney{}, 0}};
  for (const int p : {12, 13, 29, 36, 61}) {
    for (const double m : {100.0, 30e3, 200e3, 4e6}) {
      const SuaraChoice best = choose_suara(model, p, m, 3);
      CHECK(fault_of(schedule_of(model, best, p, m), std::array{p}) == "");
    }
  }
}

TEST_CASE("Suara's name says algorithms and extents", "[suara]") {
  CHECK(AnySchedule(Suara<Ring, Rabenseifner>{{8}}).name() == "Suara:Ring,Rabenseifner,8");
  CHECK(AnySchedule(Suara<Ring, Rabenseifner>{}).name() == "Suara:Ring,Rabenseifner");
  CHECK(AnySchedule(Suara<Ring, Ring, Linear>{{4, 8}, true}).name() ==
        "Suara:Ring,Ring,Linear,4x8,folded");
  CHECK(AnySchedule(AnySuara{}).name() == "Suara");
  for (const char* text :
       {"Suara", "Suara:Ring,Rabenseifner", "Suara:Ring,Rabenseifner,8", "Suara:Ring,Linear,16x64",
        "Suara:Ring,Ring,Rabenseifner,4x8", "Suara:Ring,SegmentedRing:8192,5,folded",
        "Suara:(ReduceThenBcast:Chain,Chain),Ring,8+MpiTransport",
        "Suara:(Suara:Ring,Ring,2),Ring,8"}) {
    CHECK(parse_name(text, catalogue()).text() == text);
  }
  CHECK(algorithm("Suara:Ring,Rabenseifner,8").spec().schedule ==
        AnySchedule(AnySuara{{Ring{}, Rabenseifner{}}, {8}, false}));
  CHECK(name_of_choice(2, 8, 2) == "RecursiveDoubling");
  CHECK(parse_name(name_of_choice(509, 1e6, 2), catalogue()).text() == name_of_choice(509, 1e6, 2));
  CHECK(name_of_choice(509, 1e6, 2).find("Suara:") == 0);
}

TEST_CASE("names of Suara that make no sense are refused", "[suara]") {
  const auto complaint = [](const char* text) -> std::string {
    try {
      parse_name(text, catalogue());
      return "";
    } catch (const unknown_algorithm& e) {
      return e.what();
    }
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(complaint("Suara:Ring"), Contains("two or more dimensions"));
  CHECK_THAT(complaint("Suara:8"), Contains("two or more dimensions"));
  CHECK_THAT(complaint("Suara:folded"), Contains("two or more dimensions"));
  CHECK_THAT(complaint("Suara:Ring,Ring,2x2x2"), Contains("all of them or of all but the last"));
  CHECK_THAT(complaint("Suara:Ring,Ring,Ring,4"), Contains("all of them or of all but the last"));
  CHECK_THAT(complaint("Suara:Ring,Chain,8"), Contains("Chain does not serve allreduce"));
  CHECK_THAT(complaint("Suara:Ring,Rign,8"), Contains("did you mean Ring?"));
  for (const char* lengths : {"0", "4x", "4*8", "-4", "x4"}) {
    CHECK_THAT(complaint((std::string("Suara:Ring,Ring,") + lengths).c_str()),
               Contains("lengths of a grid of at least 1, joined by x, but was given '" +
                        std::string(lengths) + "': write 8 for rows of 8, or 4x8") ||
                   Contains("'x4'"));
  }
  CHECK_THAT(complaint("Suara:0"), Contains("two or more dimensions"));
  CHECK_THAT(complaint("Suara:7"), Contains("but was given '7': write Suara:Ring,Rabenseifner,8"));
  for (const char* misplaced : {"Suara:4x8,Ring", "Suara:Ring,Rabenseifner,4,4,2"}) {
    CHECK_THAT(complaint(misplaced), Contains("the lengths of its grid last, joined by x") &&
                                         Contains("write Suara:Ring,Rabenseifner,8 or"));
  }
  CHECK_THAT(complaint("Suara:Ring,Rabenseifner:8"),
             Contains("it comes last, after a comma: write Suara:Ring,Rabenseifner,8"));
  CHECK_THAT(complaint("Suara:Bruck,Ring"), Contains("take Ring, Rabenseifner, Recursive"));
  CHECK_THAT(complaint("Suara:Ring,SegmentedRing:64q"), Contains("write SegmentedRing:65536"));
  CHECK_THAT(complaint("Suara:Ring,Ring,folded"), Contains("leave 'folded' out"));
}

TEST_CASE("Suara's parts say whether the operator must commute, and where it may be cut",
          "[suara]") {
  CHECK(AnySchedule(Suara<Ring, Rabenseifner>{}).commutative_only());
  CHECK_FALSE(AnySchedule(Suara<RecursiveDoubling, Rabenseifner>{}).commutative_only());
  CHECK(AnySchedule(AnySuara{}).commutative_only());
  CHECK_FALSE(AnySchedule(AnySuara{{Linear{}, Rabenseifner{}}, {2}, false}).commutative_only());
  // Rows of four and columns of three, in segments of two and four elements.
  const Suara<SegmentedRing, SegmentedRing> both{{4}, false, {{16}, {32}}};
  CHECK(AnySchedule(both).segment(12, 8) == 12);
  CHECK(AnySchedule(AnySuara{{SegmentedRing{16}, Ring{}}, {4}, false}).segment(12, 8) == 0);
  CHECK(AnySchedule(Suara<SegmentedRing, SegmentedRing>{}).segment(12, 8) == 0);
  Shape shape;
  shape.collective = allreduce;
  shape.size = 4;
  shape.count = 1;
  CHECK_THROWS_AS(make_plan(AnySuara{{Ring{}, Chain{}}, {2}, false}, shape, Order::identity(4)),
                  argument_error);
  using Catch::Matchers::Contains;
  for (const AnySuara& grid : {AnySuara{{}, {2}, false}, AnySuara{{}, {}, true}}) {
    CHECK_THROWS_WITH(make_plan(grid, shape, Order::identity(4)), Contains("and no schedules"));
  }
}

TEST_CASE("rounds of many steps are joined, not each step with each", "[schedule]") {
  Shape shape;
  shape.collective = Collective::allreduce;
  shape.size = 16;
  shape.count = std::size_t{1} << 18;
  const Suara<SegmentedRing, Ring> grid{{4}, false, {SegmentedRing{1024}, Ring{}}};
  const Plan plan = make_plan(grid, shape, static_order(shape)).full;
  std::size_t dependencies = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) dependencies += plan.successors(i).size();
  CHECK(plan.size() > 500);
  CHECK(dependencies < 4 * plan.size());
}

TEST_CASE("a step begins when the one before it is over, also where a part holds messages back",
          "[schedule]") {
  // Rows of four: positions 0 to 3 reduce and broadcast along two trees, then talk to 4 to 15.
  Shape shape;
  shape.collective = Collective::allreduce;
  shape.size = 16;
  shape.count = 4096;
  const Suara<TwoTreeComplete, Ring> grid{{4}, false, {TwoTreeComplete{512}, Ring{}}};
  const Plan plan = make_plan(grid, shape, static_order(shape)).full;
  const auto in_row = [&](std::size_t i) { return plan[i].peer >= 0 && plan[i].peer < 4; };
  std::size_t rows = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (!in_row(i)) continue;
    ++rows;
    std::vector<bool> after(plan.size());
    after[i] = true;
    for (std::size_t k = i; k < plan.size(); ++k) {
      for (const std::uint32_t later : plan.successors(k)) {
        if (after[k]) after[later] = true;
      }
    }
    bool all = true;
    for (std::size_t k = 0; k < plan.size(); ++k) {
      all &= plan[k].peer < 4 || after[k];
    }
    CHECK(all);
  }
  CHECK(rows > 16);
}

TEST_CASE("few whole vectors are held before they are combined", "[schedule]") {
  Shape shape;
  shape.collective = Collective::allreduce;
  shape.size = 16;
  shape.count = std::size_t{1} << 20;
  const Suara<RecursiveDoubling, RecursiveDoubling> grid{{4}};
  CHECK(make_plan(grid, shape, static_order(shape)).full.scratch() <= 2 * shape.count);
}
