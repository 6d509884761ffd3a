// The board of the arrival floor: its layout, its stamps, and its algorithms on threads that are
// delayed at random. One file, since all cases share one team of threads.

#include "catch.hpp"
#include "explore/calls.hpp"
#include "explore/script.hpp"
#include "explore/scripts.hpp"

#include <papcoll/config.hpp>
#include <papcoll/node/board.hpp>
#include <papcoll/node/node_site.hpp>
#include <papcoll/waiting/doorbells.hpp>
#include <papcoll/waiting/waiter.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sched.h>

using papcoll::Doorbells;
using papcoll::NodeBoard;
using papcoll::NodeSite;

namespace {

struct alignas(papcoll::cache_line) Line {
  std::byte bytes[papcoll::cache_line];
};

/// Zeroed memory, aligned as boards and bells want it.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : lines_(bytes / sizeof(Line) + 1) {}
  std::byte* data() { return lines_.data()->bytes; }

 private:
  std::vector<Line> lines_;
};

/// Threads as ranks of one node, over a board and bells.
class Threads {
 public:
  explicit Threads(explore::Script script)
      : script_(std::move(script)),
        bells_(Doorbells::bytes(script_.ranks)),
        memory_(NodeBoard::bytes(script_.ranks, explore::chunk_bytes)) {
    Doorbells::initialise(bells_.data(), script_.ranks);
    board().initialise(script_.first_epoch);
  }

  /// What was wrong on some rank; empty if nothing was.
  std::string run() {
    std::vector<std::string> problems(static_cast<std::size_t>(script_.ranks));
    // Late ranks may still read the pool of one that is through with the last call.
    std::vector<std::unique_ptr<NodeSite>> sites(problems.size());
    {
      std::vector<std::jthread> threads;
      for (int r = 0; r < script_.ranks; ++r) {
        threads.emplace_back([this, r, &problems, &site = sites[static_cast<std::size_t>(r)]] {
          site = std::make_unique<NodeSite>(board(), Doorbells{bells_.data(), script_.ranks}, r,
                                            script_.first_epoch);
          problems[static_cast<std::size_t>(r)] = run_rank(r, *site);
        });
      }
    }
    for (const std::string& p : problems) {
      if (!p.empty()) return p;
    }
    return {};
  }

 private:
  NodeBoard board() { return NodeBoard{memory_.data(), script_.ranks, explore::chunk_bytes}; }

  std::string run_rank(int rank, NodeSite& site) {
    Doorbells bells{bells_.data(), script_.ranks};
    papcoll::Waiter waiter;
    waiter.bells = &bells;
    waiter.rank = rank;
    waiter.oversubscribed = true;
    waiter.times.yielding = std::chrono::microseconds{5};
    std::minstd_rand random{static_cast<unsigned>(rank) + 1};
    std::string problem;
    constexpr std::size_t frames = NodeBoard::frames;
    std::array<bool, frames> complete_before{};  // the last call in each frame
    for (std::size_t i = 0; i < script_.calls.size(); ++i) {
      const explore::CallSpec& spec = script_.call_of(rank, i);
      explore::Buffers buffers{spec, i, rank, script_.ranks};
      const papcoll::Call call = buffers.prepare();
      if (random() % 8 == 0) delay(random);
      const bool complete =
          explore::make_call(site, spec, call, script_.may_fail(i, frames), [&](auto&& ready) {
            waiter.until([&] {
              if (random() % 16 == 0) delay(random);
              return ready();
            });
          });
      if (!complete) {  // as a team does before its exception passes
        waiter.until([&] { return site.reader() < 0; }, papcoll::Naps::brief);
      }
      bool& before = complete_before[i % frames];
      if (problem.empty()) {
        problem = explore::problem_of(script_, i, rank, buffers, complete, before, frames);
      }
      before = complete;
    }
    return problem.empty() ? problem : "rank " + std::to_string(rank) + ": " + problem;
  }

  static void delay(std::minstd_rand& random) {
    if (random() % 4 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds{random() % 50});
    } else if (random() % 2 == 0) {
      sched_yield();
    } else {
      for (auto i = random() % 1000; i != 0; --i) papcoll::detail::cpu_pause();
    }
  }

  explore::Script script_;
  Memory bells_;
  Memory memory_;
};

}  // namespace

TEST_CASE("A stamp is reached only by its own epoch") {
  using papcoll::make_stamp;
  using papcoll::reached;
  CHECK(reached(make_stamp(7, 3), 7, 3));
  CHECK(reached(make_stamp(7, 4), 7, 3));
  CHECK(!reached(make_stamp(7, 2), 7, 3));
  for (const std::uint32_t older : {6U, 3U, 0xffff'ffffU, 7U + 0x8000'0000U, 8U + 0x8000'0000U}) {
    CHECK(!reached(make_stamp(older, 9), 7, 0));
  }
  CHECK(reached(make_stamp(0xffff'ffffU, 0xffff'ffffU), 0xffff'ffffU, 0xffff'ffffU));
}

TEST_CASE("A failure is not that of the call with the same epoch, 2^32 calls later") {
  using Base = papcoll::CallFrame<NodeBoard, Doorbells>;
  struct Frame : Base {
    Frame(const NodeBoard& board, const Doorbells& bells) : Base(board, bells, 0, 1) {}
    void begin_as(std::uint32_t epoch) {
      epoch_ = epoch - 1;
      begin_epoch({});
    }
  };
  Memory bells{Doorbells::bytes(1)};
  Memory memory{NodeBoard::bytes(1, explore::chunk_bytes)};
  Doorbells::initialise(bells.data(), 1);
  NodeBoard board{memory.data(), 1, explore::chunk_bytes};
  board.initialise(1);
  Frame frame{board, Doorbells{bells.data(), 1}};
  frame.begin_as(5);
  frame.fail_with("on purpose");
  CHECK(frame.failed());
  CHECK(frame.failure_text() == "on purpose");
  frame.begin_as(0);
  frame.begin_as(5);
  CHECK(!frame.failed());
  CHECK(!frame.is_failing());
  frame.fail_with("once more");
  CHECK(frame.failure_text() == "once more");
}

TEST_CASE("Epochs are compared across the wrap") {
  CHECK(papcoll::epoch_reached(2, 0xffff'fffeU));
  CHECK(!papcoll::epoch_reached(0xffff'fffeU, 2));
  CHECK(papcoll::epoch_reached(5, 5));
}

TEST_CASE("The parts of a board do not overlap") {
  for (const int ranks : {1, 2, 7}) {
    const std::size_t chunk = 128;
    Memory memory{NodeBoard::bytes(ranks, chunk)};
    const NodeBoard board{memory.data(), ranks, chunk};
    std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>> parts;
    const auto add = [&](const void* at, std::size_t bytes) {
      const std::ptrdiff_t from = static_cast<const std::byte*>(at) - memory.data();
      CHECK(from % static_cast<std::ptrdiff_t>(papcoll::cache_line) == 0);
      parts.emplace_back(from, from + static_cast<std::ptrdiff_t>(bytes));
    };
    add(&board.abort(), sizeof(NodeBoard::Abort));
    for (int r = 0; r < ranks; ++r) add(&board.left(r), sizeof(NodeBoard::Left));
    for (std::uint32_t e = 0; e < NodeBoard::frames; ++e) {
      add(&board.claim(e), sizeof(NodeBoard::Claim));
      add(&board.release(e), sizeof(NodeBoard::Header));
      add(&board.failure(e), sizeof(NodeBoard::Failure));
      for (int r = 0; r < ranks; ++r) {
        add(&board.header(e, r), sizeof(NodeBoard::Header));
        add(&board.progress(e, r), sizeof(NodeBoard::Progress));
      }
      for (int r = 0; r <= ranks; ++r) {
        const std::uint32_t count = r == ranks ? NodeBoard::results : NodeBoard::buffers;
        for (std::uint32_t k = 0; k < count; ++k) add(board.buffer(e, r, k), chunk);
      }
    }
    std::sort(parts.begin(), parts.end());
    for (std::size_t i = 1; i < parts.size(); ++i) CHECK(parts[i - 1].second <= parts[i].first);
    CHECK(parts.front().first >= 0);
    CHECK(parts.back().second <= static_cast<std::ptrdiff_t>(NodeBoard::bytes(ranks, chunk)));
  }
}

TEST_CASE("Nobody enters a frame before all have left the call that used it") {
  Memory bells{Doorbells::bytes(2)};
  Doorbells::initialise(bells.data(), 2);
  Memory memory{NodeBoard::bytes(2, explore::chunk_bytes)};
  const NodeBoard board{memory.data(), 2, explore::chunk_bytes};
  const papcoll::Reducer reducer;
  std::deque<NodeSite> sites;
  for (int r = 0; r < 2; ++r) sites.emplace_back(board, Doorbells{bells.data(), 2}, r);
  for (int e = 1; e <= NodeBoard::frames; ++e) {
    sites[0].begin({}, reducer);
    REQUIRE(sites[0].enter());
    sites[0].leave();
  }
  sites[0].begin({}, reducer);
  CHECK(!sites[0].enter());
  sites[1].begin({}, reducer);
  CHECK(sites[1].enter());
  CHECK(!sites[0].enter());
  sites[1].leave();
  CHECK(sites[0].enter());
}

namespace {

struct TwoRanks {
  Memory bells{Doorbells::bytes(2)};
  Memory memory{NodeBoard::bytes(2, explore::chunk_bytes)};
  NodeBoard board{memory.data(), 2, explore::chunk_bytes};
  papcoll::Reducer reducer;
  NodeSite zero{board, bells_of_two(), 0};
  NodeSite one{board, bells_of_two(), 1};

  Doorbells bells_of_two() {
    Doorbells::initialise(bells.data(), 2);
    return {bells.data(), 2};
  }
};

}  // namespace

TEST_CASE("A mismatch is described with both calls") {
  TwoRanks ranks;
  auto& [bells, memory, board, reducer, zero, one] = ranks;
  zero.begin(papcoll::CallWords::of(5, papcoll::Collective::reduce, 0, 1, 0), reducer);
  one.begin({6, static_cast<std::uint64_t>(papcoll::Collective::allreduce)}, reducer);
  zero.announce(nullptr, 0, 0);
  one.compare_calls();
  REQUIRE(one.failed());
  CHECK(zero.failed());
  CHECK(zero.failure_text().find("rank 0 called reduce of 5 elements with root 1") !=
        std::string::npos);
  CHECK(zero.failure_text().find("rank 1 called allreduce of 6 elements") != std::string::npos);
  one.fail_with("too late");
  CHECK(zero.failure_text().find("too late") == std::string::npos);
  one.announce(nullptr, 0, 0);
  zero.leave();
  one.leave();
  zero.begin({}, reducer);
  CHECK(!zero.failed());
}

TEST_CASE("A rank whose call ends before a fault has its text hears of it later") {
  TwoRanks ranks;
  auto& [bells, memory, board, reducer, zero, one] = ranks;
  zero.begin({5, 0}, reducer);
  one.begin({6, 0}, reducer);
  zero.announce(nullptr, 0, 0);
  one.announce(nullptr, 0, 0);
  board.failure(one.epoch()).stamp = papcoll::make_stamp(one.epoch(), 1);  // one is stopped here
  zero.compare_calls();
  CHECK(!zero.failed());
  zero.leave();
  one.leave();
  for (int call = 1; call < NodeBoard::frames; ++call) {
    for (NodeSite* site : {&zero, &one}) {
      site->begin({}, reducer);
      REQUIRE(site->enter());
      site->leave();
    }
  }
  zero.begin({}, reducer);
  REQUIRE(zero.enter());
  CHECK(!zero.last_in_frame_matched());
}

TEST_CASE("Ranks that wait for nobody leave at once") {
  constexpr auto dynamic_leader = explore::explored<papcoll::DynamicLeader, papcoll::LeaderFan>;
  constexpr auto static_leader = explore::explored<papcoll::StaticLeader, papcoll::LeaderFan>;
  constexpr auto exchange = explore::explored<papcoll::StaticOrder, papcoll::Exchange>;
  using papcoll::Collective;
  const explore::Script script{2,
                               {{exchange, Collective::bcast, 3, 0},
                                {dynamic_leader, Collective::bcast, 64, 0},
                                {exchange, Collective::reduce, 3, 1},
                                {static_leader, Collective::reduce, 64, 1}}};
  Memory bells{Doorbells::bytes(2)};
  Doorbells::initialise(bells.data(), 2);
  Memory memory{NodeBoard::bytes(2, explore::chunk_bytes)};
  NodeSite site{NodeBoard{memory.data(), 2, explore::chunk_bytes}, Doorbells{bells.data(), 2}, 0};
  for (std::size_t i = 0; i < script.calls.size(); ++i) {
    explore::Buffers buffers{script.calls[i], i, 0, 2};
    const papcoll::Call call = buffers.prepare();
    CAPTURE(script.calls[i].describe());
    explore::make_call(site, script.calls[i], call, false, [](auto&& ready) { REQUIRE(ready()); });
    CHECK(explore::problem_of(script, i, 0, buffers, true, false, NodeBoard::frames) == "");
  }
}

namespace {

struct CountedBells {
  int* rings;
  void ring(int) noexcept { ++*rings; }
  void ring_all() noexcept { ++*rings; }
};

/// Makes a call of two ranks in turns; do both ring when they leave?
template <class Run>
void check_rings_on_leaving(const explore::CallSpec& spec) {
  CAPTURE(spec.describe());
  Memory memory{NodeBoard::bytes(2, explore::chunk_bytes)};
  const NodeBoard board{memory.data(), 2, explore::chunk_bytes};
  int rings = 0;
  std::deque<papcoll::BasicNodeSite<NodeBoard, CountedBells>> sites;
  std::deque<explore::Buffers> buffers;
  std::deque<papcoll::Call> calls;
  std::array<Run, 2> runs{};
  for (int r = 0; r < 2; ++r) {
    sites.emplace_back(board, CountedBells{&rings}, r);
    calls.push_back(buffers.emplace_back(spec, 0, r, 2).prepare());
  }
  for (std::size_t r = 0; r < 2; ++r) {
    sites[r].begin({}, calls[r].reducer);
    REQUIRE(sites[r].enter());
  }
  std::array<bool, 2> done{};
  for (int turn = 0; turn < 100; ++turn) {
    for (std::size_t r = 0; r < 2; ++r) done[r] = done[r] || runs[r].step(sites[r], calls[r]);
  }
  REQUIRE(done == std::array<bool, 2>{true, true});
  for (auto& site : sites) {
    rings = 0;
    site.leave();
    CHECK(rings == 1);
  }
}

}  // namespace

TEST_CASE("Ranks that may have read a pool ring when they leave") {
  using papcoll::Collective;
  for (const explore::Algorithm a : explore::algorithms()) {
    if (!a.lends_buffers()) continue;
    explore::with_run_of(a, [&]<class Run>() {
      for (const Collective c : {Collective::bcast, Collective::reduce}) {
        for (const int root : {0, 1}) {
          if (a.serves(c)) check_rings_on_leaving<Run>({a, c, 54, root});
        }
      }
    });
  }
}

TEST_CASE("Mixed collectives on threads") {
  for (const int ranks : {2, 3, 4, 8}) {
    explore::RandomCalls random{static_cast<std::uint64_t>(ranks)};
    const explore::Script script{ranks, random.calls(ranks, 1000, 7), {}, 0xffff'fe00U};
    Threads threads{script};
    CHECK(threads.run() == "");
  }
}

TEST_CASE("Calls that do not match on threads") {
  for (const int ranks : {2, 4, 7}) {
    explore::RandomCalls random{static_cast<std::uint64_t>(ranks) + 100};
    explore::Script script{ranks, random.calls(ranks, 300, 7), {}, 0xffff'ff80U};
    for (std::size_t i = 0; i < script.calls.size(); i += 3) {
      explore::CallSpec wrong = script.calls[i];
      if (random.draw(2) == 0) {
        wrong.invalid = true;
      } else {
        wrong = random.call(ranks, 7);
        wrong.count = 11;
      }
      script.deviations.push_back({static_cast<int>(random.draw(3)) % ranks, i, wrong});
    }
    Threads threads{script};
    CHECK(threads.run() == "");
  }
}
