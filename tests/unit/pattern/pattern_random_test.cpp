// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/pattern/random.hpp>

#include "catch.hpp"

#include <array>
#include <cmath>
#include <cstdint>

using papcoll::pattern::Random;

// The expected numbers come from an independent implementation (Python integers): a change of
// generator would silently change every stored benchmark.
TEST_CASE("random numbers are the same on every machine", "[pattern]") {
  Random first(1);
  CHECK(first.bits() == 0x21a5715431dc4cc7U);
  CHECK(first.bits() == 0xe1a26c101cc38752U);
  CHECK(first.bits() == 0xa001a4cd852412c8U);

  Random fractions(42, 7);
  for (const double expected :
       {0x1.7d7564516a140p-3, 0x1.bac92f4426310p-5, 0x1.6bc41a07d5ff2p-1, 0x1.70342b86512d0p-4}) {
    CHECK(fractions.fraction() == expected);
  }

  Random normals(42, 7);
  for (const double expected : {0x1.6d21183355555p-2, 0x1.10c6842f00000p-1, 0x1.842c6db600000p-2}) {
    CHECK(normals.clamped_normal() == expected);
  }

  Random indices(42, 7);
  for (const std::uint64_t expected : {0U, 0U, 3U, 0U, 1U, 0U, 1U, 1U}) {
    CHECK(indices.below(5) == expected);
  }
}

TEST_CASE("streams of one seed and equal streams of two seeds differ", "[pattern]") {
  CHECK(Random(1, 0).bits() != Random(1, 1).bits());
  CHECK(Random(1, 0).bits() != Random(2, 0).bits());
  // Shifting seed and stream against each other must not give the same numbers either.
  CHECK(Random(1, 2).bits() != Random(2, 1).bits());
}

TEST_CASE("random numbers have the moments of their distributions", "[pattern]") {
  constexpr int draws = 20000;
  double mean = 0;
  double square = 0;
  double normal_mean = 0;
  double normal_square = 0;
  std::array<int, 7> counts{};
  for (std::uint64_t stream = 0; stream < draws; ++stream) {
    Random random(3, stream);  // one draw a stream: neighbouring streams must be independent
    const double u = random.fraction();
    REQUIRE((u >= 0 && u < 1));
    mean += u / draws;
    square += u * u / draws;
    const double z = random.clamped_normal();
    REQUIRE((z >= 0 && z <= 1));
    normal_mean += z / draws;
    normal_square += z * z / draws;
    ++counts.at(random.below(counts.size()));
  }
  CHECK(std::abs(mean - 0.5) < 0.01);
  CHECK(std::abs(square - mean * mean - 1.0 / 12) < 0.005);
  CHECK(std::abs(normal_mean - 0.5) < 0.005);
  CHECK(std::abs(std::sqrt(normal_square - normal_mean * normal_mean) - 1.0 / 6) < 0.005);
  for (const int count : counts) CHECK(std::abs(count - draws / 7) < draws / 70);
}
