// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/call.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/op.hpp>
#include <papcoll/gpu/device_reducer.hpp>
#include <papcoll/gpu/model.hpp>
#include <papcoll/gpu/transport/device_endpoint.hpp>
#include <papcoll/gpu/transport/mailbox.hpp>
#include <papcoll/schedule/make_plan.hpp>
#include <papcoll/schedule/plan_run.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/schedule/vector_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {

/// How long calls by static schedules take between devices of a machine, by the model of GPUs and
/// the endpoint that runs on GPUs: one rank a device, buffers that peers may map, no data. Hosts
/// take no time.
class DeviceSimulation {
 public:
  /// Ranks on the machine's devices; `pipeline_depth` blocks of a plan are in flight at once.
  explicit DeviceSimulation(const gpu::DeviceMachine& machine, std::size_t pipeline_depth = 4)
      : model_(machine, times_only()), pipeline_depth_(pipeline_depth) {
    ranks_ = machine.size();
    boxes_ = std::vector<Mailbox>(static_cast<std::size_t>(ranks_) * ranks());
    endpoints_.reserve(ranks());
    streams_.reserve(ranks());
    for (int r = 0; r < ranks_; ++r) {
      std::vector<DeviceEndpoint::Peer> peers;
      peers.reserve(ranks());
      for (int p = 0; p < ranks_; ++p) {
        peers.push_back(p == r ? DeviceEndpoint::Peer{}
                               : DeviceEndpoint::Peer{&box(r, p), &box(p, r)});
      }
      gpu::Api& api = model_.process(r);
      model_.set_current_device(r, r);
      endpoints_.push_back(
          std::make_unique<DeviceEndpoint>(api, r, peers, [](const Reducer& reducer) {
            return *static_cast<const gpu::DeviceReducer*>(reducer.context);
          }));
      streams_.push_back(api.make_stream(r));
    }
  }

  /// Seconds of a call, in place if it is an allreduce, of `count` elements of floats, the second
  /// one in the same buffers. Throws error if the model finds a fault in it.
  double seconds(const AnySchedule& schedule, Collective collective, std::size_t count) {
    std::vector<std::byte*> buffers = allocate(collective, count);
    static_cast<void>(once(schedule, collective, count, buffers));
    const double took = once(schedule, collective, count, buffers);
    for (auto& e : endpoints_) e->close_imports();
    for (int r = 0; r < ranks_; ++r) {
      endpoints_[at(r)]->unshare(buffers[at(r)]);
      model_.process(r).free(buffers[at(r)]);
    }
    const auto problems = model_.problems();
    if (!problems.empty()) throw error(problems.front());
    return took;
  }

 private:
  static gpu::ModelOptions times_only() {
    gpu::ModelOptions options;
    options.move_no_data = true;
    options.poison = false;
    return options;
  }
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  std::size_t ranks() const { return static_cast<std::size_t>(ranks_); }
  Mailbox& box(int from, int to) { return boxes_[at(from) * ranks() + at(to)]; }

  Shape shape_of(Collective collective, std::size_t count, int rank) const {
    Shape shape;
    shape.collective = collective;
    shape.size = ranks_;
    shape.rank = rank;
    shape.count = count;
    shape.element_size = sizeof(float);
    shape.in_place = collective == Collective::allreduce;
    return shape;
  }

  /// For each rank, its input and behind it its output.
  std::vector<std::byte*> allocate(Collective collective, std::size_t count) {
    std::vector<std::byte*> buffers;
    for (int r = 0; r < ranks_; ++r) {
      const Layout layout = layout_of(shape_of(collective, count, r));
      const std::size_t bytes = (layout.in + layout.out + 1) * sizeof(float);
      buffers.push_back(model_.process(r).allocate(r, bytes));
      endpoints_[at(r)]->share(buffers.back(), bytes);
    }
    return buffers;
  }

  double once(const AnySchedule& schedule, Collective collective, std::size_t count,
              const std::vector<std::byte*>& buffers) {
    static const gpu::DeviceReducer sums = gpu::host_reducer<float>(sum);
    const Order order = static_order(shape_of(collective, count, 0));
    const double begin = model_.now();
    std::deque<PlanRun> runs(ranks());
    ++calls_;
    for (int r = 0; r < ranks_; ++r) {
      const Shape shape = shape_of(collective, count, r);
      const Layout layout = layout_of(shape);
      Call call;
      call.collective = collective;
      call.count = count;
      call.reducer.context = &sums;
      call.reducer.size = sizeof(float);
      call.memory = MemoryKind::device;
      call.stream = streams_[at(r)];
      call.out = buffers[at(r)] + layout.in * sizeof(float);
      call.in = layout.input_is_in_out ? call.out : buffers[at(r)];
      runs[at(r)].start(
          *endpoints_[at(r)],
          papcoll::detail::make_shared<BlockedPlan>(make_plan(schedule, shape, order)), order, call,
          calls_, pipeline_depth_);
    }
    const auto all_done = [&runs] {
      return std::all_of(runs.begin(), runs.end(), [](const PlanRun& r) { return r.done(); });
    };
    while (!all_done()) {
      bool moved = false;
      for (auto& e : endpoints_) moved |= e->progress();
      if (!moved)
        throw error("papcoll: the schedule comes to no end: its ranks wait for each other");
    }
    model_.run();
    return model_.now() - begin;
  }

  gpu::Model model_;
  std::size_t pipeline_depth_;
  int ranks_ = 0;
  std::vector<Mailbox> boxes_;
  std::vector<std::unique_ptr<DeviceEndpoint>> endpoints_;
  std::vector<gpu::Stream> streams_;
  std::uint32_t calls_ = 0;
};

}  // namespace papcoll::inline PAPCOLL_ABI
