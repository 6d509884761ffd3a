// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "matrix.hpp"
#include "sanitizer.hpp"

#include <papcoll/thread_team.hpp>

#include <array>
#include <mutex>
#include <string>
#include <vector>

namespace {

/// Runs body(rank) on a team and gives what the ranks complained of.
template <class Body>
std::string on_threads(int ranks, const papcoll::Options& options, Body&& body) {
  papcoll::ThreadTeam team{ranks, options};
  std::mutex mutex;
  std::string problems;
  team.run([&](papcoll::ThreadTeam::Rank& comm) {
    matrix::Runner runner{comm};
    body(runner);
    const std::lock_guard lock{mutex};
    problems += runner.problems();
  });
  return problems;
}

std::string whole_matrix(int ranks, const std::vector<std::size_t>& counts,
                         const papcoll::Options& options = {}) {
  const auto all = matrix::candidates("ThreadTransport");
  return on_threads(ranks, options, [&](auto& runner) {
    for (const matrix::Candidate& c : all) runner.run_all(c, counts);
  });
}

}  // namespace

TEST_CASE("all collectives, all algorithms, 1 2 3 4 5 8 ranks", "[team]") {
  const std::vector<std::size_t> counts = under_tsan
                                              ? std::vector<std::size_t>{0, 3, 100}
                                              : std::vector<std::size_t>{0, 1, 3, 5, 17, 100};
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    if (under_tsan && ranks == 1) continue;
    CHECK(whole_matrix(ranks, counts) == "");
  }
}

TEST_CASE("all collectives, all algorithms, other numbers of ranks", "[team]") {
  for (const int ranks : {6, 7, 9, 17, 10, 11, 12, 13, 14, 15, 16}) {
    if (under_tsan && ranks == 10) break;
    CHECK(whole_matrix(ranks, {static_cast<std::size_t>(ranks) + 1}) == "");
  }
}

TEST_CASE("more elements than any buffer between ranks holds", "[team]") {
  // A chunk of 4 KB holds 512 elements and a slot four chunks; a channel has eight cells of 8 KB.
  for (const int ranks : {2, 3}) {
    if (under_tsan && ranks == 2) continue;  // three share all that two share
    CHECK(whole_matrix(ranks, {512, 9001}, {.chunk_bytes = 4096}) == "");
  }
}

TEST_CASE("the numbers of calls wrap around", "[team]") {
  CHECK(whole_matrix(4, {1, 40}, {.first_epoch = 0xfffffff0U}) == "");
}
