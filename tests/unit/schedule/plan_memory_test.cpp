// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/schedule/dependencies.hpp>
#include <papcoll/schedule/element_runs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

// What plans are made with, compared with the same element by element.

using namespace papcoll;

namespace {

constexpr std::size_t elements = 24;

struct Random {
  std::uint64_t state = 7;
  std::size_t below(std::size_t n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>((state >> 33U) % n);
  }
  Range range() {
    const std::size_t lo = below(elements);
    return {lo, lo + 1 + below(elements - lo)};
  }
};

}  // namespace

TEST_CASE("homes are those of each element, in pieces as long as can be", "[plan]") {
  Random random;
  bool same = true;
  for (int run = 0; run < 200; ++run) {
    ElementLocations homes;
    std::vector<ElementLocation> expected(elements);
    for (int i = 0; i < 20; ++i) {
      const Range r = random.range();
      const ElementLocation location{static_cast<ElementLocation::Where>(1 + random.below(3)),
                                     random.below(2)};
      homes.place(r, location);
      std::fill(expected.begin() + static_cast<std::ptrdiff_t>(r.lo),
                expected.begin() + static_cast<std::ptrdiff_t>(r.hi), location);
      const Range asked = random.range();
      std::size_t at = asked.lo;
      ElementLocation before;
      homes.each(asked, [&](const ElementLocations::Piece& p) {
        same &= p.range.lo == at && p.range.hi > p.range.lo;
        same &= at == asked.lo || p.location != before;
        for (; at < p.range.hi; ++at) same &= expected[at] == p.location;
        before = p.location;
      });
      same &= at == asked.hi;
    }
  }
  CHECK(same);
  ElementLocations{}.each({3, 3},
                          [](const ElementLocations::Piece&) { FAIL("a piece of nothing"); });
}

TEST_CASE("steps wait for those that touched an element before them, one writing", "[plan]") {
  Random random;
  for (int run = 0; run < 200; ++run) {
    StepDependencies dependencies;
    std::set<std::pair<std::uint32_t, std::uint32_t>> expected;
    struct Element {
      std::vector<std::uint32_t> writer;  // none or one
      std::vector<std::uint32_t> readers;
    };
    std::vector<Element> memory(elements);
    for (std::uint32_t step = 0; step < 30; ++step) {
      auto expect = [&](const std::vector<std::uint32_t>& earlier) {
        for (const std::uint32_t e : earlier) {
          if (e != step) expected.insert({e, step});
        }
      };
      if (random.below(3) > 0) {
        const Range r = random.range();
        dependencies.read({Space::out, r.lo}, r.size(), step);
        for (std::size_t i = r.lo; i < r.hi; ++i) {
          expect(memory[i].writer);
          memory[i].readers.push_back(step);
        }
      }
      if (random.below(2) > 0) {
        const Range r = random.range();
        dependencies.write({Space::out, r.lo}, r.size(), step);
        for (std::size_t i = r.lo; i < r.hi; ++i) {
          expect(memory[i].writer);
          expect(memory[i].readers);
          memory[i] = {{step}, {}};
        }
      }
      // Neither the input nor another space has to do with it.
      dependencies.write({Space::in, 0}, elements, step);
    }
    std::set<std::pair<std::uint32_t, std::uint32_t>> found;
    for (const Dependency& d : dependencies.all()) found.insert({d.earlier, d.later});
    CHECK(found == expected);
    CHECK(dependencies.all().size() == found.size());  // each once
  }
}
