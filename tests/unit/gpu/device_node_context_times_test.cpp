// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/gpu/device_reducer.hpp>
#include <papcoll/gpu/device_slices.hpp>
#include <papcoll/gpu/model.hpp>
#include <papcoll/gpu/shared_device.hpp>
#include <papcoll/simulate/on_devices.hpp>

#include <cstddef>
#include <functional>
#include <vector>

#include "device_team.hpp"

// What the headers of arrival-driven algorithms on devices say of times, by the model.

using namespace papcoll;

namespace {

/// Seconds of the second of two allreduces in place of `count` floats, to which all come at once.
template <DeviceAlgorithm A>
double modelled_seconds(const gpu::DeviceMachine& machine, int ranks, std::size_t count,
                        bool shown) {
  static const std::plus<float> plus;
  static const gpu::DeviceReducer reducer = gpu::host_reducer<float>(plus);
  gpu::ModelOptions options;
  options.move_no_data = true;
  device_team::TeamOnDevices team{machine, ranks, 256, options};
  std::vector<Call> calls(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const int r = static_cast<int>(i);
    std::byte* const data = team.api(r).allocate(team.device(r), count * sizeof(float));
    if (shown) team.endpoints[i]->share(data, count * sizeof(float));
    Call& c = calls[i];
    c.collective = Collective::allreduce;
    c.count = count;
    c.reducer.context = &reducer;
    c.reducer.size = sizeof(float);
    c.reducer.commutative = true;
    c.memory = MemoryKind::device;
    c.stream = team.streams[i];
    c.in = c.out = data;
  }
  double took = 0;
  for (std::uint32_t round = 1; round <= 2; ++round) {
    const double begin = team.model.now();
    std::vector<typename A::Run> runs(calls.size());
    std::vector<bool> done(calls.size());
    const auto context_of = [&](std::size_t i) -> DeviceNodeContext& {
      return *team.endpoints[i]->node_context();
    };
    for (std::size_t i = 0; i < calls.size(); ++i) context_of(i).begin(calls[i], 2 * round, 1);
    for (std::size_t left = calls.size(); left != 0;) {
      for (std::size_t i = 0; i < calls.size(); ++i) {
        if (done[i] || !runs[i].step(context_of(i), calls[i])) continue;
        done[i] = true;
        --left;
        context_of(i).end();
      }
    }
    team.model.run();
    took = team.model.now() - begin;
  }
  CHECK(team.model.problems().empty());
  return took;
}

}  // namespace

TEST_CASE("on one device a kernel moves each vector twice", "[gpu]") {
  constexpr std::size_t count = std::size_t{16} << 20U;
  const gpu::DeviceMachine one = gpu::DeviceMachine::linked(1, 72e9, 60e9, 6e-6);
  const double least = 2 * 4 * count * sizeof(float) / one.devices[0].memory_rate;
  CHECK(modelled_seconds<SharedDevice>(one, 4, count, true) < 1.05 * least);
  // With copies of what three ranks give and get.
  CHECK(modelled_seconds<SharedDevice>(one, 4, count, false) < 1.05 * (1 + 1.5) * least);
}

TEST_CASE("between devices slices take less time than a ring, and one kernel for short vectors",
          "[gpu]") {
  const gpu::DeviceMachine four = gpu::DeviceMachine::linked(4, 72e9, 60e9, 6e-6);
  DeviceSimulation schedules{four};
  const auto by_ring = schedules.seconds(Ring{}, Collective::allreduce, std::size_t{4} << 20U);
  CHECK(modelled_seconds<DeviceSlices>(four, 4, std::size_t{4} << 20U, false) < 0.5 * by_ring);
  const auto by_doubling = schedules.seconds(RecursiveDoubling{}, Collective::allreduce, 16384);
  CHECK(modelled_seconds<SharedDevice>(four, 4, 16384, false) < 0.8 * by_doubling);
}
