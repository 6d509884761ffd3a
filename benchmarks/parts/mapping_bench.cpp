// SPDX-License-Identifier: BSD-3-Clause
// What orders along a machine gain, by the model alone: bytes × hops and the heaviest link of
// papcoll's orders, of the thesis's greedy heuristics and, where it was built with SCOTCH, of
// SCOTCH's, over rank order; and what finding an order takes.
//
//   mapping_bench [RANKS…]     without numbers 64 100 256 500 512 1000 1024 2048
//
// Machines: nodes of 32 cores (2 packages with 2 L3 caches each) on a fat tree of 4 nodes a leaf
// switch, and on a dragonfly of 4 nodes a group, 2 hops within and 5 between groups.

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/baselines/greedy.hpp>
#include <papcoll/runtime/setup/machine_orders.hpp>
#include <papcoll/statistics/median.hpp>
#include <papcoll/tools/options/placements.hpp>
#include <papcoll/topology/mapping/map_positions.hpp>
#ifdef PAPCOLL_WITH_SCOTCH
#include <papcoll/baselines/scotch.hpp>
#endif

#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

std::atomic<std::size_t> taken{0};
std::atomic<std::size_t> most_taken{0};

}  // namespace

// Counts what finding an order allocates.
void* operator new(std::size_t bytes) {
  void* const p = std::malloc(bytes == 0 ? 1 : bytes);
  if (p == nullptr) throw std::bad_alloc();
  const std::size_t now = taken += malloc_usable_size(p);
  if (now > most_taken) most_taken = now;
  return p;
}
void operator delete(void* p) noexcept {
  if (p != nullptr) taken -= malloc_usable_size(p);
  std::free(p);
}
void operator delete(void* p, std::size_t /*bytes*/) noexcept { operator delete(p); }

namespace {

using papcoll::AnySchedule;
using papcoll::Collective;
using papcoll::Machine;
using papcoll::MappedOrder;
using papcoll::Network;
using papcoll::tool::Placement;
using Clock = std::chrono::steady_clock;

struct Pattern {
  std::string name;
  AnySchedule schedule;
  Collective collective;
};

std::vector<Pattern> patterns() {
  using enum Collective;
  using papcoll::ScatterAllgather;
  return {
      {"ring", AnySchedule::of<papcoll::Ring>(), allreduce},
      {"RD allgather", AnySchedule::of<papcoll::RecursiveDoubling>(), allgather},
      {"RD allreduce", AnySchedule::of<papcoll::RecursiveDoubling>(), allreduce},
      {"Rabenseifner", AnySchedule::of<papcoll::Rabenseifner>(), allreduce},
      {"binomial", AnySchedule::of<papcoll::Binomial>(), bcast},
      {"binomial gather", AnySchedule::of<papcoll::Binomial>(), gather},
      {"4-nomial", AnySchedule{papcoll::KNomial{4}}, bcast},
      {"binary tree", AnySchedule::of<papcoll::BinaryTree>(), bcast},
      {"two trees", AnySchedule::of<papcoll::TwoTreeComplete>(), bcast},
      {"Sanders' two", AnySchedule::of<papcoll::TwoTreeSanders>(), bcast},
      {"scatter+ring", AnySchedule{ScatterAllgather{}}, bcast},
      {"scatter+Bruck", AnySchedule{ScatterAllgather{ScatterAllgather::Gathering::bruck}}, bcast},
      {"Bruck", AnySchedule::of<papcoll::Bruck>(), allgather},
      {"halving", AnySchedule::of<papcoll::RecursiveHalving>(), reduce_scatter}};
}

Machine machine(int ranks, bool dragonfly, Placement placement) {
  constexpr int cores = 32;
  const int nodes = (ranks + cores - 1) / cores;
  Network network = Network::fat_tree(nodes, {4});
  if (dragonfly) {
    std::vector<float> hops;
    for (int a = 0; a < nodes; ++a) {
      for (int b = 0; b < nodes; ++b) hops.push_back(a == b ? 0.0F : a / 4 == b / 4 ? 2.0F : 5.0F);
    }
    network = Network::by_hops(nodes, std::move(hops));
  }
  return papcoll::tool::placed(Machine::of_cores(nodes, 2, 2, 8, std::move(network)), placement,
                               ranks);
}

struct ScotchFound {
  papcoll::MappingCost cost;
  int moved = 0;  ///< positions that were at the place of another
};

std::optional<ScotchFound> by_scotch(const Pattern& p, const Machine& m, int root) {
#ifdef PAPCOLL_WITH_SCOTCH
  const std::optional<papcoll::Traffic> traffic =
      papcoll::traffic_of(p.schedule, p.collective, m.size());
  if (!traffic) return std::nullopt;
  const bool rooted = papcoll::is_rooted(p.collective);
  const papcoll::ScotchOrder found =
      papcoll::scotch_order(*traffic, m, rooted ? std::optional{root} : std::nullopt);
  return ScotchFound{papcoll::cost_of(*traffic, m, found.ranks), found.moved};
#else
  static_cast<void>(p);
  static_cast<void>(m);
  static_cast<void>(root);
  return std::nullopt;
#endif
}

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Of how many graphs papcoll's order was at least as good as SCOTCH's, and how long both took.
struct Tally {
  int graphs = 0;
  int as_good = 0;
  int as_good_links = 0;
  int repaired = 0;  ///< of SCOTCH's that were no bijections
  double our_ms = 0;
  double scotch_ms = 0;
};

std::string figures(double byte_hops, double heaviest) {
  std::array<char, 40> text{};
  static_cast<void>(std::snprintf(text.data(), text.size(), "%9.1f /%6.1f", byte_hops, heaviest));
  return text.data();
}

void compare(int ranks, std::vector<Tally>& by_pattern) {
  const std::vector<Pattern> all = patterns();
  by_pattern.resize(all.size());
  for (const bool dragonfly : {false, true}) {
    for (std::size_t how = 0; how < papcoll::tool::placement_names.size(); ++how) {
      const Machine m = machine(ranks, dragonfly, static_cast<Placement>(how));
      for (std::size_t i = 0; i < all.size(); ++i) {
        const Pattern& p = all[i];
        const int root = papcoll::is_rooted(p.collective) ? ranks / 3 : 0;
        Tally& tally = by_pattern[i];
        const Clock::time_point start = Clock::now();
        const MappedOrder ours = papcoll::map_positions(p.schedule, p.collective, m, root);
        tally.our_ms += ms_since(start);
        if (ours.verdict == MappedOrder::Verdict::all_talk_to_all) continue;
        const bool used = ours.verdict == MappedOrder::Verdict::mapped;
        const papcoll::MappingCost& mine = used ? ours.arranged : ours.in_rank_order;
        std::printf("%5d %-9s %-9s %-15s %s  %s", ranks, dragonfly ? "dragonfly" : "fat tree",
                    std::string(papcoll::tool::placement_names[how]).c_str(), p.name.c_str(),
                    figures(ours.in_rank_order.byte_hops, ours.in_rank_order.heaviest_link).c_str(),
                    figures(mine.byte_hops, mine.heaviest_link).c_str());
        const MappedOrder greedy = papcoll::map_greedily(p.schedule, p.collective, m, root);
        if (greedy.verdict == MappedOrder::Verdict::mapped) {
          std::printf("  %s",
                      figures(greedy.arranged.byte_hops, greedy.arranged.heaviest_link).c_str());
        } else {
          std::printf("  %17s", "-");
        }
        const Clock::time_point begin = Clock::now();
        if (const std::optional<ScotchFound> scotch = by_scotch(p, m, root)) {
          tally.scotch_ms += ms_since(begin);
          constexpr double rounding = 1 + 1e-5;
          ++tally.graphs;
          if (scotch->moved != 0) ++tally.repaired;
          if (mine.byte_hops <= scotch->cost.byte_hops * rounding) ++tally.as_good;
          if (mine.heaviest_link <= scotch->cost.heaviest_link * rounding) ++tally.as_good_links;
          std::printf("  %s", figures(scotch->cost.byte_hops, scotch->cost.heaviest_link).c_str());
        }
        std::printf("\n");
      }
    }
  }
}

void summarize(const std::vector<Tally>& by_pattern) {
  const std::vector<Pattern> all = patterns();
  Tally sum;
  std::printf("\n%-16s %18s %18s %12s %12s %12s\n", "", "bytes x hops", "heaviest link", "repaired",
              "ms a graph", "SCOTCH's ms");
  const auto line = [](const char* name, const Tally& t) {
    if (t.graphs == 0) return;
    std::printf("%-16s %8d of %5d %9d of %5d %12d %12.2f %12.2f\n", name, t.as_good, t.graphs,
                t.as_good_links, t.graphs, t.repaired, t.our_ms / t.graphs, t.scotch_ms / t.graphs);
  };
  for (std::size_t i = 0; i < by_pattern.size(); ++i) {
    const Tally& t = by_pattern[i];
    line(all[i].name.c_str(), t);
    sum = {sum.graphs + t.graphs,     sum.as_good + t.as_good, sum.as_good_links + t.as_good_links,
           sum.repaired + t.repaired, sum.our_ms + t.our_ms,   sum.scotch_ms + t.scotch_ms};
  }
  line("all", sum);
}

/// Median of some times, and the most memory at once.
void time_mapping(int ranks) {
  std::printf("\n%d ranks by node on the fat tree: an order is found in\n", ranks);
  const Machine m = machine(ranks, false, Placement::by_node);
  for (const Pattern& p : patterns()) {
    std::vector<double> ms;
    const std::size_t before = taken;
    most_taken = before;
    for (int i = 0; i < 7; ++i) {
      const Clock::time_point start = Clock::now();
      const MappedOrder mapped = papcoll::map_positions(p.schedule, p.collective, m, 0);
      ms.push_back(ms_since(start));
    }
    std::printf("  %-16s %8.2f ms %8.2f MB\n", p.name.c_str(), papcoll::median(ms),
                static_cast<double>(most_taken - before) / 1e6);
  }
  papcoll::MachineOrders orders{papcoll::detail::make_shared<const papcoll::MachineOnDemand>(m)};
  papcoll::PlanCache plans;
  const AnySchedule ring = AnySchedule::of<papcoll::Ring>();
  const AnySchedule tree = AnySchedule::of<papcoll::Binomial>();
  const auto look_up = [&](const AnySchedule& s, Collective c, int root) {
    return orders.of(s, c, root, papcoll::AlongMachine::by(papcoll::map_positions), plans)
        .order.size();
  };
  constexpr int calls = 100000;
  std::vector<double> one;
  std::vector<double> in_turn;
  int sum = 0;
  for (int i = 0; i < 11; ++i) {
    Clock::time_point start = Clock::now();
    for (int k = 0; k < calls; ++k) sum += look_up(ring, Collective::allreduce, 0);
    one.push_back(ms_since(start) * 1e6 / calls);
    start = Clock::now();
    for (int k = 0; k < calls; ++k) sum += look_up(tree, Collective::bcast, k % 8);
    in_turn.push_back(ms_since(start) * 1e6 / calls);
  }
  std::printf("a cached order: %.1f ns; one of 8 roots in turn: %.1f ns%s\n", papcoll::median(one),
              papcoll::median(in_turn), sum == 0 ? " (none)" : "");
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> sizes{64, 100, 256, 500, 512, 1000, 1024, 2048};
  if (argc > 1) sizes.clear();
  for (int i = 1; i < argc; ++i) sizes.push_back(std::max(1, std::atoi(argv[i])));
  std::printf("%5s %-9s %-9s %-15s %17s  %17s  %17s  %17s\n", "ranks", "network", "placement",
              "pattern", "rank order", "papcoll", "greedy", "SCOTCH");
  std::vector<Tally> by_pattern;
  for (const int ranks : sizes) compare(ranks, by_pattern);
  summarize(by_pattern);
  constexpr int many = 4096;
  time_mapping(many);
}
