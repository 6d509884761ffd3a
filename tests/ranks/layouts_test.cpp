// SPDX-License-Identifier: BSD-3-Clause
// Calls of all collectives on non-contiguous elements, processes as ranks.

#include "layout_calls.hpp"
#include "own_comm.hpp"

#include "catch.hpp"

#include <papcoll/papcoll.hpp>

#include <cstddef>
#include <vector>

TEST_CASE("every collective takes non-contiguous elements", "[layouts]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get()};
  layout_calls::Runner calls{comm};
  std::vector<const char*> names{"", "MpiTransport"};
  if (comm.nodes() == 1) names.insert(names.end(), {"BlockCopies", "PrefixRuns"});
  for (const char* name : names) {
    for (const std::size_t block : {1U, 600U}) {
      CHECK(calls.problems(name, block) == "");
    }
  }
}
