// SPDX-License-Identifier: BSD-3-Clause
#include "../../thread_problems.hpp"
#include "catch.hpp"

#include <papcoll/allreduce.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/node/peer_probe.hpp>
#include <papcoll/options.hpp>
#include <papcoll/runtime/team.hpp>
#include <papcoll/thread_team.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

using papcoll::CopyMethod;
using papcoll::ThreadTeam;
using papcoll::detail::PeerProbe;
using namespace std::chrono_literals;

namespace probing {

/// What the ranks of a node share, and each rank's side.
struct World {
  explicit World(int ranks) : memory(PeerProbe::bytes(ranks) + 256) {
    parts = memory.data() + (0 - reinterpret_cast<std::uintptr_t>(memory.data())) % 256;
    for (int r = 0; r < ranks; ++r) sides.emplace_back(parts, r, ranks);
  }

  /// All ranks at once, each `times` times after a random delay. How many of the trials told.
  int run(int times, std::chrono::nanoseconds limit, std::chrono::microseconds delay) {
    std::atomic<int> told{0};
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < sides.size(); ++r) {
      threads.emplace_back([&, r] {
        std::minstd_rand random{static_cast<unsigned>(r + 1)};
        for (int i = 0; i < times; ++i) {
          std::this_thread::sleep_for(delay * static_cast<int>(random() % 8) / 8);
          PeerProbe::Found found;
          if (sides[r].run(found, limit)) ++told;
        }
      });
    }
    threads.clear();
    return told;
  }

  /// As if that rank of two had left its partner after so many steps.
  void stopped_after(int rank, std::uint64_t steps) {
    const std::uint64_t word = 2 * steps;
    std::memcpy(parts + PeerProbe::offset(rank), &word, sizeof word);
  }

  std::vector<std::byte> memory;
  std::byte* parts;
  std::vector<PeerProbe> sides;
};

}  // namespace probing

TEST_CASE("every rank of several has a partner to try copies with, who has it") {
  for (int ranks = 2; ranks <= 70; ++ranks) {
    for (int r = 0; r < ranks; ++r) {
      int found = 0;
      for (int pair = 0; pair < PeerProbe::pairs; ++pair) {
        const int other = PeerProbe::partner(r, ranks, pair);
        if (other < 0) continue;
        ++found;
        CHECK(other != r);
        CHECK(PeerProbe::partner(other, ranks, pair) == r);
      }
      CHECK(found > 0);
    }
  }
}

TEST_CASE("ranks that meet find out which copies are faster") {
  for (const int ranks : {2, 3, 4, 5}) {
    CAPTURE(ranks);
    probing::World world{ranks};
    CHECK(world.run(1, 60s, 0us) == ranks);
    CHECK(world.run(3, 60s, 50us) == 3 * ranks);
  }
}

TEST_CASE("a rank whose partner does not arrive learns nothing, and goes on with it later") {
  probing::World world{2};
  PeerProbe::Found found;
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(world.sides[0].run(found, 10us));
    CHECK_FALSE(world.sides[1].run(found, 10us));
    CHECK_FALSE(world.sides[1].run(found, 10us));
  }
  CHECK(world.run(1, 60s, 0us) == 2);
}

TEST_CASE("a pair that stopped before its last step goes on with a whole probe") {
  for (const std::uint64_t steps : {1U, 2U, 34U, 35U, 36U, 37U}) {
    CAPTURE(steps);
    probing::World world{2};
    world.stopped_after(0, steps);
    world.stopped_after(1, steps / 2 * 2);
    CHECK(world.run(1, 60s, 0us) == 2);
    CHECK(world.run(1, 60s, 0us) == 2);
  }
}

TEST_CASE("ranks that arrive late to each other touch no data that the other has") {
  for (const int ranks : {2, 6}) {
    probing::World world{ranks};
    world.run(60, 100us, 300us);
  }
}

TEST_CASE("a team whose copies are found by a probe computes the same, and says how it copies") {
  ThreadTeam team{2, {.copy_method = CopyMethod::probed}};
  CHECK(problems(team, [](ThreadTeam::Rank& comm) {
          std::string text;
          std::vector<std::uint64_t> data(3000);
          for (std::uint64_t i = 0; i < 2000; ++i) {
            std::iota(data.begin(), data.end(), i + static_cast<std::uint64_t>(comm.rank()));
            allreduce(comm, std::span{data});
            for (std::uint64_t at = 0; at < data.size(); ++at) {
              if (data[at] == 2 * (i + at) + 1) continue;
              text += "call " + std::to_string(i) + " is wrong at " + std::to_string(at) + "\n";
              break;
            }
          }
          const std::string said = explain(comm, papcoll::Collective::allreduce, 65536).text();
          if (said.find("by a probe") == std::string::npos &&
              said.find("since no probe was made") == std::string::npos)
            text += said;
          return text;
        }) == "");
}

TEST_CASE("ranks take what things cost from all of them, and alike") {
  for (const int ranks : {2, 3}) {
    ThreadTeam team{ranks};
    std::vector<std::string> said(static_cast<std::size_t>(ranks));
    CHECK(problems(team, [&](ThreadTeam::Rank& comm) {
            comm.core().set_oversubscribed(false);
            std::vector<std::uint64_t> data(3000, 1);
            std::string text;
            for (int i = 0; i < 600; ++i) {
              data.assign(data.size(), 1);
              allreduce(comm, std::span{data});
              if (data.back() != static_cast<std::uint64_t>(comm.size())) text = "wrong";
              if (i % 50 != 0) continue;
              const std::string all = explain(comm, papcoll::Collective::allreduce, 65536).memory;
              said[static_cast<std::size_t>(comm.rank())] += all.substr(all.find("a signal"));
            }
            return text;
          }) == "");
    for (const std::string& s : said) CHECK(s == said[0]);
  }
}
