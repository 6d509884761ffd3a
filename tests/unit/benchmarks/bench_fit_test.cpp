#include "catch.hpp"

#include "../../../benchmarks/fit.hpp"

#include <papcoll/select/between_nodes.hpp>

#include <array>
#include <cstddef>
#include <vector>

using bench::fit_threshold;

TEST_CASE("a threshold is where the first algorithm stops being the better one", "[bench]") {
  constexpr std::array<std::size_t, 4> points{8, 64, 512, 4096};
  constexpr std::array<double, 4> growing{1, 2, 4, 8};
  constexpr std::array<double, 4> flat{3, 3, 3, 3};
  CHECK(fit_threshold(points, growing, flat) == 64);
  CHECK(fit_threshold(points, flat, growing) == 0);
  constexpr std::array<double, 4> quick{1, 1, 1, 1};
  CHECK(fit_threshold(points, quick, flat) == 4096);
  CHECK(fit_threshold(points, flat, quick) == 0);
  CHECK(fit_threshold(points, flat, flat) == 0);
}

TEST_CASE("one point that is off does not move a threshold", "[bench]") {
  constexpr std::array<std::size_t, 5> points{1, 2, 3, 4, 5};
  constexpr std::array<double, 5> first{1, 1.1, 1, 2, 2};
  constexpr std::array<double, 5> second{2, 1, 2, 1, 1};
  CHECK(fit_threshold(points, first, second) == 3);
}

TEST_CASE("bench: times that fall where they must rise") {
  CHECK_FALSE(bench::fall(std::vector{0.2, 0.2, 0.3, 4.0}));
  CHECK_FALSE(bench::fall(std::vector{0.2, 3.0, 2.1, 4.0}));  // algorithms have steps, too
  CHECK(bench::fall(std::vector{7.8, 0.22, 2.5}));
  CHECK(bench::fall(std::vector{1.0, 3.0, 2.5, 1.9}));
}

TEST_CASE("a measured network is what Suara is chosen by", "[bench]") {
  papcoll::Thresholds t;
  const auto set = [&](const papcoll::HockneyWithGap& h) {
    for (const bench::ThresholdValue& v : bench::link_thresholds(h)) v.threshold->in(t) = v.value;
    return papcoll::detail::suara_model(t, true).link;
  };
  const auto read = set({{2.5e-6, 8.3e-11, 1.7e-11}, 0.4e-6});
  CHECK(read.alpha == Approx(2.5e-6));
  CHECK(read.gap == Approx(0.4e-6));
  CHECK(read.beta == Approx(8.3e-11));
  CHECK(read.gamma == Approx(1.7e-11));
  CHECK(set({{2e-6, 1e-10, 1e-11}, 3e-6}).gap == Approx(2e-6));
}
