// SPDX-License-Identifier: BSD-3-Clause
// What a rank says when the others do not arrive in time.

#include "catch.hpp"
#include "team_outcomes.hpp"

#include <papcoll/thread_team.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

using namespace team_outcomes;

TEST_CASE("a deadline says who is missing", "[team]") {
  const papcoll::Options brief{.deadline = std::chrono::milliseconds{100}};
  const auto passes = [&](int ranks, auto&& body) {
    papcoll::ThreadTeam team{ranks, brief};
    return outcomes(team, body);
  };
  for (const char* name : {"", "DynamicLeader", "Exchange", "Ring"}) {
    INFO(name);
    const auto algorithm = named(name);
    for (const auto& [ranks, text] :
         {std::pair{2,
                    "rank 1 has not entered allreduce of 10 elements (blocking call 3 of the "
                    "communicator)"},
          std::pair{3, "ranks 1 and 2 have not entered allreduce of 10 elements (blocking call 3"},
          std::pair{12, "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 3 more have not entered allreduce"}}) {
      const auto all = passes(ranks, [&](Rank& c) {
        std::vector<int> data(10, 1);
        papcoll::barrier(c);
        papcoll::barrier(c);
        if (c.rank() == 0) papcoll::allreduce(c, data, papcoll::sum, algorithm);
      });
      CAPTURE(all[0]);
      CHECK(all[0].kind == "deadline_exceeded");
      CHECK(all[0].says(text));
    }
  }
  // One waits for the other two, of whom one waits, too.
  const auto some = passes(3, [](Rank& c) {
    if (c.rank() != 2) papcoll::barrier(c);
  });
  for (int r = 0; r < 2; ++r) {
    CAPTURE(some[static_cast<std::size_t>(r)]);
    CHECK(
        some[static_cast<std::size_t>(r)].says("rank 2 has not entered barrier (blocking call 1"));
  }
  const auto early = passes(2, [](Rank& c) {
    int x = 1;
    for (int i = 0; i < 5 && c.rank() == 0; ++i) x = papcoll::bcast(c, x, papcoll::root{0});
  });
  CAPTURE(early[0]);
  CHECK(
      early[0].says("rank 1 has not left the call 4 before bcast of 1 element with root 0 "
                    "(blocking call 5 of the communicator)"));
  const auto request = passes(2, [](Rank& c) {
    int x = 1;
    if (c.rank() == 0) papcoll::iallreduce(c, &x, 1).wait();
  });
  CAPTURE(request[0]);
  CHECK(request[0].says("in a non-blocking allreduce of 1 element: a peer is stopped"));
}

TEST_CASE("one prefix a message", "[team]") {
  papcoll::ThreadTeam team{2, {.deadline = std::chrono::milliseconds{100}}};
  const auto all = outcomes(team, [](Rank& c) {
    if (c.rank() == 0) papcoll::barrier(c);
  });
  const auto again = outcomes(team, [](Rank& c) { papcoll::barrier(c); });
  for (const Outcome& o : {all[0], again[0]}) {
    CAPTURE(o);
    CHECK(!o.is_fine());
    CHECK(o.what.rfind("papcoll: ") == 0);
  }
}
