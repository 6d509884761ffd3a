// SPDX-License-Identifier: BSD-3-Clause
#include "timing/neighbourhood.hpp"

#include "catch.hpp"

#include <vector>

using bench::Neighbourhood;
using bench::signal_of;

TEST_CASE("readings below the limit are of processors that share a cache", "[bench]") {
  const bench::Signal signal = signal_of(std::vector{27e-9, 77e-9, 112e-9});
  CHECK(signal.where == Neighbourhood::same_l3);
  CHECK(signal.seconds == 77e-9);
  CHECK(signal_of(std::vector{250e-9, 285e-9}).where == Neighbourhood::cross_l3);
}

TEST_CASE("processors that were moved during a measurement are neither near nor apart", "[bench]") {
  CHECK(signal_of(std::vector{52e-9, 52e-9, 266e-9}).where == Neighbourhood::mixed);
  CHECK(signal_of(std::vector{266e-9, 52e-9}).where == Neighbourhood::mixed);
}

TEST_CASE("a reading that waited for a processor says nothing", "[bench]") {
  const bench::Signal signal = signal_of(std::vector{52e-9, 3e-3, 54e-9});
  CHECK(signal.where == Neighbourhood::same_l3);
  CHECK(signal.seconds < 55e-9);
  CHECK(signal_of(std::vector{3e-3}).where == Neighbourhood::none);
}

TEST_CASE("without two ranks on a node there is no signal", "[bench]") {
  CHECK(signal_of(std::vector{0.0, 0.0}).where == Neighbourhood::none);
  CHECK(signal_of(std::vector<double>{}).seconds == 0);
  CHECK(name_of(signal_of(std::vector{50e-9}).where) == "near");
}
