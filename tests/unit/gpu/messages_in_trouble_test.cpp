// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/gpu/model.hpp>
#include <papcoll/gpu/paths.hpp>
#include <papcoll/gpu/transport/node_device_endpoint.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "device_team.hpp"

// Messages between devices where a rank computes, gives up, or could not connect.

using namespace papcoll;

namespace {

using device_team::TeamOnDevices;
using device_team::Way;

constexpr std::size_t long_message = std::size_t{64} << 20U;

gpu::DeviceMachine linked_devices_of(int devices) {
  return gpu::DeviceMachine::linked(devices, 72e9, 60e9, 6e-6);
}

/// Starts a bcast of bytes by one rank.
void start_bcast(PlanRun& run, Endpoint& endpoint, int rank, int ranks, int root,
                 std::uint32_t sequence, std::byte* buffer, std::size_t bytes, gpu::Stream stream) {
  Shape shape;
  shape.collective = Collective::bcast;
  shape.size = ranks;
  shape.rank = rank;
  shape.root = root;
  shape.count = bytes;
  shape.element_size = 1;
  shape.in_place = true;
  Call call;
  call.collective = shape.collective;
  call.count = bytes;
  call.root = root;
  call.reducer.size = 1;
  call.memory = MemoryKind::device;
  call.stream = stream;
  call.in = call.out = buffer;
  const Order order = static_order(shape);
  const AnySchedule schedule{Linear{}};
  run.start(endpoint, papcoll::detail::make_shared<BlockedPlan>(make_plan(schedule, shape, order)),
            order, call, sequence, 4);
}

/// A long bcast from rank 0.
struct LongBcast {
  TeamOnDevices team;
  std::vector<std::byte*> buffers;
  std::deque<PlanRun> runs;

  LongBcast(int ranks, int devices, Way way)
      : team{linked_devices_of(devices), ranks, 256, {}, way},
        runs(static_cast<std::size_t>(ranks)) {
    for (int r = 0; r < ranks; ++r) {
      const auto i = static_cast<std::size_t>(r);
      buffers.push_back(team.api(r).allocate(r, long_message));
      start_bcast(runs[i], *team.endpoints[i], r, ranks, 0, 1, buffers[i], long_message,
                  team.streams[i]);
    }
  }
};

/// Rank 2 gets its message while rank 1, which has begun to receive its own, makes no call.
bool others_get_it(Way way) {
  LongBcast b{3, 3, way};
  b.team.endpoints[1]->progress();
  for (int k = 0; k < 2000; ++k) {
    b.team.endpoints[0]->progress();
    b.team.endpoints[2]->progress();
    b.team.model.run();
  }
  const bool got = b.runs[2].done();
  CHECK(b.team.finish(b.runs));
  return got;
}

/// What the model found when a team was given up in the middle.
std::string given_up(int devices, Way way) {
  LongBcast b{2, devices, way};
  for (int k = 0; k < 4; ++k) {
    for (auto& e : b.team.endpoints) e->progress();
  }
  for (auto& run : b.runs) run.abandon(false);
  for (auto& e : b.team.endpoints) e->abandon();
  b.team.endpoints.clear();
  return b.team.model.problems().empty() ? "" : b.team.model.problems().front();
}

}  // namespace

TEST_CASE("a receiver of devices that makes no call stops no other receiver", "[gpu][paths]") {
  CHECK(others_get_it(Way::pulled));
  CHECK(others_get_it(Way::through_host));
  CHECK(others_get_it(Way::several_paths));
}

TEST_CASE("after a team was given up nothing is freed that its devices use", "[gpu][paths]") {
  CHECK(given_up(2, Way::pulled) == "");
  CHECK(given_up(2, Way::several_paths) == "");
  CHECK(given_up(3, Way::several_paths) == "");
}

TEST_CASE("no import is closed from which a half-received message is pulled", "[gpu][paths]") {
  // Of rank 1, which keeps one import: a long message of rank 0, whose host computes, and
  // meanwhile calls with rank 2.
  TeamOnDevices team{linked_devices_of(3), 3, 1, {}, Way::several_paths};
  const std::vector<std::size_t> bytes{long_message, 4096, 4096};
  const std::vector<int> roots{0, 2, 2};
  std::deque<PlanRun> runs(9);
  const auto start = [&](std::size_t call) {
    for (int r = 0; r < 3; ++r) {
      const auto i = static_cast<std::size_t>(r);
      start_bcast(runs[3 * call + i], *team.endpoints[i], r, 3, roots[call],
                  static_cast<std::uint32_t>(2 * call + 1), team.api(r).allocate(r, bytes[call]),
                  bytes[call], team.streams[i]);
    }
  };
  const auto finish_on_rank_1 = [&](std::size_t call) {
    while (!runs[3 * call + 1].done()) {
      team.endpoints[1]->progress();
      team.endpoints[2]->progress();
    }
  };
  start(0);
  team.endpoints[1]->progress();
  start(1);
  finish_on_rank_1(1);
  const gpu::Event behind = team.api(1).make_event(1, false);
  team.api(1).record(behind, team.streams[1]);
  while (!team.api(1).is_complete(behind)) {
  }
  start(2);
  finish_on_rank_1(2);
  CHECK(team.model.problems().empty());
  CHECK(team.finish(runs));
  team.model.run();
  CHECK(team.model.problems().empty());
}

TEST_CASE("who connects again does not import what failed to connect", "[gpu]") {
  gpu::Model model{linked_devices_of(2)};
  std::vector<Mailbox> mail(4);
  std::vector<papcoll::Place> places(3);
  places[2].node = 1;
  const auto machine = papcoll::detail::make_shared<const MachineOnDemand>(places);
  device_team::Loopback network;
  bool none_left = true;
  const auto connect = [&](int r) {
    Node node{r, 2};
    node.device_mailboxes = reinterpret_cast<std::byte*>(mail.data());
    TeamEnvironment s;
    s.rank = r;
    s.size = 3;
    s.nodes = 2;
    s.partial_node = &node;
    s.ranks_here = {0, 1};
    s.processes = false;
    s.machine = machine;
    s.messages = [&, r](std::function<void(const TransportOp&)> told) {
      if (none_left) throw transport_unavailable("no communicator left");
      return network.make(r, std::move(told));
    };
    return std::make_unique<NodeDeviceEndpoint>(model.process(r), s,
                                                &device_team::device_reducer_of);
  };
  for (int r = 0; r < 2; ++r) CHECK_THROWS_AS(connect(r), transport_unavailable);
  none_left = false;
  const auto first = connect(0);
  for (int k = 0; k < 10; ++k) CHECK_NOTHROW(first->progress());
  const auto second = connect(1);
  for (int k = 0; k < 10; ++k) {
    CHECK_NOTHROW(first->progress());
    CHECK_NOTHROW(second->progress());
  }
  CHECK(first->is_decided());
  CHECK(second->is_decided());
}
