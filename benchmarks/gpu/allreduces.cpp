// SPDX-License-Identifier: BSD-3-Clause
#include "bounds.hpp"
#include "json_line.hpp"
#include "parts.hpp"

#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/algorithms/static/three_stage.hpp>
#include <papcoll/gpu.hpp>
#include <papcoll/gpu/transport/cuda_ipc_transport.hpp>

#include <algorithm>

namespace bench {
namespace {

/// The rate is measured on one rank while the others wait.
double traffic_of(GpuRank& rank, std::size_t bytes) {
  double traffic = 0;
  if (rank.speaks()) traffic = copy_traffic(rank.gpus, rank.device, bytes, steady_seconds);
  MPI_Bcast(&traffic, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return traffic;
}

template <class... Ps>
void time_one(GpuRank& rank, const char* policy, const char* buffers, float* data,
              std::size_t bytes, double traffic) {
  const double seconds = rank.median_of([&] {
    papcoll::gpu::allreduce<Ps..., papcoll::CudaIpcTransport>(
        rank.comm, data, bytes / sizeof(float), papcoll::sum, rank.stream());
  });
  if (!rank.speaks()) return;
  JsonLine{"allreduce"}
      .add("ranks", rank.comm.size())
      .add("policy", std::string(policy))
      .add("buffers", std::string(buffers))
      .add("bytes", bytes)
      .add("seconds", seconds)
      .add("bound", memory_bound(bytes, rank.comm.size(), traffic))
      .print();
}

}  // namespace

bool time_allreduces(GpuRank& rank, std::size_t most_bytes) {
  const double traffic = traffic_of(rank, most_bytes);
  if (rank.speaks()) JsonLine{"copy"}.add("traffic", traffic).print();
  const papcoll::gpu::shared_buffer<float, papcoll::CudaIpcTransport> shared{
      rank.comm, most_bytes / sizeof(float)};
  rank.clear(shared.data(), most_bytes);
  for (std::size_t bytes = std::min(64 * MB, most_bytes); bytes <= most_bytes; bytes *= 4) {
    float* const data = shared.data();
    time_one<papcoll::SharedDevice>(rank, "SharedDevice", "shared", data, bytes, traffic);
    time_one<papcoll::DeviceSlices>(rank, "DeviceSlices", "shared", data, bytes, traffic);
    time_one<papcoll::ThreeStage>(rank, "ThreeStage", "shared", data, bytes, traffic);
    time_one<papcoll::Ring>(rank, "Ring", "shared", data, bytes, traffic);
    time_one<>(rank, "default", "shared", data, bytes, traffic);
    const papcoll::gpu::OwnedMemory own{rank.gpus, rank.gpus.allocate(rank.device, bytes)};
    auto* const own_data = reinterpret_cast<float*>(own.get());
    rank.clear(own_data, bytes);
    time_one<papcoll::SharedDevice>(rank, "SharedDevice", "own", own_data, bytes, traffic);
    time_one<>(rank, "default", "own", own_data, bytes, traffic);
  }
  return true;
}

}  // namespace bench
