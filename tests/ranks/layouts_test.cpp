// Calls of all collectives on elements that lie apart, processes as ranks.

#include "layout_calls.hpp"
#include "own_comm.hpp"

#include "catch.hpp"

#include <papcoll/papcoll.hpp>

#include <cstddef>

TEST_CASE("every collective takes elements that lie apart", "[layouts]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get()};
  layout_calls::Runner calls{comm};
  for (const char* name : {"", "MpiTransport", "BlockCopies", "PrefixRuns"}) {
    for (const std::size_t block : {1U, 600U}) {
      CHECK(calls.problems(name, block) == "");
    }
  }
}
