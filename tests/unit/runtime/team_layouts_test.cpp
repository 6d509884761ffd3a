// SPDX-License-Identifier: BSD-3-Clause
// Calls of all collectives on non-contiguous elements, threads as ranks.

#include "catch.hpp"
#include "layout_calls.hpp"
#include "sanitizer.hpp"

#include <papcoll/automatic.hpp>
#include <papcoll/thread_team.hpp>

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

TEST_CASE("every collective takes non-contiguous elements", "[team][layouts]") {
  for (const int ranks : {1, 2, 3, 5}) {
    if (under_tsan && ranks < 3) continue;
    papcoll::ThreadTeam team{
        ranks, papcoll::Options{.deadline = std::chrono::seconds{60}, .chunk_bytes = 512}};
    std::mutex mutex;
    std::string problems;
    team.run([&](papcoll::ThreadTeam::Rank& comm) {
      layout_calls::Runner calls{comm};
      std::string mine;
      for (const char* name :
           {"", "Exchange", "DynamicLeader", "CombiningTree", "Accumulator", "MultiLeader",
            "PeerSlices", "BlockCopies", "SplitTail", "PrefixRuns", "Ring", "Binomial",
            "RecursiveDoubling", "Linear", "Bruck", "Pairwise", "ScatterAllgather"}) {
        for (const std::size_t block : {0U, 1U, 6U, 132U}) mine += calls.problems(name, block);
      }
      const std::lock_guard lock{mutex};
      problems += mine;
    });
    INFO(ranks << " ranks");
    CHECK(problems == "");
  }
}
