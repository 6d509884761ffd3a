// SPDX-License-Identifier: BSD-3-Clause
// The control block of a node: its layout, its tagged counts, and its algorithms on threads that
// are delayed at random. One file, since all cases share one team of threads.

#include "catch.hpp"
#include "explore/calls.hpp"
#include "explore/script.hpp"
#include "explore/scripts.hpp"
#include "sanitizer.hpp"

#include <papcoll/base/config.hpp>
#include <papcoll/error.hpp>
#include <papcoll/node/control_block.hpp>
#include <papcoll/node/node.hpp>
#include <papcoll/node/node_context.hpp>
#include <papcoll/node/waiting/doorbells.hpp>
#include <papcoll/node/waiting/waiter.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sched.h>
#include <sys/mman.h>

using papcoll::Doorbells;
using papcoll::NodeContext;
using papcoll::NodeControlBlock;

namespace {

struct alignas(papcoll::cache_line) Line {
  std::byte bytes[papcoll::cache_line];
};

/// Zeroed memory, aligned as control blocks and bells want it.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : lines_(bytes / sizeof(Line) + 1) {}
  std::byte* data() { return lines_.data()->bytes; }

 private:
  std::vector<Line> lines_;
};

/// A control block whose chunk buffers no rank may touch before one has reserved them: else a
/// signal ends the test.
class GuardedControlBlock {
 public:
  GuardedControlBlock(int ranks, std::size_t chunk)
      : words_(NodeControlBlock::words_bytes(ranks)),
        bytes_(papcoll::detail::chunk_buffers_bytes(ranks, chunk)),
        buffers_(mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        chunk_(chunk),
        owned_(static_cast<std::size_t>(ranks)) {
    REQUIRE(buffers_ != MAP_FAILED);
    for (int r = 0; r < ranks; ++r) {
      papcoll::Node& node = nodes_.emplace_back();
      node.rank = r;
      node.size = ranks;
      node.control = words_.data();
      node.buffers = static_cast<std::byte*>(buffers_);
      node.pages = {nullptr, &sides_.emplace_back(*this, r)};
    }
  }
  GuardedControlBlock(const GuardedControlBlock&) = delete;
  GuardedControlBlock& operator=(const GuardedControlBlock&) = delete;
  ~GuardedControlBlock() { munmap(buffers_, bytes_); }

  papcoll::Node& node(int r) { return nodes_[static_cast<std::size_t>(r)]; }
  NodeControlBlock control_block() const {
    return papcoll::detail::control_block_of(nodes_.front(), chunk_);
  }
  void refuse(bool yes) { refuses_ = yes; }
  std::size_t reserved() const { return reserved_; }
  /// How often that rank has reserved its own buffers, and how often others have.
  int by_owner(int r) const { return owned_[static_cast<std::size_t>(r)]; }
  int by_others() const { return by_others_; }

 private:
  /// As a rank reserves them.
  class Side final : public papcoll::NodePages {
   public:
    Side(GuardedControlBlock& all, int rank) : all_(all), rank_(rank) {}

    void reserve(const std::byte* at, std::size_t bytes) const override {
      if (all_.refuses_) throw papcoll::system_error("no room", ENOSPC);
      const std::size_t page = papcoll::detail::page_bytes();
      const auto begin = reinterpret_cast<std::uintptr_t>(at) / page * page;
      const auto end = (reinterpret_cast<std::uintptr_t>(at) + bytes + page - 1) / page * page;
      if (mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) != 0) {
        throw papcoll::system_error("mprotect", errno);
      }
      all_.reserved_ += bytes;
      const NodeControlBlock control = all_.control_block();
      for (int r = 0; r < control.ranks(); ++r) {
        if (at != control.chunk_buffer(0, r, 0)) continue;
        ++(r == rank_ ? all_.owned_[static_cast<std::size_t>(r)] : all_.by_others_);
      }
    }

   private:
    GuardedControlBlock& all_;
    int rank_;
  };

  Memory words_;
  std::size_t bytes_;
  void* buffers_;
  std::size_t chunk_;
  std::deque<papcoll::Node> nodes_;
  std::deque<Side> sides_;
  std::vector<std::atomic<int>> owned_;
  std::atomic<int> by_others_{0};
  std::atomic<std::size_t> reserved_{0};
  std::atomic<bool> refuses_{false};
};

/// Threads as ranks of one node, over a control block and bells.
class Threads {
 public:
  explicit Threads(explore::Script script, std::size_t chunk = explore::chunk_bytes)
      : script_(std::move(script)),
        bells_(Doorbells::bytes(script_.ranks)),
        guarded_(script_.ranks, chunk) {
    for (int r = 0; r < script_.ranks && script_.reach == explore::Reach::chunk_buffers; ++r) {
      guarded_.node(r).peers = papcoll::PeerMemory{guarded_.node(r).control, 0, {}};
    }
    Doorbells::initialise(bells_.data(), script_.ranks);
    control_block().initialise(script_.first_epoch);
  }

  const GuardedControlBlock& pages() const { return guarded_; }

  /// What was wrong on some rank; empty if nothing was.
  std::string run() {
    std::vector<std::string> problems(static_cast<std::size_t>(script_.ranks));
    // Late ranks may still read the pool of one that is through with the last call.
    std::vector<std::unique_ptr<NodeContext>> contexts(problems.size());
    {
      std::vector<std::jthread> threads;
      for (int r = 0; r < script_.ranks; ++r) {
        threads.emplace_back(
            [this, r, &problems, &context = contexts[static_cast<std::size_t>(r)]] {
              context = std::make_unique<NodeContext>(control_block(),
                                                      Doorbells{bells_.data(), script_.ranks}, r,
                                                      script_.first_epoch, &guarded_.node(r));
              problems[static_cast<std::size_t>(r)] = run_rank(r, *context);
            });
      }
    }
    for (const std::string& p : problems) {
      if (!p.empty()) return p;
    }
    return {};
  }

 private:
  NodeControlBlock control_block() { return guarded_.control_block(); }

  std::string run_rank(int rank, NodeContext& context) {
    Doorbells bells{bells_.data(), script_.ranks};
    papcoll::Waiter waiter;
    waiter.bells = &bells;
    waiter.rank = rank;
    waiter.oversubscribed = true;
    waiter.times.yielding = std::chrono::microseconds{5};
    std::minstd_rand random{static_cast<unsigned>(rank) + 1};
    std::string problem;
    constexpr std::size_t epoch_slots = NodeControlBlock::epoch_slots;
    std::array<bool, epoch_slots> complete_before{};  // the last call in each epoch slot
    for (std::size_t i = 0; i < script_.calls.size(); ++i) {
      const explore::CallSpec& spec = script_.call_of(rank, i);
      explore::Buffers buffers{spec, i, rank, script_.ranks};
      const papcoll::Call call = buffers.prepare();
      if (random() % 8 == 0) delay(random);
      const bool complete = explore::make_call(context, spec, call,
                                               script_.may_fail(i, epoch_slots), [&](auto&& ready) {
                                                 waiter.until([&] {
                                                   if (random() % 16 == 0) delay(random);
                                                   return ready();
                                                 });
                                               });
      if (!complete) {  // as a team does before its exception passes
        waiter.until([&] { return context.reader() < 0; }, papcoll::Naps::brief);
      }
      bool& before = complete_before[i % epoch_slots];
      if (problem.empty()) {
        problem = explore::problem_of(script_, i, rank, buffers, complete, before, epoch_slots);
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
  GuardedControlBlock guarded_;
};

}  // namespace

TEST_CASE("A tagged count is reached only by its own epoch") {
  using papcoll::make_tagged;
  using papcoll::reached;
  CHECK(reached(make_tagged(7, 3), 7, 3));
  CHECK(reached(make_tagged(7, 4), 7, 3));
  CHECK(!reached(make_tagged(7, 2), 7, 3));
  for (const std::uint32_t older : {6U, 3U, 0xffff'ffffU, 7U + 0x8000'0000U, 8U + 0x8000'0000U}) {
    CHECK(!reached(make_tagged(older, 9), 7, 0));
  }
  CHECK(reached(make_tagged(0xffff'ffffU, 0xffff'ffffU), 0xffff'ffffU, 0xffff'ffffU));
}

TEST_CASE("A failure is not that of the call with the same epoch, 2^32 calls later") {
  using Base = papcoll::CallLifecycle<NodeControlBlock, Doorbells>;
  struct Lifecycle : Base {
    Lifecycle(const NodeControlBlock& control, const Doorbells& bells)
        : Base(control, bells, 0, 1) {}
    void begin_as(std::uint32_t epoch) {
      epoch_ = epoch - 1;
      begin_epoch({});
    }
  };
  Memory bells{Doorbells::bytes(1)};
  Memory memory{NodeControlBlock::bytes(1, explore::chunk_bytes)};
  Doorbells::initialise(bells.data(), 1);
  NodeControlBlock control{memory.data(), 1, explore::chunk_bytes};
  control.initialise(1);
  Lifecycle lifecycle{control, Doorbells{bells.data(), 1}};
  lifecycle.begin_as(5);
  lifecycle.fail_with("on purpose");
  CHECK(lifecycle.failed());
  CHECK(lifecycle.failure_text() == "on purpose");
  lifecycle.begin_as(0);
  lifecycle.begin_as(5);
  CHECK(!lifecycle.failed());
  CHECK(!lifecycle.is_failing());
  lifecycle.fail_with("once more");
  CHECK(lifecycle.failure_text() == "once more");
}

TEST_CASE("Epochs are compared across the wrap") {
  CHECK(papcoll::epoch_reached(2, 0xffff'fffeU));
  CHECK(!papcoll::epoch_reached(0xffff'fffeU, 2));
  CHECK(papcoll::epoch_reached(5, 5));
}

TEST_CASE("The parts of a control block do not overlap") {
  const int ranks = GENERATE(1, 2, 7);
  const std::size_t page = GENERATE(as<std::size_t>{}, papcoll::cache_line, 4096);
  for (const std::size_t chunk : {64UL, 128UL, 8192UL}) {
    CAPTURE(ranks, page, chunk);
    const std::size_t words = (NodeControlBlock::words_bytes(ranks) + page - 1) / page * page;
    const std::size_t bytes = words + NodeControlBlock::buffers_bytes(ranks, chunk, page);
    Memory memory{bytes};
    const NodeControlBlock control{memory.data(), memory.data() + words, ranks, chunk, page};
    std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>> parts;
    std::set<std::size_t> result_pages;
    const auto add = [&](const void* at, std::size_t size) {
      const std::ptrdiff_t from = static_cast<const std::byte*>(at) - memory.data();
      CHECK(from % static_cast<std::ptrdiff_t>(papcoll::cache_line) == 0);
      parts.emplace_back(from, from + static_cast<std::ptrdiff_t>(size));
    };
    add(&control.abort(), sizeof(NodeControlBlock::Abort));
    for (int r = 0; r < ranks; ++r) {
      add(&control.left(r), sizeof(NodeControlBlock::Left));
      add(&control.reading(r), sizeof(NodeControlBlock::Reading));
      add(&control.arrivals(r), sizeof(NodeControlBlock::Arrivals));
      add(&control.processors(r), sizeof(NodeControlBlock::Processors));
      add(&control.chunk_buffers_reserved(r), sizeof(NodeControlBlock::Reserved));
    }
    for (std::uint32_t e = 0; e < NodeControlBlock::epoch_slots; ++e) {
      add(&control.claim(e), sizeof(NodeControlBlock::Claim));
      add(&control.release(e), sizeof(NodeControlBlock::Header));
      add(&control.failure(e), sizeof(NodeControlBlock::Failure));
      add(&control.tickets(e), sizeof(NodeControlBlock::Tickets));
      add(&control.result_buffer_reserved(e, 0),
          NodeControlBlock::results * sizeof(NodeControlBlock::Reserved));
      add(&control.holder(e, 0),
          static_cast<std::size_t>(ranks) * sizeof(NodeControlBlock::Holder));
      add(&control.work(e, 0),
          NodeControlBlock::work_words(ranks) * sizeof(NodeControlBlock::WorkWord));
      for (int r = 0; r < ranks; ++r) {
        add(&control.header(e, r), sizeof(NodeControlBlock::Header));
        add(&control.progress(e, r), sizeof(NodeControlBlock::Progress));
      }
      for (int r = 0; r < ranks; ++r) {
        for (std::uint32_t k = 0; k < NodeControlBlock::buffers; ++k)
          add(control.chunk_buffer(e, r, k), chunk);
        for (std::uint32_t k = 0; k < NodeControlBlock::buffers; k += 2) {
          CHECK(control.chunk_buffer(e, r, k + 1) == control.chunk_buffer(e, r, k) + chunk);
        }
      }
      for (std::uint32_t k = 0; k < NodeControlBlock::results; ++k) {
        add(control.result_buffer(e, k), chunk);
        // No two are on one page, nor is another's on theirs.
        const auto page_of = [&](const std::byte* at) {
          return (static_cast<std::size_t>(at - memory.data()) - words) / page;
        };
        CHECK(result_pages.insert(page_of(control.result_buffer(e, k))).second);
        if (chunk > page)
          CHECK(result_pages.insert(page_of(control.result_buffer(e, k) + chunk - 1)).second);
      }
    }
    // Each rank's buffers are whole pages of their own.
    for (int r = 0; r <= ranks; ++r) {
      const std::byte* const first =
          r < ranks ? control.chunk_buffer(0, r, 0) : control.result_buffer(0, 0);
      CHECK(first == control.chunk_buffer(0, 0, 0) +
                         static_cast<std::size_t>(r) * control.rank_buffers_bytes());
    }
    CHECK(control.rank_buffers_bytes() % page == 0);
    CHECK(control.rank_buffers_bytes() >=
          NodeControlBlock::epoch_slots * NodeControlBlock::buffers * chunk);
    std::sort(parts.begin(), parts.end());
    for (std::size_t i = 1; i < parts.size(); ++i) CHECK(parts[i - 1].second <= parts[i].first);
    CHECK(parts.front().first >= 0);
    CHECK(parts.back().second <= static_cast<std::ptrdiff_t>(bytes));
    if (page == papcoll::cache_line) CHECK(bytes == NodeControlBlock::bytes(ranks, chunk));
  }
}

TEST_CASE("Nobody enters an epoch slot before all have left the call that used it") {
  Memory bells{Doorbells::bytes(2)};
  Doorbells::initialise(bells.data(), 2);
  Memory memory{NodeControlBlock::bytes(2, explore::chunk_bytes)};
  const NodeControlBlock control{memory.data(), 2, explore::chunk_bytes};
  const papcoll::Reducer reducer;
  std::deque<NodeContext> contexts;
  for (int r = 0; r < 2; ++r) contexts.emplace_back(control, Doorbells{bells.data(), 2}, r);
  for (int e = 1; e <= NodeControlBlock::epoch_slots; ++e) {
    contexts[0].begin({}, reducer);
    REQUIRE(contexts[0].enter());
    contexts[0].leave();
  }
  contexts[0].begin({}, reducer);
  CHECK(!contexts[0].enter());
  contexts[1].begin({}, reducer);
  CHECK(contexts[1].enter());
  CHECK(!contexts[0].enter());
  contexts[1].leave();
  CHECK(contexts[0].enter());
}

namespace {

struct TwoRanks {
  Memory bells{Doorbells::bytes(2)};
  Memory memory{NodeControlBlock::bytes(2, explore::chunk_bytes)};
  NodeControlBlock control{memory.data(), 2, explore::chunk_bytes};
  papcoll::Reducer reducer;
  NodeContext zero{control, bells_of_two(), 0};
  NodeContext one{control, bells_of_two(), 1};

  Doorbells bells_of_two() {
    Doorbells::initialise(bells.data(), 2);
    return {bells.data(), 2};
  }
};

}  // namespace

TEST_CASE("A mismatch is described with both calls") {
  TwoRanks ranks;
  auto& [bells, memory, control, reducer, zero, one] = ranks;
  zero.begin(papcoll::CallFingerprint::of(5, papcoll::Collective::reduce, 0, 1, 0), reducer);
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
  auto& [bells, memory, control, reducer, zero, one] = ranks;
  zero.begin({5, 0}, reducer);
  one.begin({6, 0}, reducer);
  zero.announce(nullptr, 0, 0);
  one.announce(nullptr, 0, 0);
  control.failure(one.epoch()).state = papcoll::make_tagged(one.epoch(), 1);  // one is stopped here
  zero.compare_calls();
  CHECK(!zero.failed());
  zero.leave();
  one.leave();
  for (int call = 1; call < NodeControlBlock::epoch_slots; ++call) {
    for (NodeContext* context : {&zero, &one}) {
      context->begin({}, reducer);
      REQUIRE(context->enter());
      context->leave();
    }
  }
  zero.begin({}, reducer);
  REQUIRE(zero.enter());
  CHECK(!zero.earlier_call_matched());
}

TEST_CASE("Calls that differ unnoticed are told of when their epoch slot's turn comes") {
  TwoRanks ranks;
  NodeContext& zero = ranks.zero;
  NodeContext& one = ranks.one;
  const auto call = [&ranks](NodeContext& context, std::size_t count) {
    context.begin(papcoll::CallFingerprint::of(count, papcoll::Collective::scan, 0, 0, 0),
                  ranks.reducer);
    REQUIRE(context.enter());
    const bool matched = context.earlier_call_matched();
    context.announce(nullptr, 0, 0);
    const std::string text = context.failed() ? context.failure_text() : "";
    context.leave();
    CHECK(matched == text.empty());
    return text;
  };
  // The fifth call compares all four before it: in the third and fourth the ranks differ.
  for (const std::size_t count : {7U, 7U, 8U, 9U}) {
    CHECK(call(zero, 7).empty());
    CHECK(call(one, count).empty());
  }
  for (int round = 0; round < 2; ++round) {
    for (const bool fails : {false, false, round == 0, round == 0}) {
      const std::string text = call(zero, 7);
      CHECK((text.find("4 calls ago") != std::string::npos) == fails);
      CHECK(call(one, 7).empty() == !fails);  // it hears of it, or finds it, too
    }
  }
}

namespace {

/// Three ranks that make calls of which each only announces itself.
struct ThreeRanks {
  Memory bells{Doorbells::bytes(3)};
  Memory memory{NodeControlBlock::bytes(3, explore::chunk_bytes)};
  NodeControlBlock control{memory.data(), 3, explore::chunk_bytes};
  papcoll::Reducer reducer;
  std::deque<NodeContext> contexts;

  ThreeRanks() {
    Doorbells::initialise(bells.data(), 3);
    for (int r = 0; r < 3; ++r) contexts.emplace_back(control, Doorbells{bells.data(), 3}, r);
  }
  NodeContext& begin(int r, const papcoll::CallFingerprint& fingerprint) {
    NodeContext& context = contexts[static_cast<std::size_t>(r)];
    context.begin(fingerprint, reducer);
    REQUIRE(context.enter());
    return context;
  }
  /// What rank r throws, or nothing; it waits for nobody.
  std::string call(int r, const papcoll::CallFingerprint& fingerprint) {
    NodeContext& context = begin(r, fingerprint);
    const bool matched = context.earlier_call_matched();
    context.announce(nullptr, 0, 0);
    const std::string text = matched ? "" : context.failure_text();
    context.leave();
    return text;
  }
};

papcoll::CallFingerprint gatherv() {
  return papcoll::CallFingerprint::of(papcoll::CallFingerprint::local_counts,
                                      papcoll::Collective::gather, 0, 0, 0);
}
papcoll::CallFingerprint gather_of(std::size_t count) {
  return papcoll::CallFingerprint::of(count, papcoll::Collective::gather, 0, 0, 0);
}

}  // namespace

TEST_CASE("A mismatch that is told by the failure word is not told again") {
  ThreeRanks ranks;
  CHECK(ranks.call(1, gatherv()).empty());  // leaves, and another one finds that calls differ
  NodeContext& two = ranks.begin(2, gather_of(9));
  two.announce(nullptr, 0, 0);
  NodeContext& zero = ranks.begin(0, gatherv());
  zero.announce(nullptr, 0, 0);
  zero.compare_calls();
  for (NodeContext* context : {&zero, &two}) {
    REQUIRE(context->failed());
    context->failure_text();
    context->leave();
  }
  for (int call = 1; call < 3 * NodeControlBlock::epoch_slots; ++call) {
    for (const int r : {2, 1, 0}) {
      CHECK(ranks.call(r, gather_of(7)).empty() == (call != NodeControlBlock::epoch_slots));
    }
  }
}

TEST_CASE("All hear in one call that lengths differed, also who knew it and comes first") {
  ThreeRanks ranks;
  CHECK(ranks.call(1, gatherv()).empty());
  CHECK(ranks.call(2, gatherv()).empty());
  NodeContext& zero = ranks.begin(0, gatherv());
  zero.fail_with("counts do not match");
  zero.announce(nullptr, 0, 0);
  zero.failure_text();
  zero.leave();
  for (int call = 1; call < 3 * NodeControlBlock::epoch_slots; ++call) {
    for (const int r : {0, 1, 2}) {
      const std::string text = ranks.call(r, gather_of(7));
      if (call == NodeControlBlock::epoch_slots) {
        CHECK(text ==
              "this call was not performed, because blocking call 1, 4 calls ago, failed: counts "
              "do not match");
      } else {
        CHECK(text.empty());
      }
    }
  }
}

TEST_CASE("Each failure is that of its own call, after every other in the same epoch slot") {
  enum class Earlier { fine, fine_of_own_counts, fails_when_some_have_left };
  enum class Later { fine, one_refuses, all_refuse, differs };
  for (const Earlier earlier :
       {Earlier::fine, Earlier::fine_of_own_counts, Earlier::fails_when_some_have_left}) {
    for (const Later later : {Later::fine, Later::one_refuses, Later::all_refuse, Later::differs}) {
      for (const std::array<int, 3>& order : {std::array{1, 2, 0}, std::array{0, 2, 1}}) {
        CAPTURE(earlier, later, order);
        const bool fails = earlier == Earlier::fails_when_some_have_left;
        const papcoll::CallFingerprint first = earlier == Earlier::fine ? gather_of(7) : gatherv();
        ThreeRanks ranks;
        CHECK(ranks.call(1, first).empty());
        CHECK(ranks.call(2, first).empty());
        NodeContext& zero = ranks.begin(0, first);
        if (fails) zero.fail_with("counts do not match");
        zero.announce(nullptr, 0, 0);
        if (fails) zero.failure_text();
        zero.leave();
        for (int call = 1; call < NodeControlBlock::epoch_slots; ++call) {
          for (const int r : order) CHECK(ranks.call(r, gather_of(7)).empty());
        }

        papcoll::CallFingerprint invalid;
        invalid.packed = papcoll::CallFingerprint::invalid;
        for (const int r : order) {
          const bool refuses =
              later == Later::all_refuse || (later == Later::one_refuses && r == 1);
          const std::size_t count = later == Later::differs && r == 2 ? 8 : 7;
          NodeContext& context = ranks.begin(r, refuses ? invalid : gather_of(count));
          CHECK(context.earlier_call_matched() == !fails);
          if (refuses) context.fail_with("a call is invalid");
          context.announce(nullptr, 0, 0);
        }
        ranks.contexts[0].compare_calls();
        for (NodeContext& context : ranks.contexts) {
          CHECK(context.failed() == (fails || later != Later::fine));
          const std::string text = context.failed() ? context.failure_text() : "";
          CHECK((text.find("blocking call 1, 4 calls ago, failed: counts do not match") !=
                 std::string::npos) == fails);
          if (later == Later::all_refuse && !fails) CHECK(text == "a call is invalid");
          CHECK((text.find("this call was not performed") == 0) == fails);
          context.leave();
        }
        for (const int r : order) CHECK(ranks.call(r, gather_of(7)).empty());
      }
    }
  }
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
  Memory memory{NodeControlBlock::bytes(2, explore::chunk_bytes)};
  NodeContext context{NodeControlBlock{memory.data(), 2, explore::chunk_bytes},
                      Doorbells{bells.data(), 2}, 0};
  for (std::size_t i = 0; i < script.calls.size(); ++i) {
    explore::Buffers buffers{script.calls[i], i, 0, 2};
    const papcoll::Call call = buffers.prepare();
    CAPTURE(script.calls[i].describe());
    explore::make_call(context, script.calls[i], call, false,
                       [](auto&& ready) { REQUIRE(ready()); });
    CHECK(explore::problem_of(script, i, 0, buffers, true, false, NodeControlBlock::epoch_slots) ==
          "");
  }
}

namespace {

struct CountedBells {
  int* rings;
  void ring(int) noexcept { ++*rings; }
  void ring_all() noexcept { ++*rings; }
};

/// Makes a call of two ranks in turns; do both ring when they leave?
template <class Run> void check_rings_on_leaving(const explore::CallSpec& spec) {
  CAPTURE(spec.describe());
  Memory memory{NodeControlBlock::bytes(2, explore::chunk_bytes)};
  const NodeControlBlock control{memory.data(), 2, explore::chunk_bytes};
  int rings = 0;
  std::deque<papcoll::BasicNodeContext<NodeControlBlock, CountedBells>> contexts;
  std::deque<explore::Buffers> buffers;
  std::deque<papcoll::Call> calls;
  std::array<Run, 2> runs{};
  for (int r = 0; r < 2; ++r) {
    contexts.emplace_back(control, CountedBells{&rings}, r);
    calls.push_back(buffers.emplace_back(spec, 0, r, 2).prepare());
  }
  for (std::size_t r = 0; r < 2; ++r) {
    contexts[r].begin({}, calls[r].reducer);
    REQUIRE(contexts[r].enter());
  }
  std::array<bool, 2> done{};
  for (int turn = 0; turn < 100; ++turn) {
    for (std::size_t r = 0; r < 2; ++r) done[r] = done[r] || runs[r].step(contexts[r], calls[r]);
  }
  REQUIRE(done == std::array<bool, 2>{true, true});
  for (auto& context : contexts) {
    rings = 0;
    context.leave();
    CHECK(rings == 1);
  }
}

}  // namespace

TEST_CASE("Ranks that may have read a pool ring when they leave") {
  using papcoll::Collective;
  for (const explore::Algorithm a : explore::algorithms()) {
    if (!a.exposes_buffers()) continue;
    explore::with_run_of(a, [&]<class Run>() {
      for (const Collective c : {Collective::bcast, Collective::reduce}) {
        for (const int root : {0, 1}) {
          if (a.serves(c)) check_rings_on_leaving<Run>({a, c, 54, root});
        }
      }
    });
  }
}

TEST_CASE("Mixed collectives on threads, whose chunk buffers get pages when they are first used") {
  for (const int ranks : {2, 3, 4, 8}) {
    for (const auto reach : {explore::Reach::all, explore::Reach::chunk_buffers}) {
      explore::RandomCalls random{static_cast<std::uint64_t>(ranks)};
      const explore::Script script{
          ranks, random.calls(ranks, under_tsan ? 300 : 1000, 7), {}, 0xffff'fe00U, 0, reach};
      Threads threads{script};
      CHECK(threads.run() == "");
      CHECK(threads.pages().reserved() > 0);
    }
  }
}

TEST_CASE("Chunk buffers get their pages from the rank whose they are") {
  using papcoll::Collective;
  constexpr std::size_t chunk = 1024;
  constexpr std::size_t elements = chunk / sizeof(explore::Sum);
  for (const explore::Algorithm a : explore::algorithms()) {
    for (const Collective c : {Collective::allreduce, Collective::reduce, Collective::bcast,
                               Collective::allgather, Collective::reduce_scatter}) {
      if (!a.serves(c)) continue;
      for (const int ranks : {1, 2, 4, 5}) {
        if (under_tsan && ranks < 4) continue;
        // The longest has more chunks than there are results.
        for (const std::size_t count : {elements / 2, 2 * elements, 40 * elements}) {
          const std::vector<explore::CallSpec> calls(6, {a, c, count, ranks / 2});
          Threads threads{{ranks, calls, {}, 1, 0, explore::Reach::chunk_buffers}, chunk};
          CAPTURE(calls.front().describe(), ranks);
          CHECK(threads.run() == "");
          CHECK(threads.pages().by_others() == 0);
          for (int r = 0; r < ranks; ++r) CHECK(threads.pages().by_owner(r) <= 1);
        }
      }
    }
  }
}

TEST_CASE("Calls whose payload travels in the header take no pages") {
  using papcoll::Collective;
  for (const explore::Algorithm a : {explore::explored<papcoll::DynamicLeader, papcoll::LeaderFan>,
                                     explore::explored<papcoll::StaticLeader, papcoll::LeaderFan>,
                                     explore::explored<papcoll::StaticOrder, papcoll::Exchange>}) {
    for (const Collective c :
         {Collective::allreduce, Collective::reduce, Collective::bcast, Collective::allgather}) {
      if (!a.serves(c)) continue;
      const std::vector<explore::CallSpec> calls(10, {a, c, 10, 1});
      Threads threads{{4, calls}};
      CAPTURE(calls.front().describe());
      CHECK(threads.run() == "");
      CHECK(threads.pages().reserved() == 0);
    }
  }
}

TEST_CASE("Pages that cannot be had are an exception, and asked for again") {
  Memory bells{Doorbells::bytes(2)};
  Doorbells::initialise(bells.data(), 2);
  GuardedControlBlock guarded{2, 100 * papcoll::cache_line};
  guarded.control_block().initialise(1);
  const papcoll::Reducer reducer;
  std::deque<NodeContext> contexts;
  for (int r = 0; r < 2; ++r) {
    contexts.emplace_back(guarded.control_block(), Doorbells{bells.data(), 2}, r, 1,
                          &guarded.node(r));
    contexts.back().begin({}, reducer);
    REQUIRE(contexts.back().enter());
  }
  guarded.refuse(true);
  CHECK_THROWS_AS(contexts[0].chunk_buffer(0, 1), papcoll::system_error);
  CHECK_THROWS_AS(contexts[0].result_buffer(1), papcoll::system_error);
  CHECK(guarded.reserved() == 0);
  contexts[0].expect(1, 0, 0, 64);
  guarded.refuse(false);
  *contexts[0].chunk_buffer(0, 1) = std::byte{1};
  CHECK(guarded.reserved() == guarded.control_block().rank_buffers_bytes());
  *contexts[0].result_buffer(1) = std::byte{1};
  *contexts[1].result_buffer(1) = std::byte{1};
  contexts[0].announce(nullptr, 0, 0);
  *contexts[1].chunk_buffer(0, 3) = std::byte{1};
  CHECK(guarded.reserved() ==
        guarded.control_block().rank_buffers_bytes() + guarded.control_block().chunk_bytes());
  contexts[1].expect(1, 0, 0, 64);
  CHECK(guarded.by_others() == 0);
  // Whoever writes to chunk buffers that their owner has not used gives them pages.
  *contexts[0].chunk_buffer(1, 0) = std::byte{1};
  *contexts[1].chunk_buffer(1, 3) = std::byte{1};
  CHECK(guarded.by_others() == 1);
  CHECK(guarded.by_owner(0) == 1);
  CHECK(guarded.by_owner(1) == 0);
}
