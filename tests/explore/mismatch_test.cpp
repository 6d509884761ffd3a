// SPDX-License-Identifier: BSD-3-Clause
// Ranks whose calls do not match. Whoever still waits throws, nobody's memory is half written, and
// the next call works.

#include "explorer.hpp"
#include "scripts.hpp"
#include "verdict.hpp"
#include "world.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace explore;

namespace {

constexpr Algorithm dynamic_leader = explored<papcoll::DynamicLeader, papcoll::LeaderFan>;
constexpr Algorithm exchange = explored<papcoll::StaticOrder, papcoll::Exchange>;
constexpr Algorithm multi_leader = explored<papcoll::StaticOrder, papcoll::MultiLeader>;

/// Other calls than `call` by which a rank may deviate.
std::vector<CallSpec> wrong_calls(const CallSpec& call, int ranks) {
  std::vector<CallSpec> wrong;
  CallSpec w = call;
  w.invalid = true;
  wrong.push_back(w);
  if (call.collective != Collective::barrier) {
    for (const std::size_t count : {2U, 21U, 90U}) {
      w = call;
      w.count = count;
      wrong.push_back(w);
    }
  }
  if (papcoll::is_rooted(call.collective)) {
    w = call;
    w.root = (call.root + 1) % ranks;
    wrong.push_back(w);
  }
  for (const Algorithm a : algorithms()) {
    if (a.exposes_buffers()) continue;
    for (const Collective c : {Collective::allreduce, Collective::reduce, Collective::bcast,
                               Collective::allgather, Collective::barrier}) {
      if ((a == call.algorithm && c == call.collective) || !a.serves(c)) continue;
      wrong.push_back({a, c, c == Collective::barrier ? 0 : call.count, call.root});
    }
  }
  wrong.push_back({multi_leader, Collective::allreduce, 80});
  if (!call.algorithm.exposes_buffers()) return wrong;
  // Those that find each other's tickets and work words.
  for (const Algorithm a : algorithms()) {
    if (a == call.algorithm || !a.exposes_buffers()) continue;
    for (const Collective c :
         {Collective::allreduce, Collective::reduce, Collective::bcast, Collective::allgather}) {
      if (a.serves(c)) wrong.push_back({a, c, call.count, call.root});
    }
  }
  return wrong;
}

std::vector<CallSpec> right_calls(int ranks) {
  std::vector<CallSpec> calls;
  for (const Algorithm a : algorithms()) {
    const auto add = [&](const CallSpec& call) {
      if (a.serves(call.collective)) calls.push_back(call);
    };
    for (const std::size_t count : {3U, 16U, 70U}) {
      add({a, Collective::allreduce, count, 0, true});
      add({a, Collective::reduce, count, ranks - 1, true});
      add({a, Collective::bcast, count, 0});
      add({a, Collective::allgather, count});
      add({a, Collective::reduce_scatter, count, 0, true});
      add({a, Collective::alltoall, count});
      add({a, Collective::gather, count, ranks - 1});
      add({a, Collective::scatter, count, ranks - 1});
      if (!a.serves(Collective::scan)) continue;
      add({a, Collective::exscan, count});
      CallSpec scan{a, Collective::scan, count, 0, true, true};
      add(scan);
      scan.reproducible = true;
      add(scan);
    }
    add({a, Collective::barrier, 0});
  }
  return calls;
}

template <class F> void for_all_mismatches(int ranks, F&& explore_script) {
  const CallSpec before{exchange, Collective::bcast, 3};
  const CallSpec after{dynamic_leader, Collective::allreduce, 20};
  for (const CallSpec& right : right_calls(ranks)) {
    for (const CallSpec& wrong : wrong_calls(right, ranks)) {
      if (wrong == right) continue;
      for (const int who : {0, ranks - 1}) {
        INFO(ranks << " ranks: " << right.describe() << "\nbut rank " << who << ": "
                   << wrong.describe() << (wrong.invalid ? ", invalid" : ""));
        explore_script(Script{ranks, {before, right, after}, {{who, 1, wrong}}});
      }
    }
  }
}

}  // namespace

TEST_CASE("A rank that still has to tell of a mismatch gives nothing in that call", "[explore]") {
  const CallSpec between{exchange, Collective::allgather, 3};
  const auto explore_calls = [&](const CallSpec& first, const CallSpec& second, Reach reach) {
    CallSpec wrong = first;
    --wrong.count;
    for (const int who : {0, 1, 2}) {
      Script script{3, {first, between, second, between, first}, {{who, 0, wrong}}};
      script.reach = reach;
      INFO(first.describe() << ", but on rank " << who << ", then " << second.describe());
      World<TightControlBlock> world{script};
      require_fine(random_walks(world, 5, 12));
    }
  };
  for (const Algorithm a : algorithms()) {
    for (const Collective c :
         {Collective::allreduce, Collective::reduce, Collective::bcast, Collective::allgather,
          Collective::reduce_scatter, Collective::alltoall, Collective::gather, Collective::scatter,
          Collective::scan, Collective::exscan}) {
      if (!a.serves(c)) continue;
      for (const Reach reach : {Reach::all, Reach::chunk_buffers, Reach::mixed}) {
        for (const std::size_t earlier : {3U, 70U}) {
          for (const std::size_t later : {16U, 70U}) {
            explore_calls({a, c, earlier, 0}, {a, c, later, 0}, reach);
          }
        }
      }
    }
  }
  constexpr Algorithm block_copies = explored<papcoll::StaticOrder, papcoll::BlockCopies>;
  for (const Collective c : {Collective::gather, Collective::scatter, Collective::alltoall}) {
    for (const std::size_t earlier : {3U, 16U, 38U}) {
      CallSpec irregular{block_copies, c, 16, 0};
      irregular.irregular = true;
      explore_calls({block_copies, c, earlier, 0}, irregular, Reach::all);
    }
  }
}

TEST_CASE("Two ranks whose calls do not match", "[explore]") {
  for_all_mismatches(2, [](const Script& script) {
    World<TightControlBlock> world{script};
    require_complete(depth_first(world, 0));
    require_fine(random_walks(world, 1, 20));
  });
}

TEST_CASE("Three ranks of which one makes another call", "[explore]") {
  for_all_mismatches(3, [](const Script& script) {
    World<TightControlBlock> world{script};
    require_fine(random_walks(world, 1, 20));
  });
}

// Whoever gives up has its buffers back when it sees no reader, and whoever reads has looked if the
// call has failed: each after it told the other.
TEST_CASE("Stores that are seen late where calls do not match", "[explore]") {
  for (const std::size_t most : {1U, 3U}) {
    const LazyStores lazy{most};
    INFO("so many stores of a rank are seen late: " << most);
    for (const int ranks : {2, 3}) {
      for_all_mismatches(ranks, [](const Script& script) {
        World<TightControlBlock, RealBells> world{script};
        require_fine(random_walks(world, 1, 10));
      });
    }
  }
}

TEST_CASE("Four ranks of which one in the middle makes another prefix reduction", "[explore]") {
  constexpr Algorithm prefix_runs = explored<papcoll::StaticOrder, papcoll::PrefixRuns>;
  for (const std::size_t count : {3U, 16U, 70U}) {
    for (const bool reproducible : {false, true}) {
      CallSpec right{prefix_runs, Collective::scan, count, 0, false, true};
      right.reproducible = reproducible;
      for (const CallSpec& wrong : wrong_calls(right, 4)) {
        INFO(right.describe() << "\nbut rank 1: " << wrong.describe());
        World<TightControlBlock> world{{4, {right, right}, {{1, 0, wrong}}}};
        require_fine(random_walks(world, 1, 100));
      }
    }
  }
}

TEST_CASE("Three ranks that make three different calls", "[explore]") {
  const CallSpec right{dynamic_leader, Collective::allreduce, 16};
  CallSpec shorter = right;
  shorter.count = 3;
  const CallSpec other{multi_leader, Collective::allreduce, 16};
  World<WideControlBlock> world{{3, {right, right, right}, {{1, 1, shorter}, {2, 1, other}}}};
  require_fine(random_walks(world, 1, 2000));
  require_complete(depth_first(world, 1, 1'000'000, DepthFirst::AtBlocks::cost_one));
}

// Nobody may wait for ever for what ranks that run another algorithm will never do, or take work
// words of that one for its own.
TEST_CASE("Half of the ranks run one algorithm, half another", "[explore]") {
  for (const Algorithm a : algorithms()) {
    for (const Algorithm b : algorithms()) {
      for (const Collective c : {Collective::allreduce, Collective::reduce}) {
        if (a == b || !a.serves(c) || !b.serves(c)) continue;
        const CallSpec right{a, c, 70, 3, true};
        const CallSpec other{b, c, 70, 3, true};
        INFO(right.describe() << " and " << other.describe());
        for (const int first : {0, 1, 2}) {
          const Script script{4, {right, right}, {{first, 0, other}, {first + 1, 0, other}}};
          World<TightControlBlock> tight{script};
          require_fine(random_walks(tight, 1, 60));
          World<WideControlBlock> wide{script};
          require_fine(random_walks(wide, 1, 60));
        }
      }
    }
  }
}

TEST_CASE("Each reader of a bcast gets the data of its own root, or none", "[explore]") {
  for (const Algorithm a : {dynamic_leader, exchange}) {
    for (const std::size_t count : {3U, 16U, 30U, 90U}) {
      CallSpec of_rank_0{a, Collective::bcast, count, 0};
      CallSpec of_rank_1 = of_rank_0;
      of_rank_1.root = 1;
      INFO(of_rank_0.describe());
      World<TightControlBlock> world{{3, {of_rank_0, of_rank_0, of_rank_0}, {{1, 1, of_rank_1}}}};
      require_complete(depth_first(world, 1, 1'000'000, DepthFirst::AtBlocks::cost_one));
      require_fine(random_walks(world, 1, 500));
    }
  }
}

TEST_CASE("A mismatch in call after call, across the wrap", "[explore]") {
  const CallSpec right{exchange, Collective::allreduce, 16};
  const CallSpec wrong{exchange, Collective::allgather, 16};
  Script script{2, std::vector<CallSpec>(8, right), {}, 0xffff'fffbU};
  for (std::size_t i = 0; i < script.calls.size(); i += 2) {
    script.deviations.push_back({static_cast<int>(i / 2 % 2), i, wrong});
  }
  World<WideControlBlock> world{script};
  require_complete(depth_first(world, 1));
  require_fine(random_walks(world, 1, 2000));
}

TEST_CASE("Random sequences in which a rank now and then makes another call", "[explore]") {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    RandomCalls random{seed};
    Script script{.ranks = static_cast<int>(2 + random.draw(3)), .calls = {}};
    script.calls = random.calls(script.ranks, 3 + random.draw(5), 5);
    for (std::size_t i = random.draw(3); i < script.calls.size(); i += 1 + random.draw(3)) {
      CallSpec wrong = random.call(script.ranks, 5);
      wrong.count += 1;
      wrong.invalid = random.draw(6) == 0;
      script.deviations.push_back(
          {static_cast<int>(random.draw(static_cast<std::size_t>(script.ranks))), i, wrong});
    }
    script.first_epoch = 0U - static_cast<std::uint32_t>(random.draw(6));
    INFO("seed " << seed << ", " << script.ranks << " ranks");
    if (random.draw(2) == 0) {
      World<TightControlBlock> world{script};
      require_fine(random_walks(world, seed, 60));
    } else {
      World<TightControlBlock, RealBells> world{script};
      require_fine(random_walks(world, seed, 40));
    }
  }
}
