// SPDX-License-Identifier: BSD-3-Clause
// Blocking calls on non-contiguous elements, processes as ranks.

#include "own_comm.hpp"
#include "strided_calls.hpp"

#include "catch.hpp"

#include <papcoll/papcoll.hpp>

#include <cstddef>
#include <string>

TEST_CASE("non-contiguous elements are combined wherever they lie", "[strided]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get()};
  StridedCalls calls{comm};
  for (const std::size_t count : {std::size_t{60}, std::size_t{600}, std::size_t{6000}}) {
    for (int turn = 0; turn < 8; ++turn) CHECK(calls.check(count) == "");
  }
}
