// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/simulate/smpi/posted_receives.hpp>

#include <cstdint>
#include <vector>

using papcoll::TransportOp;
using papcoll::detail::PostedReceives;

namespace {

TransportOp message(std::uint32_t number, int peer = 1, std::uint32_t block = 0,
                    std::uint32_t sequence = 1) {
  TransportOp w;
  w.peer = peer;
  w.sequence = sequence;
  w.block = block;
  w.number = number;
  return w;
}

/// Those that are posted when one is complete.
std::vector<std::uint32_t> after(PostedReceives& receives, const TransportOp& complete) {
  std::vector<std::uint32_t> numbers;
  receives.complete(complete, [&](const TransportOp& w) { numbers.push_back(w.number); });
  return numbers;
}

}  // namespace

TEST_CASE("of a block's receives from one rank eight are posted at once", "[mpi]") {
  PostedReceives receives;
  for (std::uint32_t n = 0; n < 8; ++n) CHECK(receives.admit(message(n)));
  CHECK_FALSE(receives.admit(message(8)));
  CHECK_FALSE(receives.admit(message(9)));
  CHECK(receives.admit(message(0, 2)));  // another rank's are apart
  CHECK(after(receives, message(0)) == std::vector<std::uint32_t>{8});
  CHECK(after(receives, message(1)) == std::vector<std::uint32_t>{9});
  CHECK(after(receives, message(2)).empty());
}

TEST_CASE("who comes next is posted, however many later ones are", "[mpi]") {
  PostedReceives receives;
  // A bcast's receives, asked for before those of the reduce that goes on at once.
  for (std::uint32_t n = 100; n < 108; ++n) CHECK(receives.admit(message(n)));
  CHECK_FALSE(receives.admit(message(108)));
  CHECK(receives.admit(message(0)));
  CHECK(receives.admit(message(3)));
  CHECK_FALSE(receives.admit(message(4)));
  CHECK(after(receives, message(0)) == std::vector<std::uint32_t>{4});
}

TEST_CASE("another block or call begins anew", "[mpi]") {
  PostedReceives receives;
  for (std::uint32_t n = 0; n < 9; ++n) receives.admit(message(n));
  CHECK(receives.admit(message(0, 1, 4)));  // in the same slot
  for (std::uint32_t n = 1; n < 9; ++n) receives.admit(message(n, 1, 4));
  CHECK(receives.admit(message(0, 1, 0, 2)));
  receives.forget();
  for (std::uint32_t n = 0; n < 8; ++n) CHECK(receives.admit(message(n, 1, 0, 2)));
}
