// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/transport/mpi/asked_in_turn.hpp>

#include <cstddef>
#include <vector>

using papcoll::detail::AskedInTurn;

TEST_CASE("of many messages a few are asked for at a time, and all in turn", "[mpi]") {
  for (const std::size_t all : {0U, 1U, 64U, 65U, 200U, 20'000U}) {
    AskedInTurn turn;
    std::vector<int> asked(all);
    for (std::size_t pass = 0; pass * AskedInTurn::at_once < all; ++pass) {
      const auto newest = AskedInTurn::newest(all);
      CHECK(newest.first + newest.count == all);
      CHECK(newest.count <= AskedInTurn::at_once);
      const auto next = turn.next(all);
      CHECK(next.count <= AskedInTurn::at_once);
      for (std::size_t i = next.first; i < next.first + next.count; ++i) ++asked[i];
    }
    CHECK(asked == std::vector<int>(all, 1));
  }
}

TEST_CASE("messages that end while others are asked for change nothing", "[mpi]") {
  AskedInTurn turn;
  CHECK(turn.next(200).first == 0);
  CHECK(turn.next(200).first == 64);
  CHECK(turn.next(100).first == 0);  // those that are left
  CHECK(turn.next(1).first == 0);
  CHECK(turn.next(0).count == 0);
}
