// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/pattern/generators.hpp>
#include <papcoll/pattern/imbalance_factors.hpp>

#include "catch.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

namespace {
using papcoll::pattern::Generator;
using papcoll::pattern::Shape;

std::vector<double> arrivals(const Generator& generator, std::uint64_t call, std::size_t ranks) {
  std::vector<double> times(ranks, -1);
  generator(call, times);
  return times;
}
}  // namespace

TEST_CASE("shapes have names and are found by them", "[pattern]") {
  for (const auto& entry : papcoll::pattern::shapes) {
    CHECK(papcoll::pattern::name(entry.shape) == entry.name);
    CHECK(papcoll::pattern::shape_named(entry.name) == entry.shape);
  }
  try {
    papcoll::pattern::shape_named("late");
    FAIL("an unknown name was accepted");
  } catch (const papcoll::argument_error& error) {
    const std::string text = error.what();
    CHECK(text.find("'late'") != std::string::npos);
    CHECK(text.find("one-late") != std::string::npos);
    CHECK(text.find("two-groups") != std::string::npos);
  }
}

TEST_CASE("shapes without chance put every rank where they say", "[pattern]") {
  const auto times = [](Shape shape, std::size_t ranks) {
    return arrivals({.shape = shape, .spread = 4.0}, 9, ranks);
  };
  using V = std::vector<double>;
  CHECK(times(Shape::balanced, 3) == V{0, 0, 0});
  CHECK(times(Shape::ascending, 5) == V{0, 1, 2, 3, 4});
  CHECK(times(Shape::descending, 5) == V{4, 3, 2, 1, 0});
  CHECK(times(Shape::two_groups, 4) == V{0, 0, 4, 4});
  CHECK(times(Shape::two_groups, 5) == V{0, 0, 0, 4, 4});
  CHECK(times(Shape::ascending, 1) == V{0});
  CHECK(times(Shape::descending, 1) == V{0});
}

TEST_CASE("one rank is late, or early, and every rank has its turn", "[pattern]") {
  constexpr std::size_t ranks = 4;
  std::set<std::ptrdiff_t> late;
  std::set<std::ptrdiff_t> early;
  for (std::uint64_t call = 0; call < 64; ++call) {
    const auto same_late = arrivals({.shape = Shape::same_late, .spread = 2}, call, ranks);
    CHECK(same_late == arrivals({.shape = Shape::same_late, .spread = 2}, 0, ranks));
    CHECK(std::count(same_late.begin(), same_late.end(), 2.0) == 1);
    CHECK(std::count(same_late.begin(), same_late.end(), 0.0) == static_cast<long>(ranks) - 1);
    const auto one_late = arrivals({.shape = Shape::one_late, .spread = 2}, call, ranks);
    REQUIRE(std::count(one_late.begin(), one_late.end(), 0.0) == 3);
    REQUIRE(std::count(one_late.begin(), one_late.end(), 2.0) == 1);
    late.insert(std::find(one_late.begin(), one_late.end(), 2.0) - one_late.begin());

    const auto one_early = arrivals({.shape = Shape::one_early, .spread = 2}, call, ranks);
    REQUIRE(std::count(one_early.begin(), one_early.end(), 2.0) == 3);
    REQUIRE(std::count(one_early.begin(), one_early.end(), 0.0) == 1);
    early.insert(std::find(one_early.begin(), one_early.end(), 0.0) - one_early.begin());
  }
  CHECK(late.size() == ranks);
  CHECK(early.size() == ranks);
}

TEST_CASE("drawn patterns are repeatable, differ by call and seed, and keep to the spread",
          "[pattern]") {
  for (const Shape shape : {Shape::uniform, Shape::normal}) {
    const Generator generator{.shape = shape, .spread = 1e-3, .seed = 5};
    for (std::uint64_t call = 0; call < 200; ++call) {
      const auto times = arrivals(generator, call, 16);
      CHECK(times == arrivals(generator, call, 16));
      CHECK(times != arrivals(generator, call + 1, 16));
      CHECK(times != arrivals({.shape = shape, .spread = 1e-3, .seed = 6}, call, 16));
      CHECK(*std::min_element(times.begin(), times.end()) >= 0);
      CHECK(*std::max_element(times.begin(), times.end()) <= 1e-3);
      CHECK(papcoll::pattern::worst_case_imbalance(times) > 0);
    }
  }
}

TEST_CASE("a pattern of few ranks is the head of a pattern of many", "[pattern]") {
  const Generator generator{.shape = Shape::uniform, .spread = 1, .seed = 8};
  const auto many = arrivals(generator, 3, 12);
  const auto few = arrivals(generator, 3, 5);
  CHECK(std::equal(few.begin(), few.end(), many.begin()));
}

TEST_CASE("no ranks, no arrivals", "[pattern]") {
  CHECK(arrivals({.shape = Shape::one_late, .spread = 1}, 0, 0).empty());
}

static_assert([] {
  std::array<double, 3> times{};
  Generator{.shape = Shape::ascending, .spread = 2}(0, times);
  return times[1] == 1.0;
}());
