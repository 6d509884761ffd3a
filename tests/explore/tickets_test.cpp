// SPDX-License-Identifier: BSD-3-Clause
// RemoteTicketCounter under the explorer: every order in which the ranks' operations on each
// other's words may happen, within a bound. Reduces, which ranks leave early, and allreduces, over
// more calls than there are epoch slots.

#include "explorer.hpp"

#include <papcoll/arrival/remote_tickets.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"

namespace {

using explore::scheduler;
using papcoll::RemoteAtomics;
using papcoll::RemoteTicketCounter;

/// The words of all ranks. Who looks at one again that has not changed waits until one does.
class Memory {
 public:
  Memory(int ranks, std::size_t n)
      : words_(static_cast<std::size_t>(ranks), std::vector<std::int64_t>(n)) {}

  std::int64_t change(int rank, std::size_t at, RemoteAtomics::Change how, std::int64_t operand) {
    std::int64_t& word = words_.at(static_cast<std::size_t>(rank)).at(at);
    const std::int64_t before = word;
    if (how == RemoteAtomics::Change::add) word += operand;
    if (how == RemoteAtomics::Change::replace) word = operand;
    if (how != RemoteAtomics::Change::none) wake();
    return before;
  }
  void wake() {
    ++version_;
    scheduler().unblock_all(this);
  }
  std::uint64_t version() const noexcept { return version_; }
  void await_change(std::uint64_t since) {
    while (version_ == since) scheduler().block(this);
  }

 private:
  std::vector<std::vector<std::int64_t>> words_;
  std::uint64_t version_ = 0;
};

class Words final : public RemoteAtomics {
 public:
  /// `tears`: its additions are two operations, and not one.
  Words(Memory& memory, int me, bool tears) : memory_(memory), me_(me), tears_(tears) {}

  void start(int rank, std::size_t word, Change change, std::int64_t operand) override {
    const bool again = change == Change::none && rank == rank_ && word == word_;
    if (again) memory_.await_change(seen_);
    scheduler().point();
    seen_ = memory_.version();
    if (tears_ && change == Change::add) {
      before_ = memory_.change(rank, word, Change::none, 0);
      scheduler().point();
      memory_.change(rank, word, Change::replace, before_ + operand);
    } else {
      before_ = memory_.change(rank, word, change, operand);
    }
    rank_ = change == Change::none ? rank : -1;
    word_ = word;
  }
  bool progress() override { return true; }
  std::int64_t before() const noexcept override { return before_; }
  std::int64_t own(std::size_t word) const override {
    if (word == looked_at_) memory_.await_change(looked_);
    scheduler().point();
    looked_ = memory_.version();
    looked_at_ = word;
    return memory_.change(me_, word, Change::none, 0);
  }
  bool part(std::chrono::nanoseconds) noexcept override { return false; }
  void free() noexcept override {}

 private:
  static constexpr std::size_t nowhere = std::size_t(-1);

  Memory& memory_;
  int me_;
  bool tears_;
  std::int64_t before_ = 0;
  std::uint64_t seen_ = 0;
  int rank_ = -1;
  std::size_t word_ = 0;
  mutable std::uint64_t looked_ = 0;
  mutable std::size_t looked_at_ = nowhere;
};

/// Ranks that make the same calls; `roots`: of each, or −1.
class World {
 public:
  World(int ranks, std::vector<int> roots, std::uint32_t first_epoch, bool tears = false)
      : ranks_(ranks), roots_(std::move(roots)), first_epoch_(first_epoch), tears_(tears) {}

  int ranks() const noexcept { return ranks_; }
  void reset() {
    memory_ = std::make_unique<Memory>(ranks_, RemoteTicketCounter::words(ranks_));
    holders_.assign(roots_.size(), std::vector<int>(static_cast<std::size_t>(ranks_), -1));
    came_.assign(roots_.size(), 0);
  }

  void body(int me) {
    RemoteTicketCounter counter{std::make_unique<Words>(*memory_, me, tears_), me, ranks_,
                                first_epoch_};
    for (std::size_t i = 0; i < roots_.size(); ++i) {
      counter.begin(roots_[i]);
      while (counter.ticket() < 0) counter.step();
      take(i, counter.ticket(), me);
      while (!counter.done()) counter.step();
      const bool sees_all = roots_[i] < 0 || roots_[i] == me;
      while (sees_all && came_[i] < ranks_) memory_->await_change(memory_->version());
      check(i, counter, me);
      counter.end(sees_all || counter.ticket() == ranks_ - 1);
    }
  }

  std::string finish() const { return {}; }

 private:
  void take(std::size_t call, int ticket, int me) {
    if (ticket >= ranks_) scheduler().fail("no such ticket");
    int& holder = holders_[call][static_cast<std::size_t>(ticket)];
    if (holder >= 0) scheduler().fail("a ticket twice");
    holder = me;
    ++came_[call];
    memory_->wake();
  }

  void check(std::size_t call, const RemoteTicketCounter& counter, int me) const {
    const int t = counter.ticket();
    const int last = ranks_ - 1;
    const auto holder = [&](int ticket) {
      return ticket < 0 || ticket > last ? -1 : holders_[call][static_cast<std::size_t>(ticket)];
    };
    if (counter.before() != holder(t - 1)) scheduler().fail("wrong predecessor");
    if (counter.after() != holder(t + 1)) scheduler().fail("wrong successor");
    if (roots_[call] == me && counter.last() != holder(last)) scheduler().fail("wrong last");
  }

  int ranks_;
  std::vector<int> roots_;
  std::uint32_t first_epoch_;
  bool tears_;
  std::unique_ptr<Memory> memory_;
  std::vector<std::vector<int>> holders_;  ///< of each call, ticket by ticket
  std::vector<int> came_;
};

constexpr auto cost_one = explore::DepthFirst::AtBlocks::cost_one;
constexpr std::uint64_t limit = 200'000;
constexpr std::uint32_t wraps_at_second = 0xffffffff;

}  // namespace

TEST_CASE("tickets: all orders of two calls", "[explore]") {
  for (const std::vector<int>& roots :
       {std::vector{-1, -1}, {0, -1}, {-1, 1}, {0, 1}, {1, 0}, {1, 1}}) {
    for (const int ranks : {2, 3}) {
      World world{ranks, roots, wraps_at_second};
      const auto report = explore::depth_first(world, ranks == 2 ? 2 : 1);
      INFO(report.explanation);
      CHECK(report.fine());
      CHECK(report.complete);
    }
  }
}

TEST_CASE("tickets: epoch slots are used again", "[explore]") {
  // So many reduces in a row that ranks run ahead as far as they may.
  for (const int ranks : {2, 3}) {
    for (const int last_root : {-1, 1}) {
      std::vector<int> roots(RemoteTicketCounter::epoch_slots + 2, 0);
      roots.back() = last_root;
      World world{ranks, roots, wraps_at_second};
      const auto report = explore::depth_first(world, 2, limit, cost_one);
      INFO(report.explanation);
      CHECK(report.fine());
      CHECK(report.complete);
    }
  }
}

TEST_CASE("tickets: additions that tear are found out", "[explore]") {
  World world{2, {0, 0}, 1, true};
  const auto report = explore::depth_first(world, 2, limit, cost_one);
  CHECK_FALSE(report.fine());
  CHECK(explore::replay(world, report.failed).failure == report.failure);
}

TEST_CASE("tickets: walks of four ranks", "[explore]") {
  for (const std::uint32_t first : {1U, 0xfffffffcU}) {
    World world{4, {0, 3, -1, 1, 0, 0, 2, -1, 1, 1}, first};
    const auto report = explore::random_walks(world, first, 500);
    INFO(report.explanation);
    CHECK(report.fine());
  }
}
