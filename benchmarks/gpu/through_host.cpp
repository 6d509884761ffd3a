// SPDX-License-Identifier: BSD-3-Clause
#include "bounds.hpp"
#include "json_line.hpp"
#include "parts.hpp"

#include <papcoll/algorithms/static/three_stage.hpp>
#include <papcoll/gpu.hpp>
#include <papcoll/gpu/transport/cuda_ipc_transport.hpp>
#include <papcoll/gpu/transport/device_transport.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace bench {
namespace {

/// CUDA as where a container forbids IPC.
class WithoutIpc final : public papcoll::gpu::CudaRuntime {
 public:
  papcoll::gpu::MemoryHandle export_memory(std::byte* /*base*/) override {
    throw papcoll::gpu::device_error(papcoll::gpu::Fault::ipc_refused,
                                     "papcoll: gpu_bench refuses IPC");
  }
};

struct DevicesWithoutIpc : papcoll::CudaDevices {
  static constexpr std::string_view transport_name = "WithoutIpc";
  static papcoll::gpu::Api& api() {
    static WithoutIpc runtime;
    return runtime;
  }
};

using ThroughHost = papcoll::DeviceTransport<DevicesWithoutIpc>;

}  // namespace

bool time_through_host(GpuRank& rank, std::size_t most_bytes) {
  HostRates rates;
  if (rank.speaks()) {
    rates = host_rates(rank.gpus, rank.device, rank.device, most_bytes, steady_seconds);
    JsonLine{"host_rates"}
        .add("down", rates.down)
        .add("up", rates.up)
        .add("duplex", rates.duplex)
        .print();
  }
  papcoll::Communicator comm{MPI_COMM_WORLD};
  for (std::size_t bytes = std::min(16 * MB, most_bytes); bytes <= most_bytes; bytes *= 4) {
    const papcoll::gpu::OwnedMemory memory{rank.gpus, rank.gpus.allocate(rank.device, bytes)};
    auto* const data = reinterpret_cast<float*>(memory.get());
    rank.clear(data, bytes);
    const double seconds = rank.median_of([&] {
      papcoll::gpu::allreduce<papcoll::ThreeStage, ThroughHost>(comm, data, bytes / sizeof(float),
                                                                papcoll::sum, rank.stream());
    });
    if (!rank.speaks()) continue;
    JsonLine{"through_host"}
        .add("ranks", comm.size())
        .add("bytes", bytes)
        .add("seconds", seconds)
        .add("bound", host_bound(bytes, comm.size(), rates.duplex))
        .add("was_refused", !comm.why_no_ipc().empty())
        .print();
  }
  return rank.on_all(!comm.why_no_ipc().empty());
}

}  // namespace bench
