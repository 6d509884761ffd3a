// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/schedule/make_plan.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <vector>

// What the headers say of rounds, messages and volumes, counted in the plans.

using namespace papcoll;
using enum Collective;

namespace {

struct Cost {
  std::size_t rounds = 0;
  std::size_t messages = 0;  ///< the most that one position sends
  std::size_t sent = 0;      ///< the most elements that one position sends
  std::size_t combined = 0;  ///< the most elements that one position combines
  friend bool operator==(const Cost&, const Cost&) = default;
};

std::ostream& operator<<(std::ostream& out, const Cost& c) {
  return out << "{" << c.rounds << ", " << c.messages << ", " << c.sent << ", " << c.combined
             << "}";
}

/// How many rounds it takes if in each a position may send one message and receive one, its own
/// sends and receives in the order of the text, and position 0 comes `late` rounds later.
std::size_t rounds_of(const std::vector<Plan>& plans, std::size_t late = 0) {
  std::vector<std::vector<std::size_t>> done;  // the round after which a step is complete
  for (const Plan& p : plans) done.emplace_back(p.size());
  auto sent_in = [&](const Step& receive, int position) {
    const auto peer = static_cast<std::size_t>(receive.peer);
    for (std::size_t i = 0; i < plans[peer].size(); ++i) {
      const Step& s = plans[peer][i];
      const bool is_it = s.kind == OpKind::send && s.peer == position && s.number == receive.number;
      if (is_it) return done[peer][i];
    }
    return std::size_t{0};
  };
  std::size_t last = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t p = 0; p < plans.size(); ++p) {
      std::vector<std::size_t> ready(plans[p].size(), p == 0 ? late : 0);
      std::array<std::size_t, 2> port{};  // when the last send and the last receive were complete
      for (std::size_t i = 0; i < plans[p].size(); ++i) {
        const Step& s = plans[p][i];
        std::size_t round = ready[i];
        if (s.peer >= 0) {
          std::size_t& busy = port[s.kind == OpKind::send ? 0 : 1];
          round = std::max(round, busy) + 1;
          if (s.kind == OpKind::receive) round = std::max(round, sent_in(s, static_cast<int>(p)));
          busy = round;
        }
        for (const std::uint32_t next : plans[p].successors(i)) {
          ready[next] = std::max(ready[next], round);
        }
        changed = changed || round != done[p][i];
        done[p][i] = round;
        last = std::max(last, round);
      }
    }
  }
  return last;
}

Cost cost_of(const AnySchedule& schedule, Collective c, int size, std::size_t count,
             std::size_t late = 0) {
  Shape shape;
  shape.collective = c;
  shape.size = size;
  shape.count = count;
  std::vector<Plan> plans;
  for (shape.rank = 0; shape.rank < size; ++shape.rank) {
    plans.push_back(make_plan(schedule, shape, static_order(shape)).full);
  }
  Cost cost;
  for (const Plan& p : plans) {
    Cost one;
    for (const Step& s : p.steps()) {
      if (s.kind == OpKind::send) {
        ++one.messages;
        one.sent += s.n;
      }
      if (s.kind == OpKind::reduce) one.combined += s.n;
    }
    cost.messages = std::max(cost.messages, one.messages);
    cost.sent = std::max(cost.sent, one.sent);
    cost.combined = std::max(cost.combined, one.combined);
  }
  cost.rounds = rounds_of(plans, late) - late;
  return cost;
}

}  // namespace

// 16 positions with 16 blocks of 10, or contributions of 10.
TEST_CASE("schedules cost what they say, for a power of two", "[schedule]") {
  CHECK(cost_of(Linear{}, allreduce, 16, 160) == Cost{30, 15, 15 * 160, 15 * 160});
  CHECK(cost_of(Binomial{}, allreduce, 16, 160) == Cost{8, 4, 640, 640});
  CHECK(cost_of(RecursiveDoubling{}, allreduce, 16, 160) == Cost{4, 4, 640, 640});
  CHECK(cost_of(Rabenseifner{}, allreduce, 16, 160) == Cost{8, 8, 2 * 150, 150});
  CHECK(cost_of(Ring{}, allreduce, 16, 160) == Cost{30, 30, 2 * 150, 150});
  // Two groups of eight: 7 contributions, one exchange, 7 results.
  CHECK(cost_of(ThreeStage{}, allreduce, 16, 160) == Cost{15, 8, 8 * 160, 8 * 160});

  CHECK(cost_of(Chain{}, reduce, 16, 160) == Cost{15, 1, 160, 160});
  CHECK(cost_of(Binomial{}, reduce, 16, 160) == Cost{4, 1, 160, 640});
  CHECK(cost_of(KNomial{.radix = 4}, reduce, 16, 160) == Cost{6, 1, 160, 6 * 160});
  CHECK(cost_of(BinaryTree{}, reduce, 15, 160) == Cost{6, 1, 160, 320});
  CHECK(cost_of(ReduceScatterGather{}, reduce, 16, 160) == Cost{8, 5, 80 + 150, 150});

  CHECK(cost_of(KNomial{.radix = 4}, bcast, 16, 160) == Cost{6, 6, 6 * 160, 0});
  CHECK(cost_of(BinaryTree{}, bcast, 15, 160) == Cost{6, 2, 320, 0});

  CHECK(cost_of(Ring{}, reduce_scatter, 16, 10) == Cost{15, 15, 150, 150});
  CHECK(cost_of(Pairwise{}, reduce_scatter, 16, 10) == Cost{15, 15, 150, 150});
  CHECK(cost_of(RecursiveHalving{}, reduce_scatter, 16, 10) == Cost{4, 4, 150, 150});

  CHECK(cost_of(Ring{}, allgather, 16, 10) == Cost{15, 15, 150, 0});
  CHECK(cost_of(NeighbourExchange{}, allgather, 16, 10) == Cost{8, 8, 150, 0});
  CHECK(cost_of(RecursiveDoubling{}, allgather, 16, 10) == Cost{4, 4, 150, 0});
  CHECK(cost_of(Binomial{}, gather, 16, 10) == Cost{4, 1, 80, 0});
  CHECK(cost_of(Binomial{}, scatter, 16, 10) == Cost{4, 4, 150, 0});
  CHECK(cost_of(Dissemination{}, barrier, 16, 1) == Cost{4, 4, 4, 4});

  CHECK(cost_of(Chain{}, Collective::scan, 16, 160) == Cost{15, 1, 160, 160});
  CHECK(cost_of(RecursiveDoubling{}, Collective::scan, 16, 160) == Cost{4, 4, 640, 640});
  CHECK(cost_of(RecursiveDoubling{}, Collective::exscan, 16, 160) == Cost{4, 4, 640, 7 * 160});
  CHECK(cost_of(Binomial{}, Collective::scan, 16, 160).rounds == 7);
  CHECK(cost_of(Binomial{}, Collective::exscan, 16, 160).rounds == 7);

  CHECK(cost_of(Ring{}, alltoall, 16, 10) == Cost{15, 15, 150, 0});
  CHECK(cost_of(SpreadOut{4}, alltoall, 16, 10) == Cost{15, 15, 150, 0});
  CHECK(cost_of(Bruck{}, alltoall, 16, 10) == Cost{4, 4, 4 * 80, 0});
  CHECK(cost_of(Bruck{4}, alltoall, 16, 10) == Cost{6, 6, 6 * 40, 0});
  CHECK(cost_of(Bruck{16}, alltoall, 16, 10) == Cost{15, 15, 150, 0});
  using Phases = GatherThenBcast<Binomial, Binomial>;
  CHECK(cost_of(Phases{}, allgather, 16, 10) == Cost{8, 4, 4 * 160, 0});
}

TEST_CASE("schedules cost what they say, for other numbers", "[schedule]") {
  // Folded: two rounds more; by halves three, with half a vector more to combine.
  CHECK(cost_of(RecursiveDoubling{}, allreduce, 6, 160).rounds == 2 + 2);
  CHECK(cost_of(RecursiveDoubling{}, allreduce, 6, 160).combined == 3 * 160);
  CHECK(cost_of(Rabenseifner{}, allreduce, 6, 160).rounds == 4 + 3);
  CHECK(cost_of(Rabenseifner{}, allreduce, 6, 160).combined == 80 + 120);
  CHECK(cost_of(Rabenseifner{}, allreduce, 6, 160).sent == 80 + 2 * 120 + 160);
  CHECK(cost_of(ReduceScatterGather{}, reduce, 6, 160).rounds == 4 + 2);
  for (const int size : {3, 5, 6, 7, 9, 15, 17}) {
    CAPTURE(size);
    const auto others = static_cast<std::size_t>(size - 1);
    const auto rounds = static_cast<std::size_t>(doubling_rounds(size));
    CHECK(cost_of(Binomial{}, bcast, size, 10).rounds == rounds);
    CHECK(cost_of(Dissemination{}, barrier, size, 1).rounds == rounds);
    CHECK(cost_of(RecursiveDoubling{}, Collective::scan, size, 10).rounds == rounds);
    CHECK(cost_of(Binomial{}, Collective::scan, size, 10).rounds <= 2 * rounds - 1);
    CHECK(cost_of(Binomial{}, Collective::exscan, size, 10).rounds <= 2 * rounds - 1);
    CHECK(cost_of(Ring{}, allgather, size, 10) == Cost{others, others, 10 * others, 0});
    // A run around the end is two messages.
    CHECK(cost_of(Bruck{}, allgather, size, 10).messages <= 2 * rounds - 1);
    CHECK(cost_of(Bruck{}, allgather, size, 10).sent == 10 * others);
  }
  // One round more where a position receives from two at an odd split.
  CHECK(cost_of(RecursiveHalving{}, reduce_scatter, 6, 10).rounds == 3);
  CHECK(cost_of(RecursiveHalving{}, reduce_scatter, 7, 10).rounds == 3 + 1);
  CHECK(cost_of(RecursiveHalving{}, reduce_scatter, 17, 10).rounds == 5);
  CHECK(cost_of(RecursiveHalving{}, reduce_scatter, 17, 10).sent <= 170);
}

TEST_CASE("van de Geijn's bcast does not send what is there already", "[schedule]") {
  const auto blocks_moved = [](const AnySchedule& s, int size) {
    Shape shape;
    shape.collective = bcast;
    shape.size = size;
    shape.count = static_cast<std::size_t>(size);
    std::size_t moved = 0;
    for (shape.rank = 0; shape.rank < size; ++shape.rank) {
      const BlockedPlan plan = make_plan(s, shape, static_order(shape));
      for (const Step& step : plan.full.steps()) moved += step.kind == OpKind::receive ? step.n : 0;
    }
    return moved;
  };
  // Everybody but the root receives each of its blocks once.
  for (const int size : {2, 3, 4, 7, 8, 16}) {
    CAPTURE(size);
    const auto n = static_cast<std::size_t>(size);
    CHECK(blocks_moved(ScatterAllgather{}, size) == (n - 1) * n);
    CHECK(blocks_moved({ScatterAllgather{ScatterAllgather::Gathering::bruck}}, size) ==
          (n - 1) * n);
  }
  const ScatterAllgather doubling{ScatterAllgather::Gathering::bruck};
  CHECK(cost_of(doubling, bcast, 16, 160).rounds == 10);
  CHECK(cost_of(ScatterAllgather{}, bcast, 16, 160).rounds > 15);
}

TEST_CASE("pipelines are cut in blocks of the segment's size", "[schedule]") {
  Shape shape;
  shape.collective = bcast;
  shape.size = 4;
  shape.count = 100;
  shape.element_size = 8;
  const BlockedPlan plan =
      make_plan(PipelinedChain{.segment_bytes = 240}, shape, static_order(shape));
  CHECK(plan.blocks == 4);
  CHECK(plan.block_elements == 30);
  CHECK(plan.block(3).count() == 10);
  // Inside of another schedule the text itself loops over the segments: P − 2 + n rounds.
  CHECK(cost_of(ReduceThenBcast<Linear, PipelinedChain>{{}, {30}}, allreduce, 4, 120).rounds ==
        3 + 4 - 2 + 4);
}

TEST_CASE("two trees use both directions of all links at once", "[schedule]") {
  // 40 chunks of one element; half of them, or one more, go along a tree.
  for (const int size : {3, 7, 8, 21}) {
    for (const AnySchedule& s : {AnySchedule(TwoTreeComplete{1}), AnySchedule(TwoTreeSanders{1}),
                                 AnySchedule(TwoTreeSanders{1, true})}) {
      INFO(s.name() << ", " << size << " ranks");
      CHECK(cost_of(s, bcast, size, 40).sent <= 42);
      CHECK(cost_of(s, reduce, size, 40).sent <= 42);
      CHECK(cost_of(s, reduce, size, 40).combined <= 42);
      CHECK(cost_of(s, allreduce, size, 40).sent <= 84);
    }
    CHECK(cost_of(ReorderedTwoTree{1}, bcast, size, 40).sent <= 42);
  }
  // The colours let each position send one and receive one in a round. In an allreduce the way down
  // begins while others are on the way up.
  for (const int size : {2, 7, 8, 21}) {
    const auto fill = static_cast<std::size_t>(2 * doubling_rounds(size) + 4);
    for (const AnySchedule& s :
         {AnySchedule(TwoTreeSanders{1}), AnySchedule(TwoTreeSanders{1, true})}) {
      INFO(s.name() << ", " << size << " ranks");
      CHECK(cost_of(s, bcast, size, 40).rounds <= 40 + fill);
      CHECK(cost_of(s, reduce, size, 40).rounds <= 40 + fill);
      CHECK(cost_of(s, allreduce, size, 40).rounds <= 80 + 2 * fill);
    }
  }
}

TEST_CASE("after the last arrival, a straggler's rounds are blocks and latencies", "[schedule]") {
  constexpr std::size_t late = 1000;
  for (const int size : {2, 4, 8, 16, 32}) {
    for (const std::size_t blocks : {1U, 7U, 32U}) {
      INFO(size << " ranks, " << blocks << " blocks");
      const Cost cost = cost_of(StragglAR{10}, allreduce, size, blocks * 10, late);
      const auto q = static_cast<std::size_t>(doubling_rounds(size));
      CHECK(cost.rounds == blocks + (size == 2 ? 0 : q));
    }
  }
  for (int size = 3; size <= 33; ++size) {
    const std::size_t blocks = 64;
    const Cost cost = cost_of(StragglAR{10}, allreduce, size, blocks * 10, late);
    const auto q = static_cast<std::size_t>(doubling_rounds(size));
    INFO(size << " ranks");
    CHECK(cost.rounds <= blocks * 7 / 4 + 2 * q);
  }
}
