// SPDX-License-Identifier: BSD-3-Clause
// Blocking calls on non-contiguous elements, threads as ranks.

#include "strided_calls.hpp"

#include "catch.hpp"

#include <papcoll/automatic.hpp>
#include <papcoll/thread_team.hpp>

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

TEST_CASE("non-contiguous elements are combined, and what lies between stays", "[team]") {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    papcoll::ThreadTeam team{
        ranks, papcoll::Options{.deadline = std::chrono::seconds{60}, .chunk_bytes = 4096}};
    std::mutex mutex;
    std::string problems;
    team.run([&](papcoll::ThreadTeam::Rank& comm) {
      StridedCalls calls{comm};
      std::string mine;
      for (const std::size_t count : {std::size_t{0}, std::size_t{60}, std::size_t{1260}}) {
        mine += calls.check(count);
      }
      const std::lock_guard lock{mutex};
      problems += mine;
    });
    INFO(ranks << " ranks");
    CHECK(problems == "");
  }
}
