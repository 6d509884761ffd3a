// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/base/collective.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "device_team.hpp"

// Plans between memory of devices that the host cannot read, on the model: results, races, and what
// is left over.

using namespace papcoll;
using namespace device_team;

namespace {

constexpr std::size_t none = ~std::size_t{0};

gpu::DeviceMachine linked_devices(int n) { return gpu::DeviceMachine::linked(n, 72e9, 60e9, 6e-6); }

const std::vector<AnySchedule>& schedules_on_devices() {
  static const std::vector<AnySchedule> all{Linear{},
                                            Chain{},
                                            PipelinedChain{.segment_bytes = 96},
                                            Binomial{},
                                            KNomial{.radix = 3},
                                            BinaryTree{},
                                            PipelinedBinaryTree{.segment_bytes = 96},
                                            TwoTreeComplete{},
                                            ReorderedTwoTree{},
                                            TwoTreeSanders{},
                                            RecursiveDoubling{},
                                            Ring{},
                                            SegmentedRing{.segment_bytes = 48},
                                            ThreeStage{.groups = 2, .segment_bytes = 96},
                                            ThreeStage{.groups = 3, .segment_bytes = 480},
                                            Rabenseifner{},
                                            ReduceScatterGather{},
                                            ScatterAllgather{},
                                            ReduceThenBcast<Binomial, Chain>{},
                                            GatherThenBcast<Binomial, Chain>{},
                                            RecursiveHalving{},
                                            Pairwise{},
                                            SpreadOut{.window = 3},
                                            Bruck{.radix = 3},
                                            NeighbourExchange{},
                                            Dissemination{}};
  return all;
}

Operator operator_for(const AnySchedule& s, Collective c) {
  if (c == Collective::barrier) return Operator::idempotent;
  return s.commutative_only() ? Operator::commutes : Operator::in_order;
}

Shape shape_of(Collective c, int ranks, std::size_t count, bool in_place, const AnySchedule& s) {
  Shape shape;
  shape.collective = c;
  shape.size = ranks;
  shape.count = c == Collective::barrier ? 1 : count;
  shape.root = is_rooted(c) ? ranks - 1 : 0;
  shape.in_place = in_place;
  shape.commutative = operator_for(s, c) != Operator::in_order;
  return shape;
}

/// Everything that the schedules serve, among so many ranks; what was wrong first.
std::string failure_among(int ranks, bool shared, std::size_t count, Way way = Way::pulled) {
  TeamOnDevices team{linked_devices(ranks), ranks, 256, {}, way};
  for (const AnySchedule& s : schedules_on_devices()) {
    for (std::size_t i = 0; i < collective_count; ++i) {
      const auto c = static_cast<Collective>(i);
      if (!s.serves(c)) continue;
      for (const bool in_place : {false, true}) {
        if (in_place && c == Collective::barrier) continue;
        const std::string wrong = call(team, s, shape_of(c, ranks, count, in_place, s),
                                       operator_for(s, c), {.shared = shared});
        if (!wrong.empty()) {
          return s.name() + " " + std::string(name_of(c)) + (in_place ? " in place" : "") + " of " +
                 std::to_string(ranks) + ": " + wrong;
        }
      }
    }
  }
  team.end();
  const auto left = team.model.leftovers();
  return left.empty() ? "" : left.front();
}

}  // namespace

TEST_CASE("every schedule is right on devices, without a race, and leaves nothing", "[gpu]") {
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8}) {
    for (const bool shared : {false, true}) {
      CAPTURE(ranks, shared);
      CHECK(failure_among(ranks, shared, 23) == "");
    }
  }
  CHECK(failure_among(17, false, 40) == "");
}

TEST_CASE("every schedule is right through the host, without a race, and leaves nothing", "[gpu]") {
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    CAPTURE(ranks);
    CHECK(failure_among(ranks, false, 23, Way::through_host) == "");
  }
}

TEST_CASE("every schedule is right across nodes, without a race, and leaves nothing", "[gpu]") {
  for (const int ranks : {3, 4, 7}) {
    CAPTURE(ranks);
    CHECK(failure_among(ranks, false, 23, Way::nodes_of_two) == "");
  }
}

TEST_CASE("each wait that is left out is found", "[gpu]") {
  const auto waits_of = [](const AnySchedule& s, int ranks, std::size_t leave_out, bool shared,
                           Way way) {
    // What is combined too early is no poison, which is no bool either.
    gpu::ModelOptions options;
    options.poison = false;
    TeamOnDevices team{linked_devices(ranks), ranks, 256, options, way};
    if (leave_out != none) team.model.leave_out_wait(leave_out);
    const std::string wrong = call(team, s, shape_of(Collective::allreduce, ranks, 40, true, s),
                                   operator_for(s, Collective::allreduce), {.shared = shared});
    return std::pair{team.model.waits(), wrong};
  };
  const auto not_found = [&](const AnySchedule& s, int ranks, bool shared, Way way = Way::pulled) {
    const auto [waits, right] = waits_of(s, ranks, none, shared, way);
    CHECK(right == "");
    std::size_t missed = 0;
    for (std::size_t k = 0; k < waits; ++k) {
      if (waits_of(s, ranks, k, shared, way).second.empty()) ++missed;
    }
    return std::pair{missed, waits};
  };
  // What nothing needs in an exchange: in the first call a rank pulls into memory that nobody has
  // used. In the last one nothing uses again what was sent from copies, of memory that is not
  // shared: neither the answer need be waited for, nor need the lane wait for that.
  CHECK(not_found(RecursiveDoubling{}, 2, true).first == 2);
  CHECK(not_found(RecursiveDoubling{}, 2, false).first == 2 + 4);
  // In longer chains of messages many waits follow from others.
  for (const AnySchedule& s : {AnySchedule{Ring{}}, AnySchedule{Rabenseifner{}},
                               AnySchedule{ThreeStage{.groups = 2, .segment_bytes = 480}}}) {
    CAPTURE(s.name());
    const auto [missed, waits] = not_found(s, 4, true);
    CHECK(3 * missed < 2 * waits);
  }
  // Through the host, many follow from what a rank has seen to be complete.
  for (const AnySchedule& s : {AnySchedule{RecursiveDoubling{}}, AnySchedule{Ring{}},
                               AnySchedule{ThreeStage{.groups = 2, .segment_bytes = 480}}}) {
    CAPTURE(s.name());
    const auto [missed, waits] = not_found(s, 4, false, Way::through_host);
    CHECK(3 * missed < 2 * waits);
  }
}

TEST_CASE("more messages than a mailbox has slots", "[gpu]") {
  // Each rank has 20 parts for the other one, in segments of an element.
  TeamOnDevices team{linked_devices(2), 2};
  const PipelinedChain chain{.segment_bytes = 24};
  for (const std::size_t depth : {1U, 4U, 16U, 64U}) {
    CAPTURE(depth);
    CHECK(call(team, chain, shape_of(Collective::bcast, 2, 64, false, chain), Operator::in_order,
               {.pipeline_depth = depth}) == "");
  }
  team.end();
  CHECK(team.model.leftovers().empty());
}

TEST_CASE("imports of peers' memory stay few", "[gpu]") {
  TeamOnDevices team{linked_devices(2), 2, 3};
  const Ring ring{};
  for (int i = 0; i < 20; ++i) {
    const auto count = static_cast<std::size_t>(40 + 4000 * i);
    CHECK(call(team, ring, shape_of(Collective::allreduce, 2, count, true, ring),
               Operator::commutes, {.rounds = 1, .run_between = true}) == "");
    CHECK(team.endpoints[0]->imports() <= 3 + 2);
  }
  team.end();
  CHECK(team.model.leftovers().empty());
}
