// SPDX-License-Identifier: BSD-3-Clause
// The doorbells' own protocol: sleepers that never wake up by themselves, so that a lost wake-up is
// a deadlock.

#include "explorer.hpp"
#include "scripts.hpp"
#include "verdict.hpp"
#include "world.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

using namespace explore;

namespace {

/// Ranks with bells and one flag each.
class Sleepers {
 public:
  using Code = std::function<void(int rank, Sleepers&)>;

  Sleepers(int ranks, Code code) : ranks_(ranks), code_(std::move(code)) {}

  int ranks() const noexcept { return ranks_; }
  void reset() {
    shared_model().map(this, reinterpret_cast<std::byte*>(&memory_), sizeof memory_);
    shared_model().name(&memory_, sizeof memory_, "bells and flags");
    memory_ = Memory{};
    RealBells::initialise(memory_.bells.data(), ranks_);
    shared_model().reset();
  }
  void body(int rank) { code_(rank, *this); }
  static std::string finish() { return {}; }

  RealBells bells() { return RealBells{memory_.bells.data(), ranks_}; }
  void raise(int r) { flag(r).store(1, std::memory_order_release); }
  bool raised(int r) { return flag(r).load(std::memory_order_acquire) != 0; }
  void await(int me, int r) {
    RealBells b = bells();
    b.wait(me, [&] { return raised(r); });
  }

 private:
  struct alignas(papcoll::cache_line) Memory {
    std::array<std::byte, 1024> bells;
    std::array<Atomic<std::uint32_t>, max_ranks> flags;
  };
  Atomic<std::uint32_t>& flag(int r) { return memory_.flags[static_cast<std::size_t>(r)]; }

  int ranks_;
  Code code_;
  Memory memory_{};
};

constexpr auto cost_one = DepthFirst::AtBlocks::cost_one;

}  // namespace

TEST_CASE("One rings one", "[explore]") {
  Sleepers world{2, [](int rank, Sleepers& s) {
                   if (rank == 1) return s.await(1, 0);
                   s.raise(0);
                   s.bells().ring(1);
                 }};
  require_complete(depth_first(world, 6));
}

TEST_CASE("Two ring one", "[explore]") {
  Sleepers world{3, [](int rank, Sleepers& s) {
                   if (rank == 2) {
                     s.await(2, 0);
                     return s.await(2, 1);
                   }
                   s.raise(rank);
                   s.bells().ring(2);
                 }};
  require_complete(depth_first(world, 3));
}

TEST_CASE("One rings all", "[explore]") {
  Sleepers world{3, [](int rank, Sleepers& s) {
                   if (rank != 0) return s.await(rank, 0);
                   s.raise(0);
                   s.bells().ring_all();
                 }};
  require_complete(depth_first(world, 3));
}

TEST_CASE("One rings all while another rings one", "[explore]") {
  Sleepers world{4, [](int rank, Sleepers& s) {
                   if (rank >= 2) {
                     s.await(rank, 0);
                     return s.await(rank, 1);
                   }
                   s.raise(rank);
                   if (rank == 0) return s.bells().ring_all();
                   s.bells().ring(2);
                   s.bells().ring(3);
                 }};
  require_complete(depth_first(world, 2, 1'000'000, cost_one));
  require_fine(random_walks(world, 1, 30'000));
}

namespace {

void ring_all_by_all() {
  for (const int ranks : {2, 3, 4}) {
    Sleepers world{ranks, [ranks](int rank, Sleepers& s) {
                     s.raise(rank);
                     s.bells().ring_all();
                     for (int r = 0; r < ranks; ++r) s.await(rank, r);
                   }};
    require_complete(depth_first(world, 2, 1'000'000, cost_one));
    require_fine(random_walks(world, 1, 10'000));
  }
}

}  // namespace

TEST_CASE("All ring all", "[explore]") { ring_all_by_all(); }

TEST_CASE("All ring all, with store buffers", "[explore]") {
  shared_model().delays_stores = true;
  ring_all_by_all();
  shared_model().delays_stores = false;
}

TEST_CASE("A rank whose sleep ends by an exception still wakes those it owes it", "[explore]") {
  // Ranks 1 and 2 sleep; rank 1, once woken, throws from its look at the condition.
  struct Thrown {};
  Sleepers world{4, [](int rank, Sleepers& s) {
                   if (rank == 0) {
                     s.raise(0);
                     return s.bells().ring_all();
                   }
                   if (rank != 1) return s.await(rank, 0);
                   try {
                     RealBells b = s.bells();
                     b.wait(1, [&] {
                       if (s.raised(0)) throw Thrown{};
                       return false;
                     });
                   } catch (const Thrown&) {
                   }
                 }};
  require_complete(depth_first(world, 2, 1'000'000, cost_one));
  require_fine(random_walks(world, 1, 20'000));
}

namespace {

void ring_in_all_calls() {
  constexpr Collective collectives[]{
      Collective::allreduce, Collective::reduce,   Collective::bcast,  Collective::allgather,
      Collective::barrier,   Collective::alltoall, Collective::gather, Collective::scatter,
      Collective::scan,      Collective::exscan};
  for (const Algorithm a : algorithms()) {
    for (const Collective c : collectives) {
      for (const CallSpec& call : all_calls(a, c, 2, 4)) {
        INFO(call.describe());
        World<TightControlBlock, RealBells> two{{2, {call, call}}};
        require_complete(depth_first(two, 1));
        World<TightControlBlock, RealBells> four{{4, {call, call}}};
        require_fine(random_walks(four, 1, 20));
      }
    }
  }
}

}  // namespace

TEST_CASE("Algorithms ring whoever waits for them", "[explore]") { ring_in_all_calls(); }

TEST_CASE("Algorithms ring whoever waits for them, with store buffers", "[explore]") {
  shared_model().delays_stores = true;
  ring_in_all_calls();
  shared_model().delays_stores = false;
}
