// SPDX-License-Identifier: BSD-3-Clause
// Each algorithm alone: all collectives, sizes, roots, in place or not, three calls in a row.

#include "explorer.hpp"
#include "scripts.hpp"
#include "verdict.hpp"
#include "world.hpp"

using namespace explore;

namespace {

constexpr Collective collectives[]{
    Collective::allreduce,      Collective::reduce,  Collective::bcast,    Collective::allgather,
    Collective::reduce_scatter, Collective::barrier, Collective::alltoall, Collective::gather,
    Collective::scatter,        Collective::scan,    Collective::exscan};

template <class F> void for_all_calls(int ranks, std::size_t chunks, F&& f) {
  for (const Algorithm a : algorithms()) {
    for (const Collective c : collectives) {
      for (const CallSpec& call : all_calls(a, c, ranks, chunks)) {
        INFO(call.describe() << " on " << ranks << " ranks");
        f(call);
      }
    }
  }
}

}  // namespace

TEST_CASE("One rank", "[explore]") {
  for_all_calls(1, 5, [](const CallSpec& call) {
    World<TightControlBlock> world{{1, {call, call, call}}};
    require_complete(depth_first(world, 0));
  });
}

TEST_CASE("Two ranks: every schedule with one preemption", "[explore]") {
  for_all_calls(2, 5, [](const CallSpec& call) {
    World<TightControlBlock> world{{2, {call, call, call}}};
    require_complete(depth_first(world, 1));
  });
}

TEST_CASE("Two ranks combine lower with higher, whoever leads", "[explore]") {
  for_all_calls(2, 5, [](const CallSpec& call) {
    if (!papcoll::is_reduction(call.collective) || call.rank_order) return;
    CallSpec of_a_pair = call;
    of_a_pair.of_a_pair = true;
    World<TightControlBlock> world{{2, {of_a_pair, of_a_pair}}};
    require_complete(depth_first(world, 1));
  });
}

TEST_CASE("Two ranks, messages of one chunk: every schedule with two preemptions", "[explore]") {
  for_all_calls(2, 5, [](const CallSpec& call) {
    if (call.count > count_of(Size::one_chunk, call.rank_order, 1)) return;
    World<TightControlBlock> world{{2, {call, call}}};
    require_complete(depth_first(world, 2));
  });
}

TEST_CASE("Two ranks on the library's control block: every schedule with one preemption",
          "[explore]") {
  for_all_calls(2, 7, [](const CallSpec& call) {
    World<WideControlBlock> world{{2, {call, call}}};
    require_complete(depth_first(world, 1));
  });
}

TEST_CASE("Three ranks: every schedule with one deviation, and random ones", "[explore]") {
  for_all_calls(3, 5, [](const CallSpec& call) {
    World<TightControlBlock> world{{3, {call, call, call}}};
    require_complete(depth_first(world, 1, 1'000'000, DepthFirst::AtBlocks::cost_one));
    require_fine(random_walks(world, 3, 100));
  });
}

TEST_CASE("Four ranks: random schedules", "[explore]") {
  for_all_calls(4, 5, [](const CallSpec& call) {
    World<TightControlBlock> tight{{4, {call, call, call}}};
    require_fine(random_walks(tight, 4, 60));
    World<WideControlBlock> wide{{4, {call, call}}};
    require_fine(random_walks(wide, 4, 30));
  });
}

TEST_CASE("Buffers that peers cannot reach go through pools or chunk buffers", "[explore]") {
  const auto scripts = [](int ranks, auto&& f) {
    for_all_calls(ranks, 5, [&](const CallSpec& call) {
      if (!call.algorithm.exposes_buffers()) return;
      for (const Reach reach : {Reach::pools, Reach::chunk_buffers}) {
        // Pools are found to be there by what all had `epoch_slots` calls before.
        Script script{ranks, {call, call, call, call}};
        script.reach = reach;
        INFO(call.describe() << (reach == Reach::pools ? ", pools" : ", chunk buffers"));
        f(script);
      }
    });
  };
  scripts(1, [](const Script& script) {
    World<TightControlBlock> world{script};
    require_complete(depth_first(world, 0));
  });
  scripts(2, [](const Script& script) {
    World<TightControlBlock> tight{script};
    require_complete(depth_first(tight, 1));
    World<WideControlBlock> wide{script};
    require_fine(random_walks(wide, 2, 30));
  });
  scripts(3, [](const Script& script) {
    World<TightControlBlock> world{script};
    require_fine(random_walks(world, 3, 60));
  });
  scripts(4, [](const Script& script) {
    World<TightControlBlock> world{script};
    require_fine(random_walks(world, 4, 30));
  });
}

TEST_CASE("Each rank shows its blocks in another way", "[explore]") {
  for (const int ranks : {3, 4}) {
    for_all_calls(ranks, 5, [&](const CallSpec& call) {
      if (!call.algorithm.exposes_buffers()) return;
      for (const int kind : {0, 1, 2}) {
        Script script{ranks, {call, call}};
        script.reach = Reach::mixed;
        script.first_kind = kind;
        INFO("the first rank is of kind " << kind);
        World<TightControlBlock> tight{script};
        require_fine(random_walks(tight, 5, 15));
        World<WideControlBlock> wide{script};
        require_fine(random_walks(wide, 5, 15));
      }
    });
  }
}

TEST_CASE("Who lends its input is not let go by who waits for pieces of others", "[explore]") {
  CallSpec call{explored<papcoll::StaticOrder, papcoll::BlockCopies>, Collective::alltoall, 20};
  call.irregular = true;
  for (const int kind : {0, 1, 2}) {
    Script script{4, {call, call}};
    script.reach = Reach::mixed;
    script.first_kind = kind;
    INFO("the first rank is of kind " << kind);
    World<WideControlBlock> world{script};
    require_fine(random_walks(world, 5, 500));
  }
}

// Who leaves, or writes somewhere again, because it sees nobody there: what it told the others
// before may still be on its way.
TEST_CASE("Stores that are seen late", "[explore]") {
  for (const std::size_t most : {1U, 2U, 3U}) {
    const LazyStores lazy{most};
    INFO("so many stores of a rank are seen late: " << most);
    for (const int ranks : {2, 3, 4}) {
      for_all_calls(ranks, 5, [&](const CallSpec& call) {
        for (const Reach reach : {Reach::all, Reach::pools, Reach::chunk_buffers, Reach::mixed}) {
          if (reach != Reach::all && !call.algorithm.exposes_buffers()) break;
          Script script{ranks, {call, call, call}};
          script.reach = reach;
          INFO(call.describe() << ", reach " << static_cast<int>(reach));
          World<TightControlBlock, RealBells> world{script};
          if (ranks == 2 && most < 3) require_complete(depth_first(world, 1));
          require_fine(random_walks(world, 7, 20));
        }
      });
    }
  }
}

TEST_CASE("Deeper: every schedule with three preemptions", "[explore]") {
  for (const Algorithm a : algorithms()) {
    if (!a.serves(Collective::allreduce)) continue;
    for (const std::size_t count : {3U, 16U}) {
      const CallSpec call{a, Collective::allreduce, count};
      INFO(call.describe());
      World<TightControlBlock> world{{2, {call, call, call}}};
      // Those that lend buffers touch several times as many words.
      require_complete(depth_first(world, a.exposes_buffers() ? 2 : 3));
    }
  }
}
