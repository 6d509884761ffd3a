// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/node/waiting/waiter.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

using papcoll::Doorbells;
using papcoll::Waiter;

namespace {

/// Waits for a step that becomes true when it has been tried so often; says if the rank ever went
/// to sleep before. A sleeper looks once more after it has said that it sleeps.
bool sleeps_within(Waiter& waiter, int tries) {
  alignas(papcoll::cache_line) static std::array<std::byte, 1024> memory;
  REQUIRE(Doorbells::bytes(1) <= memory.size());
  Doorbells::initialise(memory.data(), 1);
  Doorbells bells{memory.data(), 1};
  waiter.bells = &bells;
  const auto& sleepers = *reinterpret_cast<const std::atomic<std::uint32_t>*>(memory.data());
  bool slept = false;
  waiter.until([&] {
    slept = slept || sleepers.load() != 0;
    return --tries <= 0;
  });
  waiter.bells = nullptr;
  return slept;
}

}  // namespace

TEST_CASE("A rank sleeps when it has yielded for long enough, and not before") {
  Waiter waiter;
  waiter.times.short_sleep = waiter.times.long_sleep = std::chrono::microseconds{1};
  for (const bool oversubscribed : {false, true}) {
    CAPTURE(oversubscribed);
    waiter.oversubscribed = oversubscribed;
    waiter.times.yielding = waiter.times.spinning = std::chrono::hours{1};
    CHECK_FALSE(sleeps_within(waiter, 1000));
    waiter.times.yielding = waiter.times.spinning = std::chrono::nanoseconds{0};
    CHECK(sleeps_within(waiter, 1000));
  }
}

TEST_CASE("A rank whose step rings nobody never sleeps") {
  Waiter waiter;
  waiter.times.yielding = waiter.times.spinning = std::chrono::nanoseconds{0};
  int tries = 1000;
  waiter.until([&] { return --tries <= 0; }, papcoll::Naps::none);
  CHECK(tries == 0);
}

TEST_CASE("A rank waits as one of many once somebody else has run on its processor") {
  Waiter waiter;
  waiter.times.yield_every = std::chrono::nanoseconds{0};
  int tries = 1000;
  waiter.times.given_away = std::chrono::nanoseconds{-1};  // every yield was long enough
  waiter.times.slice = std::chrono::hours{1};
  waiter.until([&] { return --tries <= 0; }, papcoll::Naps::none);
  CHECK(waiter.is_crowded());
  waiter.times.given_away = std::chrono::hours{1};  // none was
  tries = 1000;
  waiter.until([&] { return --tries <= 0; }, papcoll::Naps::none);
  CHECK_FALSE(waiter.is_crowded());
}

TEST_CASE("A rank that shared its processor finds in short waits, too, that it does not any more") {
  Waiter waiter;
  waiter.times.given_away = std::chrono::minutes{1};
  waiter.times.slice = std::chrono::hours{1};
  waiter.yield_took = std::chrono::minutes{2};
  CHECK(waiter.is_crowded());
  int tries = 2;
  waiter.until([&] { return --tries <= 0; });
  CHECK_FALSE(waiter.is_crowded());
}

TEST_CASE("A rank that lost a time slice by a yield spins for longer before it yields again") {
  Waiter waiter;
  waiter.times.given_away = std::chrono::nanoseconds{-1};
  waiter.times.longest_spin = std::chrono::hours{1};
  const std::chrono::nanoseconds lost = waiter.yield_took = std::chrono::minutes{10};
  CHECK(waiter.was_preempted());
  const auto stop = std::chrono::steady_clock::now() + std::chrono::milliseconds{1};
  waiter.until([&] { return std::chrono::steady_clock::now() > stop; }, papcoll::Naps::none);
  CHECK(waiter.yield_took == lost);
  waiter.times.longest_spin = std::chrono::microseconds{10};
  int tries = 1'000'000;
  waiter.until([&] { return waiter.yield_took != lost || --tries <= 0; }, papcoll::Naps::none);
  CHECK(tries > 0);
}

TEST_CASE("A rank that sleeps stays awake as long as its pokes have work") {
  alignas(papcoll::cache_line) static std::array<std::byte, 1024> memory;
  Doorbells::initialise(memory.data(), 1);
  Doorbells bells{memory.data(), 1};
  const auto& sleepers = *reinterpret_cast<const std::atomic<std::uint32_t>*>(memory.data());
  struct Mpi : papcoll::WaitHooks {
    void make_progress(bool /*mpi_alone*/) override {
      const bool works = ++pokes % 2 == 0 && work > 0;
      if (works) --work;
      const auto stop = std::chrono::steady_clock::now() + (works ? busy : idle);
      while (std::chrono::steady_clock::now() < stop) continue;
    }

    std::chrono::microseconds idle, busy;  ///< what a poke takes, without work and with it
    int work = 0;                          ///< every other poke has some
    int pokes = 0;
  };
  // Times far apart: others compute here, too. The second MPI yields if it has no work.
  for (const bool yields : {false, true}) {
    CAPTURE(yields);
    Mpi mpi;
    mpi.moves_mpi = true;
    mpi.idle = std::chrono::microseconds{yields ? 10 : 1};
    mpi.busy = std::chrono::microseconds{yields ? 1 : 10};
    Waiter waiter;
    waiter.bells = &bells;
    waiter.times.long_sleep = std::chrono::microseconds{1};
    waiter.times.yielding = waiter.times.spinning = std::chrono::nanoseconds{0};
    waiter.times.idle_poke = std::chrono::microseconds{5};
    waiter.hooks = &mpi;
    waiter.times.turn = std::chrono::microseconds{100};
    int sleeps = 0;
    const auto wait_until = [&](auto&& done) {
      waiter.until([&] {
        if (sleepers.load() != 0) ++sleeps;
        return done();
      });
    };
    const int most_pokes = 20 * waiter.times.most_turns;
    wait_until([&] { return sleeps == 20 || mpi.pokes == most_pokes; });
    CHECK(mpi.pokes < most_pokes);
    bool has_begun = false;
    wait_until([&] {
      if (!has_begun && sleeps == 40) {  // this wait knows what an idle poke takes
        has_begun = true;
        mpi.work = 200;
      }
      return has_begun && mpi.work == 0;
    });
    CHECK(sleeps < 40 + 10);
  }
}

TEST_CASE("A rank that was held up beyond its deadline asks once more before it gives up") {
  struct Slow : papcoll::WaitHooks {
    void make_progress(bool /*mpi_alone*/) override {
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
      ++looks;
    }
    void deadline_passed() override { FAIL("the deadline of a step that is complete"); }
    int looks = 0;
  } slow;
  Waiter waiter;
  waiter.deadline = std::chrono::milliseconds{5};
  waiter.hooks = &slow;
  // Each look takes a quarter of the deadline: the fourth is the last before it is over.
  waiter.until([&] { return slow.looks >= 4; }, papcoll::Naps::none);
  CHECK(slow.looks == 4);
}

TEST_CASE("a gap between two looks at the clock counts little of the time waited") {
  using std::chrono::hours;
  using std::chrono::milliseconds;
  papcoll::TimeWaited::Clock::time_point now{};
  papcoll::TimeWaited time{milliseconds{100}, now};
  CHECK(time.look(now += milliseconds{7}) == milliseconds{7});
  CHECK(time.look(now += hours{7}) == milliseconds{107});
  CHECK(time.look(now += milliseconds{100}) == milliseconds{207});
  CHECK(time.look(now -= hours{1}) == milliseconds{207});
  CHECK(time.look(now += milliseconds{1}) == milliseconds{208});
}

TEST_CASE("Time in which a rank is stopped again and again does not pass its deadline") {
  struct Stopped : papcoll::WaitHooks {
    void make_progress(bool /*mpi_alone*/) override {
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
      ++stops;
    }
    void deadline_passed() override { FAIL("the deadline of a rank that did not run"); }
    int stops = 0;
  } stopped;
  Waiter waiter;
  waiter.deadline = std::chrono::milliseconds{20};
  waiter.times.longest_gap = std::chrono::microseconds{1};
  waiter.hooks = &stopped;
  waiter.until([&] { return stopped.stops >= 5; }, papcoll::Naps::none);
  CHECK(stopped.stops == 5);
}

TEST_CASE("A deadline of a nanosecond passes") {
  struct Late : papcoll::WaitHooks {
    void deadline_passed() override { passed = true; }
    bool passed = false;
  } late;
  Waiter waiter;
  waiter.deadline = std::chrono::nanoseconds{1};
  waiter.hooks = &late;
  waiter.until([&] { return late.passed; }, papcoll::Naps::none);
  CHECK(late.passed);
}
