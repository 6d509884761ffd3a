// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "mistakes.hpp"
#include "outcome.hpp"

#include <papcoll/algorithms/hierarchical/hierarchical.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/thread_team.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace papcoll;
using Rank = ThreadTeam::Rank;

namespace {

Options divided(std::chrono::milliseconds deadline = std::chrono::seconds{20}) {
  Options o{.deadline = deadline};
  o.groups = {{0, 0, 1, 1, 1}};
  return o;
}

constexpr int ranks = 5;

template <class Body> std::vector<Outcome> outcomes(ThreadTeam& team, Body&& body) {
  std::vector<Outcome> all(static_cast<std::size_t>(team.size()));
  team.run([&](Rank& comm) {
    all[static_cast<std::size_t>(comm.rank())] = outcome_of([&] { body(comm); });
  });
  return all;
}

/// The same, or what the ranks hear of it in the calls after that: an alltoall lets those go whose
/// blocks are there.
template <class Body> std::vector<Outcome> outcomes_in_the_end(ThreadTeam& team, Body&& body) {
  std::vector<Outcome> all = outcomes(team, body);
  team.run([&](Rank& comm) {
    Outcome& mine = all[static_cast<std::size_t>(comm.rank())];
    mine = mistakes::heard(comm, mine);
  });
  return all;
}

thread_local bool is_rank_1 = false;

const std::vector<std::string> names{
    "Hierarchical",
    "Hierarchical:DynamicLeader,Rabenseifner+ThreadTransport",
    "Hierarchical:ReduceScatterGather,Exchange",
};

}  // namespace

TEST_CASE("hierarchical: an invalid call on one rank", "[hierarchical]") {
  for (const std::string& name : names) {
    const Algorithm algorithm = papcoll::algorithm(name);
    for (const auto& mistake : mistakes::all<Rank>()) {
      for (const int wrong : {0, 1, 3}) {
        INFO(name << ", rank " << wrong << ": " << name_of(mistake.collective) << ", "
                  << mistake.says);
        ThreadTeam team{ranks, divided()};
        std::vector<mistakes::Buffers> buffers(ranks, mistakes::Buffers{ranks});
        const auto result = outcomes_in_the_end(team, [&](Rank& comm) {
          mistake.call(comm, buffers[static_cast<std::size_t>(comm.rank())], comm.rank() == wrong,
                       algorithm);
        });
        for (int r = 0; r < ranks; ++r) {
          const Outcome& mine = result[static_cast<std::size_t>(r)];
          CAPTURE(r, mine);
          if (r == wrong) {
            CHECK(mine.kind == "argument_error");
            CHECK(mine.says(mistake.says));
          } else {
            CHECK(mine.kind == "peer_error");
          }
        }
      }
    }
  }
}

TEST_CASE("hierarchical: calls that do not match", "[hierarchical]") {
  for (const std::string& name : names) {
    for (const int other : {0, 1, 2, 4}) {
      INFO(name << ", rank " << other << " differs");
      const Algorithm algorithm = papcoll::algorithm(name);
      ThreadTeam team{ranks, divided()};
      auto result = outcomes(team, [&](Rank& comm) {
        std::vector<int> data(comm.rank() == other ? 4 : 3, 1);
        allreduce(comm, data, sum, algorithm);
      });
      for (const Outcome& mine : result) {
        CAPTURE(mine);
        CHECK(mine.kind == "peer_error");
      }
    }
  }
}

// Rank 0 sends as much to the ranks of the other node together as they expect of it.
TEST_CASE("hierarchical: what ranks send and expect of each other differs", "[hierarchical]") {
  for (const std::string& name : names) {
    INFO(name);
    const Algorithm algorithm = papcoll::algorithm(name);
    ThreadTeam team{ranks, divided()};
    const auto result = outcomes_in_the_end(team, [&](Rank& comm) {
      std::vector<int> sent(ranks, 2);
      if (comm.rank() == 0) ++sent[2], --sent[4];
      const std::vector<int> received(ranks, 2);
      const std::vector<int> in(2 * ranks, 1);
      std::vector<int> out(2 * ranks);
      alltoallv(comm, in, counts{sent}, out, counts{received}, algorithm);
    });
    int heard = 0;
    for (const Outcome& mine : result) {
      CAPTURE(mine);
      CHECK(mine.kind == "peer_error");
      heard += mine.says("rank 0 has 12 bytes for rank 2, which expects 8 of it");
    }
    CHECK(heard > 0);
  }
}

TEST_CASE("hierarchical: what a node sends and another expects differs", "[hierarchical]") {
  for (const int wrong : {0, 1, 3}) {
    INFO("rank " << wrong);
    const Algorithm algorithm = papcoll::algorithm(names[1]);
    ThreadTeam team{ranks, divided()};
    const auto result = outcomes_in_the_end(team, [&](Rank& comm) {
      std::vector<int> sent(ranks, 2);
      if (comm.rank() == wrong) sent[wrong == 0 ? 3 : 0] = 4;
      const std::vector<int> received(ranks, 2);
      const std::vector<int> in(comm.rank() == wrong ? 2 * ranks + 2 : 2 * ranks, 1);
      std::vector<int> out(2 * ranks);
      alltoallv(comm, in, counts{sent}, out, counts{received}, algorithm);
    });
    for (const Outcome& mine : result) {
      CAPTURE(mine);
      CHECK(mine.kind == "peer_error");
    }
  }
}

TEST_CASE("hierarchical: a gatherv of which ranks know their own lengths only", "[hierarchical]") {
  ThreadTeam team{ranks, divided()};
  const auto result = outcomes(team, [&](Rank& comm) {
    std::vector<int> all(ranks);
    const std::vector<int> each(ranks, 1);
    const std::vector<int> mine(1);
    gatherv(comm, mine, all, comm.rank() == 0 ? counts{each} : counts{}, root{0},
            algorithm("Hierarchical"));
  });
  CHECK(result[0].kind == "peer_error");
  CHECK(result[1].says("ranks know their own only"));
}

TEST_CASE("hierarchical: one rank takes another algorithm", "[hierarchical]") {
  for (const int other : {0, 2}) {
    ThreadTeam team{ranks, divided()};
    auto result = outcomes(team, [&](Rank& comm) {
      int one = 1;
      one = allreduce(comm, one, sum, algorithm(names[comm.rank() == other ? 1 : 0]));
    });
    for (const Outcome& mine : result) {
      CAPTURE(other, mine);
      CHECK(mine.kind == "peer_error");
    }
  }
}

TEST_CASE("hierarchical: a rank that ends is a lost peer", "[hierarchical]") {
  for (const std::string& name : names) {
    for (const int victim : {0, 1, 2, 3}) {
      INFO(name << ", victim " << victim);
      ThreadTeam team{ranks, divided()};
      std::vector<Outcome> all(ranks);
      CHECK_THROWS_AS(team.run([&](Rank& comm) {
        if (comm.rank() == victim) throw std::runtime_error("enough");
        all[static_cast<std::size_t>(comm.rank())] =
            outcome_of([&] { barrier(comm, algorithm(name)); });
      }),
                      std::runtime_error);
      for (int r = 0; r < ranks; ++r) {
        if (r == victim) continue;
        const Outcome& mine = all[static_cast<std::size_t>(r)];
        CAPTURE(r, mine);
        CHECK(mine.kind == "peer_lost");
        CHECK(mine.says("rank " + std::to_string(victim)));
      }
    }
  }
}

TEST_CASE("hierarchical: a rank that ends before an alltoall or a scan", "[hierarchical]") {
  for (const std::string& name : names) {
    for (const int victim : {0, 1, 2, 3}) {
      INFO(name << ", victim " << victim);
      ThreadTeam team{ranks, divided()};
      std::vector<Outcome> all(ranks);
      const std::vector<int> each(ranks, 1);
      CHECK_THROWS_AS(team.run([&](Rank& comm) {
        if (comm.rank() == victim) throw std::runtime_error("enough");
        all[static_cast<std::size_t>(comm.rank())] = outcome_of([&] {
          std::vector<int> data(ranks, 1);
          if (victim % 2 == 0) scan(comm, data, sum, algorithm(name));
          alltoall(comm, data, algorithm(name));
          alltoallv(comm, data, counts{each}, algorithm(name));
        });
      }),
                      std::runtime_error);
      for (int r = 0; r < ranks; ++r) {
        if (r == victim) continue;
        const Outcome& mine = all[static_cast<std::size_t>(r)];
        CAPTURE(r, mine);
        CHECK(mine.kind == "peer_lost");
        CHECK(mine.says("rank " + std::to_string(victim)));
      }
    }
  }
}

TEST_CASE("hierarchical: the deadline", "[hierarchical]") {
  for (const int absent : {0, 1, 3}) {
    ThreadTeam team{ranks, divided(std::chrono::milliseconds{100})};
    const Algorithm algorithm = papcoll::algorithm(names[1]);
    auto result = outcomes(team, [&](Rank& comm) {
      if (comm.rank() != absent) barrier(comm, algorithm);
    });
    for (int r = 0; r < ranks; ++r) {
      const Outcome& mine = result[static_cast<std::size_t>(r)];
      CAPTURE(absent, r, mine);
      CHECK(mine.kind == (r == absent ? "fine" : "deadline_exceeded"));
    }
    auto after = outcomes(team, [&](Rank& comm) { barrier(comm, algorithm); });
    for (const Outcome& mine : after) CHECK_FALSE(mine.is_fine());
  }
}

TEST_CASE("hierarchical: the deadline names the root of the phase", "[hierarchical]") {
  ThreadTeam team{ranks, divided(std::chrono::milliseconds{100})};
  const std::vector<std::size_t> sizes{1, 2, 3, 4, 5};
  const auto result = outcomes(team, [&](Rank& comm) {
    if (comm.rank() == 1) return;
    const std::vector<int> in(15, 1);
    std::vector<int> out(sizes[static_cast<std::size_t>(comm.rank())]);
    reduce_scatter(comm, in, out, counts{sizes}, sum, algorithm("Hierarchical"));
  });
  for (const Outcome& o : result) {
    CAPTURE(o);
    CHECK((!o.says(" with root ") || o.says(" with root 0")));
  }
}

TEST_CASE("hierarchical: a non-blocking call is refused", "[hierarchical]") {
  ThreadTeam team{ranks, divided()};
  auto result =
      outcomes(team, [&](Rank& comm) { ibarrier(comm, algorithm("Hierarchical")).wait(); });
  for (const Outcome& mine : result) {
    CHECK(mine.kind == "argument_error");
    CHECK(mine.says("non-blocking"));
  }
  CHECK_NOTHROW(team.run([&](Rank& comm) { barrier(comm, algorithm("Hierarchical")); }));
}

TEST_CASE("hierarchical: parts that cannot serve the call are refused", "[hierarchical]") {
  ThreadTeam team{ranks, divided()};
  const auto first_minus = non_commutative([](int a, int b) { return a - b; });
  auto result = outcomes(team, [&](Rank& comm) {
    int one = 1;
    one = allreduce(comm, one, first_minus, algorithm("Hierarchical:Exchange,Ring"));
  });
  for (const Outcome& mine : result) CHECK(mine.says("out of rank order"));
  result = outcomes(team, [&](Rank& comm) {
    barrier(comm, algorithm("Hierarchical:Exchange,Ring+MpiTransport"));
  });
  for (const Outcome& mine : result) CHECK(mine.kind == "transport_unavailable");
}

// Rank 0 came first, and waits while rank 1 combines what both have, chunk by chunk. Rank 0 hears
// that rank 4's call is invalid from the whole team; rank 1, busy as it is, only from the group.
TEST_CASE("hierarchical: whoever hears of a failure has its buffers back", "[hierarchical]") {
  using std::chrono::microseconds;
  const Algorithm algorithm =
      papcoll::algorithm("Hierarchical:ArrivalOrder+Chain,Rabenseifner+ThreadTransport");
  for (int repeat = 0; repeat < 20; ++repeat) {
    ThreadTeam team{ranks, divided()};
    std::atomic<bool> has_them_back{false};
    std::atomic<int> used_since{0};
    const auto slow_on_1 = commutative([&](double a, double b) noexcept {
      thread_local int calls = 0;
      if (!is_rank_1) return a + b;
      if (++calls % 1024 == 0) std::this_thread::sleep_for(microseconds{20});
      if (has_them_back) ++used_since;
      return a + b;
    });
    const auto result = outcomes(team, [&](Rank& comm) {
      std::vector<double> mine(1'000'000, 1.0);
      is_rank_1 = comm.rank() == 1;
      if (is_rank_1) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
      } else if (comm.rank() == 4) {
        std::this_thread::sleep_for(microseconds{12'000 + 37 * repeat});
        mine.resize(1);
      }
      try {
        allreduce(comm, std::span{mine}, slow_on_1, algorithm);
      } catch (const papcoll::error&) {
        if (comm.rank() == 0) has_them_back = true;
        throw;
      }
    });
    for (const Outcome& o : result) CHECK(!o.is_fine());
    CHECK(used_since == 0);
  }
}
