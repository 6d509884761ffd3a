#include "catch.hpp"

#include <papcoll/algorithms/static/all.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "device_team.hpp"

// How long calls take on the model: GPUs on two sockets, whose link is slower than those within.

using namespace papcoll;

namespace {

constexpr std::size_t MB = std::size_t{1} << 20U;

/// Seconds of an allreduce of floats among 2 + 2 GPUs, in memory that peers may map.
double seconds_of_allreduce(const AnySchedule& schedule, std::size_t bytes, double within) {
  constexpr int ranks = 4;
  gpu::ModelOptions only_times;
  only_times.move_no_data = true;
  device_team::Team team{gpu::DeviceMachine::two_sockets(2, within, 28e9, 12e9, 6e-6), ranks, 256,
                         only_times};
  Shape shape;
  shape.collective = Collective::allreduce;
  shape.size = ranks;
  shape.count = bytes / sizeof(float);
  shape.element_size = sizeof(float);
  shape.in_place = true;
  const Order order = static_order(shape);
  gpu::DeviceReducer reducer = gpu::host_reducer<float>(sum);
  std::vector<std::byte*> buffers;
  std::deque<PlanRun> runs(ranks);
  double begin = 0;
  for (std::uint32_t sequence : {1U, 2U}) {  // the second has its memory and imports
    team.model.run();
    begin = team.model.now();
    for (int r = 0; r < ranks; ++r) {
      const auto i = static_cast<std::size_t>(r);
      if (sequence == 1) {
        buffers.push_back(team.api(r).allocate(r, bytes));
        team.endpoints[i]->share(buffers[i], bytes);
      }
      Call made;
      made.collective = shape.collective;
      made.count = shape.count;
      made.reducer.context = &reducer;
      made.reducer.size = sizeof(float);
      made.memory = MemoryKind::device;
      made.stream = team.streams[i];
      made.in = made.out = buffers[i];
      shape.rank = r;
      runs[i].start(*team.endpoints[i],
                    std::make_shared<BlockedPlan>(make_plan(schedule, shape, order)), order, made,
                    sequence, 4);
    }
    CHECK(team.finish(runs));
  }
  team.model.run();
  const double took = team.model.now() - begin;
  CHECK(team.model.problems().empty());
  return took;
}

template <class S>
double best_of_segments(S schedule, std::size_t bytes, double within) {
  double best = 1e9;
  for (const std::size_t segment : {MB / 4, MB / 2, MB, 2 * MB, 4 * MB}) {
    schedule.segment_bytes = segment;
    best = std::min(best, seconds_of_allreduce(schedule, bytes, within));
  }
  return best;
}

}  // namespace

TEST_CASE("three stages beat the segmented ring where sockets have a slow link", "[gpu][times]") {
  // One path within a socket, and two.
  for (const double within : {72e9, 116e9}) {
    const double ring = best_of_segments(SegmentedRing{}, 64 * MB, within);
    const double stages = best_of_segments(ThreeStage{}, 64 * MB, within);
    CAPTURE(within, ring, stages);
    CHECK(ring / stages >= 1.35);
    // No algorithm crosses the link in less.
    CHECK(stages >= 64.0 * MB / 28e9);
  }
}
