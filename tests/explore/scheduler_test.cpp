// SPDX-License-Identifier: BSD-3-Clause
// The explorer itself, on programs whose schedules and faults are known.

#include "explore_context.hpp"
#include "explorer.hpp"
#include "verdict.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>

using namespace explore;

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

/// Two atomics and some plain memory, shared by ranks that run `code`.
class Toy {
 public:
  struct Memory {
    Atomic<std::uint32_t> x;
    Atomic<std::uint32_t> y;
    std::uint32_t plain[4];
    std::uint32_t seen[2];  ///< each rank's own
  };
  using Code = std::function<void(int rank, Memory&)>;
  using Finish = std::function<std::string(const Memory&)>;

  Toy(int ranks, Code code, Finish finish = nullptr)
      : ranks_(ranks), code_(std::move(code)), finish_(std::move(finish)) {}
  int ranks() const noexcept { return ranks_; }
  void reset() {
    shared_model().map(this, reinterpret_cast<std::byte*>(&memory_), sizeof memory_);
    shared_model().name(&memory_.x, sizeof memory_.x, "x");
    shared_model().name(&memory_.y, sizeof memory_.y, "y");
    shared_model().name(memory_.plain, sizeof memory_.plain, "plain");
    memory_ = Memory{};
    shared_model().reset();
  }
  void body(int rank) { code_(rank, memory_); }
  std::string finish() { return finish_ ? finish_(memory_) : std::string{}; }

 private:
  int ranks_;
  Code code_;
  Finish finish_;
  Memory memory_{};
};

/// A counter that loses updates if another rank comes between load and store.
Toy lost_update(int ranks) {
  return Toy{ranks, [](int, Toy::Memory& m) { m.x.store(m.x.load(acquire) + 1, release); },
             [ranks](const Toy::Memory& m) {
               return m.x.peek() == static_cast<std::uint32_t>(ranks) ? "" : "an update was lost";
             }};
}

/// Rank 0 gives plain data to rank 1.
Toy handover(std::memory_order store, std::memory_order load) {
  return Toy{2, [=](int rank, Toy::Memory& m) {
               std::uint32_t value = 7;
               if (rank == 0) {
                 Access::write(m.plain, &value, sizeof value);
                 m.x.store(1, store);
               } else if (m.x.load(load) == 1) {
                 Access::read(&value, m.plain, sizeof value);
               }
             }};
}

}  // namespace

TEST_CASE("Depth first runs each schedule once", "[explore]") {
  // Two ranks of two steps each: with no preemption, who begins; with all, 4 over 2.
  std::multiset<std::string> seen;
  std::string order;
  const auto count = [&](int bound) {
    seen.clear();
    Toy toy{2,
            [&](int rank, Toy::Memory& m) {
              for (int i = 0; i < 2; ++i) {
                m.x.load(acquire);
                order += static_cast<char>('0' + rank);
              }
            },
            [&](const Toy::Memory&) {
              seen.insert(std::exchange(order, ""));
              return std::string{};
            }};
    require_complete(depth_first(toy, bound));
    return std::set<std::string>(seen.begin(), seen.end());
  };
  CHECK(count(0) == std::set<std::string>{"0011", "1100"});
  CHECK(count(9) == std::set<std::string>{"0011", "0101", "0110", "1001", "1010", "1100"});
}

TEST_CASE("A lost update takes one preemption", "[explore]") {
  for (const int ranks : {2, 3, 4}) {
    Toy toy = lost_update(ranks);
    require_complete(depth_first(toy, 0));
    const Report found = depth_first(toy, 1);
    CHECK(found.failure == "an update was lost");
    CHECK(random_walks(toy, 1, 1000).failure == "an update was lost");
  }
}

TEST_CASE("A failure comes with the schedule that repeats it", "[explore]") {
  Toy toy = lost_update(3);
  const Report found = depth_first(toy, 1);
  REQUIRE(!found.fine());
  CHECK(replay(toy, found.failed).failure == found.failure);
  CHECK(replay(toy, {}).fine());
  CHECK(found.explanation.find("store 1 x") != std::string::npos);
}

TEST_CASE("A deadlock is a failure", "[explore]") {
  Toy toy{3, [](int rank, Toy::Memory& m) {
            if (rank == 1) return;
            Access::wait(m.x, 0, std::chrono::nanoseconds{0});
          }};
  CHECK(depth_first(toy, 0).failure.find("deadlock: rank 0, 2 wait") != std::string::npos);
}

TEST_CASE("Ranks that never end are a failure", "[explore]") {
  Toy toy{2, [](int, Toy::Memory& m) {
            while (m.x.load(acquire) == 0) {
            }
          }};
  CHECK(depth_first(toy, 0).failure.find("circles") != std::string::npos);
}

TEST_CASE("Plain accesses that nothing orders are a failure", "[explore]") {
  Toy ordered = handover(release, acquire);
  require_complete(depth_first(ordered, 2));
  for (const auto& [store, load] : {std::pair{relaxed, acquire}, std::pair{release, relaxed}}) {
    Toy toy = handover(store, load);
    CHECK(depth_first(toy, 2).failure.find("(data race)") != std::string::npos);
  }
}

TEST_CASE("Two ranks that raise a flag and look at the other's need sequential consistency",
          "[explore]") {
  const auto look_at_each_other = [](std::memory_order store) {
    return Toy{2,
               [=](int rank, Toy::Memory& m) {
                 (rank == 0 ? m.x : m.y).store(1, store);
                 m.seen[rank] = (rank == 0 ? m.y : m.x).load(std::memory_order_seq_cst);
                 m.x.load(std::memory_order_relaxed);
                 shared_model().publish_stores();
               },
               [](const Toy::Memory& m) {
                 return m.seen[0] + m.seen[1] != 0 ? "" : "neither saw the other";
               }};
  };
  shared_model().delays_stores = true;
  Toy sane = look_at_each_other(std::memory_order_seq_cst);
  const Report nothing = depth_first(sane, 2);
  Toy weak = look_at_each_other(release);
  const Report something = depth_first(weak, 2);
  shared_model().delays_stores = false;
  require_complete(nothing);
  CHECK(something.failure == "neither saw the other");
}

TEST_CASE("A race is found whichever access comes first", "[explore]") {
  Toy toy{2, [](int rank, Toy::Memory& m) {
            std::uint32_t value = 7;
            if (rank == 0) Access::read(&value, &m.plain[1], sizeof value);
            if (rank == 1) Access::write(&m.plain[1], &value, sizeof value);
          }};
  CHECK(replay(toy, {}).failure.find("writes plain while rank 0 reads it") != std::string::npos);
  CHECK(replay(toy, {{0, 1}}).failure.find("reads plain while rank 1 writes") != std::string::npos);
}

TEST_CASE("Plain accesses stay within an object", "[explore]") {
  Toy toy{1, [](int, Toy::Memory& m) {
            const std::uint32_t values[4]{};
            Access::write(&m.plain[1], values, sizeof values);
          }};
  CHECK(depth_first(toy, 0).failure.find("past the end of plain") != std::string::npos);
}
