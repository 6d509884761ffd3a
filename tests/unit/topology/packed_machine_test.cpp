// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/topology/packed_machine.hpp>

#include <string>
#include <vector>

#include "catch.hpp"

using namespace papcoll;

namespace {

void check_round_trip(const Machine& m) {
  const std::string bytes = packed(m);
  const Machine back = unpacked(bytes);
  CHECK(back == m);
  CHECK(back.source == m.source);
  CHECK(back.caches == m.caches);
  CHECK(back.gpus == m.gpus);
  CHECK(back.hosts == m.hosts);
  CHECK(back.order() == m.order());
  CHECK(packed(back) == bytes);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    CHECK_THROWS_AS(unpacked({bytes.data(), n}), argument_error);
  }
  CHECK_THROWS_AS(unpacked(bytes + '\0'), argument_error);
}

}  // namespace

TEST_CASE("A packed machine is what it was: places on one switch") {
  Machine m = Machine::of_cores(3, 2, 2, 2);
  m.source = "a test";
  m.caches = {1, 2, 3};
  m.gpus = {{"0000:41:00.0", 1}, {"", Place::anywhere}};
  check_round_trip(m);
}

TEST_CASE("A packed machine is what it was: no ranks, and places in no order") {
  check_round_trip(Machine{});
  check_round_trip(Machine{std::vector<Place>{}});
  check_round_trip(Machine{{{2, 1, 1, 0, 0}, {}, {1, 0, 0, 0, Place::anywhere}, {0, 0, 0, 0, 0}}});
}

TEST_CASE("A packed machine is what it was: trees, hops, a network alone") {
  check_round_trip(Machine::of_cores(12, 1, 1, 2, Network::fat_tree(12, {4, 3}, {1, 0.5})));
  check_round_trip(Machine{{{1, 0, 0, 0, 0}, {0, 0, 0, 0, 0}}, Network::by_hops(2, {0, 3, 3, 0})});
  Machine alone{{}, Network::one_switch(3)};
  alone.hosts = {11, 22, 33};
  check_round_trip(alone);
  check_round_trip(Machine{{}, Network::by_hops(1, {0})});
}

TEST_CASE("A packed machine whose numbers are wrong is refused") {
  std::string bytes = packed(Machine::of_cores(2, 1, 1, 1));
  bytes[0] = '\x7f';  // the length of the source
  CHECK_THROWS_AS(unpacked(bytes), argument_error);
  bytes = packed(Machine::of_cores(2, 1, 1, 1));
  bytes[7] = '\x7f';
  CHECK_THROWS_AS(unpacked(bytes), argument_error);
}
