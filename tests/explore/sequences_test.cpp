// SPDX-License-Identifier: BSD-3-Clause
// Different collectives in a row: ranks that leave early run ahead into the next calls, epoch slots
// are used again, and the number of the call wraps.

#include "explorer.hpp"
#include "scripts.hpp"
#include "verdict.hpp"
#include "world.hpp"

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

using namespace explore;

namespace {

constexpr Algorithm static_leader = explored<papcoll::StaticLeader, papcoll::LeaderFan>;
constexpr Algorithm exchange = explored<papcoll::StaticOrder, papcoll::Exchange>;
constexpr Algorithm peer_slices = explored<papcoll::StaticOrder, papcoll::PeerSlices>;

constexpr std::uint32_t before_wrap = 0xffff'fffeU;

std::string describe(const Script& script) {
  std::ostringstream text;
  text << script.ranks << " ranks, first call " << script.first_epoch << ", unused for "
       << script.unused_for << "\n";
  for (const CallSpec& c : script.calls) text << "  " << c.describe() << "\n";
  return text.str();
}

/// One call of each kind that differs in who waits for whom.
std::vector<CallSpec> kinds(int ranks) {
  std::vector<CallSpec> calls;
  for (const Algorithm a : algorithms()) {
    const bool ordered = a.keeps_order();
    if (a.serves(Collective::allreduce)) {
      calls.push_back({a, Collective::allreduce, 3, 0, true, ordered});
      calls.push_back({a, Collective::allreduce, 38});
    }
    if (a.serves(Collective::scan)) {
      calls.push_back({a, Collective::scan, 20, 0, true, ordered});
      calls.push_back({a, Collective::exscan, 38});
    }
    if (a.serves(Collective::alltoall)) {
      calls.push_back({a, Collective::alltoall, 20});
      CallSpec irregular{a, Collective::alltoall, 7, 0, true};
      irregular.irregular = true;
      calls.push_back(irregular);
      calls.push_back({a, Collective::gather, 38, ranks - 1});
      calls.push_back({a, Collective::scatter, 20, ranks - 1});
    }
    for (const int root : {0, ranks - 1}) {
      if (!a.serves(Collective::reduce)) continue;
      calls.push_back({a, Collective::reduce, 3, root});
      calls.push_back({a, Collective::reduce, 22, root, true, ordered});
    }
    if (a.serves(Collective::allgather)) calls.push_back({a, Collective::allgather, 20});
    if (a.serves(Collective::reduce_scatter)) {
      calls.push_back({a, Collective::reduce_scatter, 20, 0, true, ordered});
    }
    if (a.serves(Collective::barrier)) calls.push_back({a, Collective::barrier, 0});
  }
  for (const int root : {0, ranks - 1}) {
    calls.push_back({peer_slices, Collective::bcast, 54, root});
    calls.push_back({exchange, Collective::bcast, 3, root});
    calls.push_back({exchange, Collective::bcast, 54, root});
  }
  return calls;
}

}  // namespace

TEST_CASE("Every two kinds of call in a row, across the wrap", "[explore]") {
  for (const CallSpec& a : kinds(2)) {
    for (const CallSpec& b : kinds(2)) {
      const Script script{2, {a, b, a}, {}, before_wrap};
      INFO(describe(script));
      World<TightControlBlock> world{script};
      require_complete(depth_first(world, 1));
    }
  }
}

TEST_CASE("Every two kinds of call on three ranks: random schedules", "[explore]") {
  for (const CallSpec& a : kinds(3)) {
    for (const CallSpec& b : kinds(3)) {
      const Script script{3, {a, b, a}, {}, before_wrap};
      INFO(describe(script));
      World<TightControlBlock> world{script};
      require_fine(random_walks(world, 8, 40));
    }
  }
}

TEST_CASE("Roots that do not wait run ahead until the epoch slots are used up", "[explore]") {
  const CallSpec give{exchange, Collective::bcast, 3, 0};
  const CallSpec take{exchange, Collective::reduce, 3, 1};
  const CallSpec lead{static_leader, Collective::reduce, 16, 1};
  World<WideControlBlock> wide{{2, {give, take, lead, give, give, take, lead}, {}, before_wrap}};
  require_complete(depth_first(wide, 2));
  World<TightControlBlock> tight{{2, {give, take, lead, give, take}, {}, before_wrap}};
  require_complete(depth_first(tight, 3));
  World<TightControlBlock> three{{3, {give, take, lead, give}, {}, before_wrap}};
  require_complete(depth_first(three, 2, 1'000'000, DepthFirst::AtBlocks::cost_one));
}

TEST_CASE("Words that were not used for 2^31 calls", "[explore]") {
  for (const std::uint32_t unused_for : {0x7fff'ffffU, 0x8000'0000U, 0x8000'0005U, 0xffff'fff0U}) {
    for (const CallSpec& call : kinds(2)) {
      const Script script{2, {call, call, call, call, call}, {}, 7, unused_for};
      INFO(describe(script));
      World<WideControlBlock> world{script};
      require_fine(depth_first(world, 1, 50));
    }
  }
}

TEST_CASE("Random sequences", "[explore]") {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    RandomCalls random{seed};
    Script script{.ranks = static_cast<int>(2 + random.draw(3)), .calls = {}};
    script.calls = random.calls(script.ranks, 3 + random.draw(5), 3 + random.draw(5));
    if (random.draw(2) == 0) {
      script.first_epoch = 0U - static_cast<std::uint32_t>(random.draw(6));
    }
    if (random.draw(4) == 0)
      script.unused_for = 0x7fff'fffeU + static_cast<std::uint32_t>(seed % 5);
    INFO("seed " << seed << ": " << describe(script));
    {
      const LazyStores lazy{1 + seed % 3};
      World<TightControlBlock, RealBells> world{script};
      require_fine(random_walks(world, seed, 50));
    }
    if (random.draw(2) == 0) {
      World<TightControlBlock> world{script};
      require_fine(random_walks(world, seed, 50));
    } else {
      World<WideControlBlock> world{script};
      require_fine(random_walks(world, seed, 50));
    }
  }
}
