// SPDX-License-Identifier: BSD-3-Clause
// Ranks in groups: allreduces that combine in two levels.

#include "explorer.hpp"
#include "scripts.hpp"
#include "verdict.hpp"
#include "world.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace explore;

namespace {

constexpr Algorithm dynamic_leader = explored<papcoll::DynamicLeader, papcoll::LeaderFan>;
constexpr Algorithm exchange = explored<papcoll::StaticOrder, papcoll::Exchange>;
constexpr Algorithm multi_leader = explored<papcoll::StaticOrder, papcoll::MultiLeader>;
constexpr Algorithm peer_slices = explored<papcoll::StaticOrder, papcoll::PeerSlices>;

constexpr auto allreduce = Collective::allreduce;

/// A line for each rank, so that all have something to combine.
constexpr std::size_t chunk = 4 * papcoll::cache_line;
constexpr std::size_t lines_of_five_chunks = 5 * 4;

Script in_groups(std::vector<CallSpec> calls, std::vector<int> colours) {
  Script script{4, std::move(calls)};
  script.colours = std::move(colours);
  script.chunk = chunk;
  return script;
}

std::string describe(const Script& script) {
  std::string text = "groups";
  for (const int colour : script.colours) text += " " + std::to_string(colour);
  for (const CallSpec& c : script.calls) text += "; " + c.describe();
  return text;
}

const std::vector<std::vector<int>> groupings{
    {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 0},  // two of two
    {0, 0, 0, 1}, {0, 1, 2, 3}, {0, 0, 0, 0}   // one level
};

/// Allreduces of all kinds by the algorithms that have two levels.
std::vector<CallSpec> two_level_calls() {
  std::vector<CallSpec> calls;
  for (const Algorithm a : {multi_leader, peer_slices}) {
    for (const CallSpec& c : all_calls(a, allreduce, 4, lines_of_five_chunks)) calls.push_back(c);
    calls.push_back({a, allreduce, chunk / sizeof(Sum)});
  }
  return calls;
}

}  // namespace

TEST_CASE("Groups: every schedule with one deviation, and random ones", "[explore]") {
  for (const CallSpec& call : two_level_calls()) {
    for (const auto& colours : groupings) {
      const Script script = in_groups({call, call, call}, colours);
      INFO(describe(script));
      World<TightControlBlock> tight{script};
      World<WideControlBlock> wide{script};
      require_fine(random_walks(tight, 1, 60));
      require_fine(random_walks(wide, 2, 60));
      if (colours != groupings[0]) continue;
      require_complete(depth_first(tight, 1, 1'000'000, DepthFirst::AtBlocks::cost_one));
      require_complete(depth_first(wide, 1, 1'000'000, DepthFirst::AtBlocks::cost_one));
    }
  }
}

TEST_CASE("Groups: buffers that peers cannot reach go through chunk buffers", "[explore]") {
  for (const CallSpec& call : all_calls(peer_slices, allreduce, 4, lines_of_five_chunks)) {
    for (const Reach reach : {Reach::pools, Reach::chunk_buffers}) {
      Script script = in_groups({call, call, call, call}, {0, 0, 1, 1});
      script.reach = reach;
      INFO(describe(script));
      World<TightControlBlock> world{script};
      require_fine(random_walks(world, 3, 60));
    }
  }
}

TEST_CASE("Groups: stores that are seen late", "[explore]") {
  for (const std::size_t most : {1U, 2U, 3U}) {
    const LazyStores lazy{most};
    for (const CallSpec& call : two_level_calls()) {
      const Script script = in_groups({call, call, call}, {0, 0, 1, 1});
      INFO(describe(script) << ", so many of a rank: " << most);
      World<TightControlBlock, RealBells> tight{script};
      World<WideControlBlock, RealBells> wide{script};
      require_fine(random_walks(tight, 6, 30));
      require_fine(random_walks(wide, 6, 30));
    }
  }
}

TEST_CASE("Groups: calls of different kinds in a row, across the wrap", "[explore]") {
  std::vector<CallSpec> others = two_level_calls();
  others.push_back({dynamic_leader, Collective::reduce, 22, 3, true});
  others.push_back({dynamic_leader, allreduce, 38});
  others.push_back({exchange, Collective::bcast, 54, 1});
  others.push_back({peer_slices, Collective::bcast, 54, 0});
  others.push_back({peer_slices, Collective::reduce, 120, 2});
  others.push_back({peer_slices, Collective::reduce_scatter, 20, 0, true});
  for (const CallSpec& a : two_level_calls()) {
    for (const CallSpec& b : others) {
      Script script = in_groups({a, b, a}, {0, 0, 1, 1});
      script.first_epoch = 0xffff'fffeU;
      INFO(describe(script));
      World<TightControlBlock> world{script};
      require_fine(random_walks(world, 4, 30));
    }
  }
}

TEST_CASE("Groups: ranks whose call does not match, one or one group of them", "[explore]") {
  for (const CallSpec& right : two_level_calls()) {
    CallSpec shorter = right;
    shorter.count -= 1;
    CallSpec invalid = right;
    invalid.invalid = true;
    const CallSpec other{dynamic_leader, allreduce, right.count};
    const CallSpec early{exchange, Collective::bcast, right.count, 0};
    const bool direct = right.algorithm == peer_slices;
    const CallSpec same_buffers{direct ? multi_leader : peer_slices, allreduce, right.count};
    for (const CallSpec& wrong : {shorter, invalid, other, early, same_buffers}) {
      for (const std::vector<int>& who : {std::vector{0}, {3}, {0, 1}, {1, 3}}) {
        Script script = in_groups({right, right, right}, {0, 0, 1, 1});
        for (const int rank : who) script.deviations.push_back({rank, 1, wrong});
        INFO(describe(script) << ", but rank " << who.front() << ": " << wrong.describe());
        World<TightControlBlock> world{script};
        require_fine(random_walks(world, 5, 60));
      }
    }
  }
}
