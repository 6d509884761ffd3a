// SPDX-License-Identifier: BSD-3-Clause
// Doorbells between threads. Sleeps are an hour long, so a lost wake-up ends as the test's timeout.

#include "catch.hpp"

#include <papcoll/base/config.hpp>
#include <papcoll/node/waiting/doorbells.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include <sched.h>

using papcoll::Doorbells;

namespace {

constexpr std::chrono::hours for_ever{1};

/// Memory for bells, aligned as they want it.
class Memory {
 public:
  explicit Memory(int ranks)
      : lines_(Doorbells::bytes(ranks) / papcoll::cache_line + 1), ranks_(ranks) {
    Doorbells::initialise(data(), ranks);
  }
  Doorbells bells() { return Doorbells{data(), ranks_}; }

 private:
  struct alignas(papcoll::cache_line) Line {
    std::byte bytes[papcoll::cache_line];
  };
  std::byte* data() { return lines_.data()->bytes; }

  std::vector<Line> lines_;
  int ranks_;
};

template <class Body> void run(int ranks, Body&& body) {
  std::vector<std::jthread> threads;
  for (int r = 0; r < ranks; ++r) threads.emplace_back([&body, r] { body(r); });
}

template <class Ready> void await(Doorbells& bells, int me, Ready&& ready) {
  while (!bells.nap(me, for_ever, ready)) {
  }
}

}  // namespace

TEST_CASE("A token goes round: each rank rings the next") {
  for (const int ranks : {2, 3, 8}) {
    Memory memory{ranks};
    std::atomic<std::uint32_t> token{0};
    constexpr std::uint32_t handovers = 4000;
    const auto n = static_cast<std::uint32_t>(ranks);
    run(ranks, [&](int me) {
      Doorbells bells = memory.bells();
      for (std::uint32_t t = static_cast<std::uint32_t>(me); t < handovers; t += n) {
        await(bells, me, [&] { return token.load(std::memory_order_seq_cst) == t; });
        token.store(t + 1, std::memory_order_seq_cst);
        bells.ring(static_cast<int>((t + 1) % n));
      }
    });
    CHECK(token == handovers);
  }
}

TEST_CASE("Everyone waits for everyone: the last rings all") {
  for (const int ranks : {2, 5, 8, 16}) {
    Memory memory{ranks};
    std::atomic<std::uint32_t> arrivals{0};
    constexpr std::uint32_t rounds = 400;
    const auto n = static_cast<std::uint32_t>(ranks);
    run(ranks, [&](int me) {
      Doorbells bells = memory.bells();
      for (std::uint32_t round = 1; round <= rounds; ++round) {
        if (arrivals.fetch_add(1, std::memory_order_seq_cst) + 1 == round * n) bells.ring_all();
        await(bells, me, [&] { return arrivals.load(std::memory_order_seq_cst) >= round * n; });
      }
    });
    CHECK(arrivals == rounds * n);
  }
}

TEST_CASE("A rank that throws in its sleep still wakes those it owes it") {
  // The first to be woken are just looking when that happens: they owe the others their wake-up.
  constexpr int ranks = 2 * Doorbells::fan_out + 4;
  constexpr std::uint32_t rounds = 200;
  Memory memory{ranks};
  std::atomic<std::uint32_t> released{0};
  std::atomic<std::uint32_t> arrivals{0};
  std::atomic<std::uint32_t> thrown{0};
  run(ranks, [&](int me) {
    Doorbells bells = memory.bells();
    for (std::uint32_t round = 1; round <= rounds; ++round) {
      const auto is_released = [&] { return released.load(std::memory_order_seq_cst) >= round; };
      arrivals.fetch_add(1, std::memory_order_seq_cst);
      if (me == 0) {
        while (arrivals.load(std::memory_order_acquire) != round * ranks) sched_yield();
        released.store(round, std::memory_order_seq_cst);
        bells.ring_all();
      } else if (me > Doorbells::fan_out) {
        await(bells, me, is_released);
      } else {
        try {
          await(bells, me, [&]() -> bool {
            while (!is_released()) sched_yield();
            throw std::runtime_error("the call failed");
          });
        } catch (const std::runtime_error&) {
          thrown.fetch_add(1);
        }
      }
    }
  });
  CHECK(thrown == rounds * Doorbells::fan_out);
}

TEST_CASE("A sleep ends at its limit, and where the condition holds already") {
  Memory memory{1};
  Doorbells bells = memory.bells();
  CHECK(!bells.nap(0, std::chrono::microseconds{1}, [] { return false; }));
  CHECK(bells.nap(0, for_ever, [] { return true; }));
  bells.ring(0);
  bells.ring_all();
}
