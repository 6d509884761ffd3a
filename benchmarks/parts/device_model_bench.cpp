// SPDX-License-Identifier: BSD-3-Clause
// What copies over several paths and ThreeStage gain on a model of a node with four GPUs, as that
// of Temuçin et al., HOTI 2021: two sockets, 72 GB/s between the GPUs of one, 53 GB/s through its
// host memory, 28 GB/s each way between the sockets. Virtual time: nothing else matters.
//
//   device_model_bench      a JSON object a line; benchmarks/reproduce/gpus.py makes a page of them

#include <papcoll/algorithms/static/pipelined.hpp>
#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/algorithms/static/three_stage.hpp>
#include <papcoll/gpu/model.hpp>
#include <papcoll/gpu/multi_path.hpp>
#include <papcoll/simulate/on_devices.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace papcoll;

constexpr double direct = 72e9;
constexpr double through_host = 53e9;
constexpr double two_paths = direct + through_host;
constexpr double between = 28e9;
constexpr double latency = 6e-6;
constexpr double operation = 10e-6;  ///< seconds of an operation without bytes: latency and launch
constexpr std::size_t MB = std::size_t{1} << 20U;

/// Seconds of the second of two copies from GPU 0 to GPU 1; both ways at once, if asked.
double copy_seconds(const std::vector<gpu::Path>& paths, std::size_t bytes, bool both_ways) {
  gpu::ModelOptions options;
  options.move_no_data = true;
  options.poison = false;
  gpu::Model model{gpu::DeviceMachine::linked(2, direct, through_host, latency), options};
  gpu::Api& api = model.process(0);
  std::byte* const memory[2] = {api.allocate(0, 2 * bytes), api.allocate(1, 2 * bytes)};
  gpu::MultiPath there{api, 0, 1, paths};
  gpu::MultiPath back{api, 1, 0, paths};
  const gpu::Stream streams[2] = {api.make_stream(0), api.make_stream(1)};
  double begin = 0;
  for (int round = 0; round < 2; ++round) {
    begin = model.now();
    there.copy(memory[1], memory[0], bytes, streams[1]);
    if (both_ways) back.copy(memory[0] + bytes, memory[1] + bytes, bytes, streams[0]);
    model.run();
  }
  return model.now() - begin;
}

void print_copies() {
  const gpu::Path straight{gpu::Path::direct, direct, direct, operation};
  const gpu::Path staged{gpu::Path::host, through_host, through_host, operation};
  for (std::size_t bytes = 64 * 1024; bytes <= 1024 * MB; bytes *= 2) {
    for (const bool both : {false, true}) {
      const double one = copy_seconds({straight}, bytes, both);
      const double two = copy_seconds({straight, staged}, bytes, both);
      const auto shares = gpu::share_out(std::vector{straight, staged}, bytes);
      std::size_t by_host = 0;
      int chunks = 0;
      for (const gpu::PathShare& s : shares) {
        if (s.path.via != gpu::Path::host) continue;
        by_host = s.bytes;
        chunks = s.chunks;
      }
      std::printf(
          "{\"what\": \"copy\", \"bytes\": %zu, \"both_ways\": %s, \"direct_us\": %.3f, "
          "\"two_paths_us\": %.3f, \"by_host\": %.4f, \"chunks\": %d}\n",
          bytes, both ? "true" : "false", one * 1e6, two * 1e6,
          static_cast<double>(by_host) / static_cast<double>(bytes), chunks);
    }
  }
}

template <class S>
double best_of_segments(DeviceSimulation& devices, S schedule, std::size_t bytes) {
  double best = 1e9;
  for (std::size_t segment = 64 * 1024; segment <= 16 * MB && segment <= bytes; segment *= 2) {
    if (bytes / segment > 1024) continue;
    schedule.segment_bytes = segment;
    best = std::min(best, devices.seconds(schedule, Collective::allreduce, bytes / sizeof(float)));
  }
  return best;
}

void print_allreduces() {
  for (const double within : {direct, two_paths}) {
    DeviceSimulation devices{gpu::DeviceMachine::two_sockets(2, within, between, 12e9, latency)};
    for (std::size_t bytes = 4 * 1024; bytes <= 1024 * MB; bytes *= 4) {
      const std::size_t n = bytes / sizeof(float);
      const auto print = [&](const char* schedule, double seconds) {
        std::printf(
            "{\"what\": \"allreduce\", \"within\": %.0f, \"bytes\": %zu, \"schedule\": "
            "\"%s\", \"us\": %.3f, \"bound_us\": %.3f}\n",
            within, bytes, schedule, seconds * 1e6, static_cast<double>(bytes) / between * 1e6);
      };
      print("RecursiveDoubling", devices.seconds(RecursiveDoubling{}, Collective::allreduce, n));
      print("Ring", devices.seconds(Ring{}, Collective::allreduce, n));
      if (bytes < 64 * 1024) continue;
      print("SegmentedRing", best_of_segments(devices, SegmentedRing{}, bytes));
      print("ThreeStage", best_of_segments(devices, ThreeStage{}, bytes));
    }
  }
}

}  // namespace

int main() {
  print_copies();
  print_allreduces();
}
