// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "forms.hpp"

#include <papcoll/thread_team.hpp>

#include <mutex>
#include <string>

TEST_CASE("every form of every call", "[team]") {
  for (const int ranks : {1, 2, 3, 5}) {
    papcoll::ThreadTeam team{ranks};
    std::mutex mutex;
    std::string problems;
    team.run([&](papcoll::ThreadTeam::Rank& comm) {
      const std::string mine = forms::problems(comm, comm.rank(), comm.size());
      const std::lock_guard lock{mutex};
      problems += mine;
    });
    CHECK(problems == "");
  }
}
