// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "mixed.hpp"
#include "sanitizer.hpp"
#include "thread_problems.hpp"

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/thread_team.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

using Rank = papcoll::ThreadTeam::Rank;

namespace {

constexpr std::chrono::seconds patience{30};
constexpr int calls = under_tsan ? 500 : 1500;

}  // namespace

TEST_CASE("calls of all kinds in a row", "[team]") {
  const auto all = matrix::candidates("ThreadTransport");
  std::uint32_t seed = 1;
  for (const int ranks : {2, 3, 4, 7}) {
    for (const std::uint32_t first : {1U, 0xffffff80U}) {
      papcoll::ThreadTeam team{ranks, {.deadline = patience, .first_epoch = first}};
      INFO(ranks << " ranks, seed " << ++seed);
      CHECK(problems(team, [&](Rank& comm) {
              return mixed::calls_of_all_kinds(comm, all, calls, seed);
            }) == "");
    }
  }
}

TEST_CASE("calls of all kinds in the arrival-driven engine alone", "[team]") {
  auto some = matrix::candidates("ThreadTransport");
  std::erase_if(some, [](const matrix::Candidate& c) { return c.may_be_non_blocking(); });
  REQUIRE(!some.empty());
  for (const int ranks : {2, 3, 5}) {
    papcoll::ThreadTeam team{ranks, {.deadline = patience, .chunk_bytes = 128}};
    CHECK(problems(team, [&](Rank& comm) {
            return mixed::calls_of_all_kinds(comm, some, 2 * calls, 17);
          }) == "");
  }
}

TEST_CASE("ranks that run ahead", "[team]") {
  for (const char* name : {"DynamicLeader", "StaticLeader", "Exchange", "Binomial", "Linear"}) {
    for (const int ranks : {2, 5}) {
      papcoll::ThreadTeam team{ranks, {.deadline = patience, .first_epoch = 0xfffffff0U}};
      INFO(name << ", " << ranks << " ranks");
      CHECK(problems(team, [&](Rank& comm) {
              return mixed::ranks_that_run_ahead(comm, papcoll::algorithm(name), 400);
            }) == "");
    }
  }
}

TEST_CASE("nobody leaves a barrier before all have arrived", "[team]") {
  const auto all = matrix::candidates("ThreadTransport");
  for (const int ranks : {1, 2, 3, 5, 8}) {
    papcoll::ThreadTeam team{ranks, {.deadline = patience}};
    for (const matrix::Candidate& candidate : all) {
      if (!candidate.serves(papcoll::Collective::barrier)) continue;
      INFO(candidate.name() << ", " << ranks << " ranks");
      std::atomic<int> came{0};
      CHECK(problems(team, [&](Rank& comm) -> std::string {
              mixed::Delays delays{static_cast<std::uint32_t>(comm.rank())};
              for (int i = 1; i <= 50; ++i) {
                delays.maybe();
                ++came;
                papcoll::barrier(comm, candidate.algorithm);
                if (came < i * ranks) return "too early";
              }
              return "";
            }) == "");
    }
  }
}

TEST_CASE("a team is used again and again", "[team]") {
  papcoll::ThreadTeam team{3, {.deadline = patience}};
  for (int i = 0; i < 50; ++i) {
    CHECK(problems(team, [&](Rank& comm) -> std::string {
            return papcoll::allreduce(comm, comm.rank() + i) == 3 + 3 * i ? "" : "wrong";
          }) == "");
  }
}
