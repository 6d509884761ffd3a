// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/all.hpp>
#include <papcoll/gpu/model.hpp>
#include <papcoll/gpu/paths.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device_team.hpp"

// Messages between ranks that are shared out over several paths: directly, through other devices,
// and through the host, where sender and receiver each drive a copy.

using namespace papcoll;

namespace {

using device_team::Operator;
using device_team::Way;

constexpr double direct_rate = 72e9;
constexpr double host_rate = 60e9;

gpu::DeviceMachine devices_with_paths(int devices) {
  return gpu::DeviceMachine::linked(devices, direct_rate, host_rate, 6e-6);
}

Shape vector_of(Collective c, int ranks, std::size_t count) {
  Shape shape;
  shape.collective = c;
  shape.size = ranks;
  shape.count = count;
  shape.in_place = true;
  return shape;
}

/// Seconds of a bcast from one device to another; the second one on the endpoints.
double seconds_between_two(int devices, Way way, std::size_t bytes) {
  gpu::ModelOptions options;
  options.move_no_data = true;
  device_team::TeamOnDevices team{devices_with_paths(devices), 2, 256, options, way};
  const Shape shape = vector_of(Collective::bcast, 2, bytes / sizeof(float));
  const AnySchedule schedule{Linear{}};
  double seconds = 0;
  std::vector<std::byte*> buffers;
  for (int r = 0; r < 2; ++r) {
    buffers.push_back(team.api(r).allocate(r, bytes));
    team.endpoints[static_cast<std::size_t>(r)]->share(buffers.back(), bytes);
  }
  for (std::uint32_t round = 0; round < 2; ++round) {
    std::deque<PlanRun> runs(2);
    const double begin = team.model.now();
    for (int r = 0; r < 2; ++r) {
      const auto i = static_cast<std::size_t>(r);
      Shape mine = shape;
      mine.rank = r;
      mine.element_size = sizeof(float);
      Call call;
      call.collective = shape.collective;
      call.count = shape.count;
      call.reducer.size = sizeof(float);
      call.memory = MemoryKind::device;
      call.stream = team.streams[i];
      call.in = call.out = buffers[i];
      const Order order = static_order(shape);
      runs[i].start(*team.endpoints[i],
                    papcoll::detail::make_shared<BlockedPlan>(make_plan(schedule, mine, order)),
                    order, call, round, 4);
    }
    CHECK(team.finish(runs));
    team.model.run();
    seconds = team.model.now() - begin;
  }
  for (int r = 0; r < 2; ++r) team.endpoints[static_cast<std::size_t>(r)]->close_imports();
  for (int r = 0; r < 2; ++r) {
    team.endpoints[static_cast<std::size_t>(r)]->unshare(buffers[static_cast<std::size_t>(r)]);
    team.api(r).free(buffers[static_cast<std::size_t>(r)]);
  }
  team.end();
  CHECK(team.model.problems().empty());
  CHECK(team.model.leftovers().empty());
  return seconds;
}

}  // namespace

TEST_CASE("messages over several paths are right, without a race", "[gpu][paths]") {
  for (const int ranks : {2, 3, 4}) {
    for (const bool shared : {false, true}) {
      device_team::TeamOnDevices team{
          devices_with_paths(ranks), ranks, 256, {}, Way::several_paths};
      for (const AnySchedule& s :
           {AnySchedule{Ring{}}, AnySchedule{RecursiveDoubling{}},
            AnySchedule{SegmentedRing{.segment_bytes = 600'000}},
            AnySchedule{ThreeStage{.groups = 2, .segment_bytes = 400'000}}}) {
        CAPTURE(ranks, shared, s.name());
        CHECK(device_team::call(team, s, vector_of(Collective::allreduce, ranks, 60'000),
                                Operator::commutes, {.shared = shared, .pipeline_depth = 2}) == "");
      }
      team.end();
      CHECK(team.model.leftovers().empty());
    }
  }
}

TEST_CASE("of messages over several paths most waits are needed", "[gpu][paths]") {
  const auto found = [](int devices, std::optional<std::size_t> leave_out) {
    gpu::ModelOptions options;
    options.poison = false;
    device_team::TeamOnDevices team{devices_with_paths(devices), 2, 256, options,
                                    Way::several_paths};
    if (leave_out) team.model.leave_out_wait(*leave_out);
    const std::string wrong =
        device_team::call(team, Ring{}, vector_of(Collective::allreduce, 2, 40'000),
                          Operator::commutes, {.shared = true, .rounds = 3});
    return std::pair{team.model.waits(), wrong};
  };
  for (const int devices : {2, 3}) {
    const auto [waits, right] = found(devices, {});
    CHECK(right == "");
    std::size_t missed = 0;
    for (std::size_t k = 0; k < waits; ++k) {
      if (found(devices, k).second.empty()) ++missed;
    }
    CAPTURE(devices, waits, missed);
    CHECK(2 * missed < waits);
  }
}

TEST_CASE("long messages gain from several paths, and short ones lose nothing", "[gpu][paths]") {
  constexpr std::size_t KB = 1024;
  for (const std::size_t bytes : {4 * KB, 64 * KB, 256 * KB, 2048 * KB, 16384 * KB, 65536 * KB}) {
    const double one = seconds_between_two(2, Way::pulled, bytes);
    const double two = seconds_between_two(2, Way::several_paths, bytes);
    const double four = seconds_between_two(4, Way::several_paths, bytes);
    CAPTURE(bytes, one / two, one / four);
    CHECK(two <= one * 1.0001);
    CHECK(four <= one * 1.0001);
    if (bytes == 65536 * KB) {
      CHECK(one / two >= 1.6);
      CHECK(one / four >= 2.7);
    }
  }
}
