// SPDX-License-Identifier: BSD-3-Clause
#include "json_line.hpp"
#include "parts.hpp"

#include <papcoll/gpu.hpp>
#include <papcoll/gpu/transport/cuda_ipc_transport.hpp>

namespace bench {

bool time_against_mpi(GpuRank& rank) {
  constexpr std::size_t most = std::size_t{256} << 20U;
  const papcoll::gpu::OwnedMemory memory{rank.gpus, rank.gpus.allocate(rank.device, most)};
  const papcoll::gpu::OwnedHostMemory host{rank.gpus, rank.gpus.allocate_host(most)};
  auto* const data = reinterpret_cast<float*>(memory.get());
  rank.clear(data, most);
  for (std::size_t bytes = 8; bytes <= most; bytes *= 8) {
    const std::size_t n = bytes / sizeof(float);
    const double by_mpi = rank.median_of([&] {
      rank.copy(host.get(), data, bytes);
      MPI_Allreduce(MPI_IN_PLACE, host.get(), static_cast<int>(n), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
      rank.copy(data, host.get(), bytes);
    });
    const auto print = [&](const char* policy, double seconds) {
      if (!rank.speaks()) return;
      JsonLine{"against_mpi"}
          .add("ranks", rank.comm.size())
          .add("policy", std::string(policy))
          .add("bytes", bytes)
          .add("seconds", seconds)
          .add("mpi_seconds", by_mpi)
          .print();
    };
    print("default", rank.median_of([&] {
      papcoll::gpu::allreduce<papcoll::CudaIpcTransport>(rank.comm, data, n, papcoll::sum,
                                                         rank.stream());
    }));
    print("SharedDevice", rank.median_of([&] {
      papcoll::gpu::allreduce<papcoll::SharedDevice, papcoll::CudaIpcTransport>(
          rank.comm, data, n, papcoll::sum, rank.stream());
    }));
  }
  return true;
}

}  // namespace bench
