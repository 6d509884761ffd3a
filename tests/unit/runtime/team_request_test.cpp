// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "outcome.hpp"
#include "requests.hpp"
#include "team_outcomes.hpp"

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/thread_team.hpp>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using team_outcomes::outcomes;
using team_outcomes::patient;
using team_outcomes::Rank;

namespace {

/// What is wrong on any rank.
template <class Scenario>
std::string scenario_problems(papcoll::ThreadTeam& team, Scenario&& scenario) {
  std::mutex mutex;
  std::string text;
  team.run([&](Rank& comm) {
    const std::string problem = scenario(comm);
    const std::lock_guard lock{mutex};
    text += problem;
  });
  return text;
}

struct Mishap : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The team is run with a body that throws on rank 0; what the others see is returned.
template <class Body> std::vector<Outcome> seen_by_others(int ranks, Body&& body) {
  papcoll::ThreadTeam team{ranks, patient};
  std::vector<Outcome> all(static_cast<std::size_t>(ranks));
  CHECK_THROWS_AS(team.run([&](Rank& comm) {
    if (comm.rank() == 0) throw Mishap("on purpose");
    all[static_cast<std::size_t>(comm.rank())] = outcome_of([&] { body(comm); });
  }),
                  Mishap);
  all.erase(all.begin());
  return all;
}

}  // namespace

TEST_CASE("requests of all kinds, waited for in any order", "[team]") {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    for (const papcoll::Options& options :
         {patient, papcoll::Options{.deadline = patient.deadline, .first_epoch = 0xfffffff8U}}) {
      papcoll::ThreadTeam team{ranks, options};
      for (const std::string name :
           {"ThreadTransport", "Linear", "Ring", "Binomial", "PipelinedChain:64", "Bruck"}) {
        for (const std::size_t count : {1U, 5000U}) {
          INFO(ranks << " ranks, " << name << ", " << count);
          const auto algorithm = papcoll::algorithm(name);
          CHECK(scenario_problems(team, [&](Rank& comm) {
                  return requests::waited_for_in_any_order(comm, count, algorithm) +
                         requests::tested(comm, count, algorithm) +
                         requests::beside_blocking_calls(comm, count, algorithm);
                }) == "");
        }
      }
    }
  }
}

TEST_CASE("requests with other pipeline depths", "[team]") {
  for (const std::size_t depth : {1U, 2U, 16U}) {
    papcoll::ThreadTeam team{4, {.deadline = patient.deadline, .pipeline_depth = depth}};
    for (const std::string name :
         {"PipelinedChain:64", "PipelinedBinaryTree:40", "SegmentedRing:40"}) {
      INFO("pipeline depth " << depth << ", " << name);
      CHECK(scenario_problems(team, [&](Rank& comm) {
              return requests::waited_for_in_any_order(comm, 1000, papcoll::algorithm(name));
            }) == "");
    }
  }
}

TEST_CASE("many requests at once", "[team]") {
  for (const int ranks : {2, 5}) {
    // The numbers of requests wrap meanwhile.
    papcoll::ThreadTeam team{ranks, {.deadline = patient.deadline, .first_epoch = 0x7fffff00U}};
    for (const std::string name : {"RecursiveDoubling", "Ring"}) {
      INFO(ranks << " ranks, " << name);
      CHECK(scenario_problems(team, [&](Rank& comm) {
              return requests::many_at_once(comm, 1000, papcoll::algorithm(name));
            }) == "");
    }
  }
}

TEST_CASE("requests that nobody waits for, and requests for nothing", "[team]") {
  for (const int ranks : {1, 2, 5}) {
    papcoll::ThreadTeam team{ranks, patient};
    CHECK(scenario_problems(team, [](Rank& comm) {
            return requests::never_waited_for(comm, 1000) + requests::empty_ones(comm);
          }) == "");
  }
}

TEST_CASE("a rank that is in another call moves its requests", "[team]") {
  for (const std::string name : {"Exchange", "DynamicLeader", "Dissemination", "Linear"}) {
    for (const int ranks : {2, 3, 5}) {
      papcoll::ThreadTeam team{ranks, patient};
      INFO(name << ", " << ranks << " ranks");
      CHECK(scenario_problems(team, [&](Rank& comm) {
              return requests::driven_from_another_call(comm, 3000, papcoll::algorithm("Ring"),
                                                        papcoll::algorithm(name));
            }) == "");
    }
  }
}

TEST_CASE("a barrier is not complete before all have started it", "[team]") {
  papcoll::ThreadTeam team{3, patient};
  std::atomic<bool> last{false};
  team.run([&](Rank& comm) {
    if (comm.rank() == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
      last = true;
    }
    papcoll::Request request = papcoll::ibarrier(comm);
    bool early = false;
    while (!request.test()) early = last.load();
    static_cast<void>(early);
    if (!last) throw std::logic_error("too early");
  });
}

TEST_CASE("an invalid non-blocking call on one rank", "[team]") {
  for (const int ranks : {2, 4}) {
    for (const bool test : {false, true}) {
      papcoll::ThreadTeam team{ranks, patient};
      const auto result = outcomes(team, [&](Rank& comm) {
        std::vector<int> in(50, 1);
        std::vector<int> out(comm.rank() == 1 ? 49 : 50);
        papcoll::Request request = papcoll::iallreduce(comm, in, out);
        if (!test) return request.wait();
        while (!request.test()) std::this_thread::yield();
      });
      for (int r = 0; r < ranks; ++r) {
        const Outcome& o = result[static_cast<std::size_t>(r)];
        CAPTURE(r, o);
        CHECK(o.kind == (r == 1 ? "argument_error" : "peer_error"));
      }
      for (const Outcome& o : outcomes(team, [](Rank& comm) { papcoll::barrier(comm); })) {
        CHECK(!o.is_fine());
      }
    }
  }
}

TEST_CASE("a body that throws: the others lose a peer", "[team]") {
  using papcoll::algorithm;
  const auto in = [](const char* name) {
    return [name](Rank& comm) {
      std::vector<int> data(100, 1);
      papcoll::allreduce(comm, data, papcoll::sum, algorithm(name));
    };
  };
  auto all_lost = [](const std::vector<Outcome>& seen) {
    for (const Outcome& o : seen) {
      CAPTURE(o);
      CHECK(o.kind == "peer_lost");
      CHECK(o.says("rank 0"));
    }
  };
  for (const int ranks : {2, 4}) {
    for (const char* name :
         {"DynamicLeader", "StaticLeader", "Exchange", "MultiLeader", "Ring", "Linear"}) {
      all_lost(seen_by_others(ranks, in(name)));
    }
    all_lost(seen_by_others(ranks, [](Rank& comm) {
      std::vector<int> data(100, 1);
      papcoll::iallreduce(comm, data).wait();
    }));
    all_lost(seen_by_others(ranks, [](Rank& comm) {
      papcoll::Request request = papcoll::ibarrier(comm);
      while (!request.test()) std::this_thread::yield();
    }));
  }
}

TEST_CASE("an exception destroys a request", "[team]") {
  // Its buffers go as well, so nothing may come in any more.
  papcoll::ThreadTeam team{3, patient};
  const auto result = outcomes(team, [](Rank& comm) {
    std::vector<int> data(50'000, 1);
    papcoll::Request request = papcoll::iallreduce(comm, data, papcoll::sum);
    if (comm.rank() == 1) throw Mishap("on purpose");
    request.wait();
  });
  CHECK(result[1].what == "on purpose");
  CHECK(result[0].kind == "peer_error");
  CHECK(result[2].kind == "peer_error");
  const auto after = outcomes(team, [](Rank& comm) { papcoll::barrier(comm); });
  for (const Outcome& o : after) CHECK(o.kind == "broken_communicator");
}

TEST_CASE("a request that another thread destroys breaks the team", "[team]") {
  // It may not wait there, and the buffers may be next.
  papcoll::ThreadTeam team{2, patient};
  const auto result = outcomes(team, [](Rank& comm) {
    std::vector<int> data(50'000, 1);
    papcoll::Request request = papcoll::iallreduce(comm, data, papcoll::sum);
    if (comm.rank() == 1) return request.wait();
    std::thread([&] { const papcoll::Request gone{std::move(request)}; }).join();
    papcoll::barrier(comm);
  });
  CHECK(result[0].kind == "broken_communicator");
  CHECK(result[1].kind == "peer_error");
}

TEST_CASE("a request that lives through an exception elsewhere", "[team]") {
  papcoll::ThreadTeam team{3, patient};
  CHECK(scenario_problems(team, [](Rank& comm) -> std::string {
          std::vector<int> data(5000, 1);
          struct Late {
            Rank& comm;
            std::vector<int>& data;
            ~Late() { papcoll::iallreduce(comm, data).wait(); }
          };
          try {
            const Late late{comm, data};
            throw Mishap("on purpose");
          } catch (const Mishap&) {
          }
          return data[0] == 3 ? "" : "wrong";
        }) == "");
}
