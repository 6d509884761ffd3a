// SPDX-License-Identifier: BSD-3-Clause
#include "json_line.hpp"
#include "parts.hpp"

#include <papcoll/gpu.hpp>
#include <papcoll/gpu/transport/cuda_ipc_transport.hpp>

#include <random>

namespace bench {

bool cycle_memory(GpuRank& rank, int cycles) {
  std::mt19937 bits(1);  // the same on all ranks
  const auto cycle = [&](std::size_t bytes) {
    const papcoll::gpu::OwnedMemory memory{rank.gpus, rank.gpus.allocate(rank.device, bytes)};
    auto* const data = reinterpret_cast<float*>(memory.get());
    papcoll::gpu::allreduce<papcoll::CudaIpcTransport>(rank.comm, data, bytes / sizeof(float),
                                                       papcoll::sum, rank.stream());
    rank.finish();
  };
  const auto free_now = [&] {
    MPI_Barrier(MPI_COMM_WORLD);
    const std::size_t free = rank.free_memory();
    MPI_Barrier(MPI_COMM_WORLD);
    return free;
  };
  // What papcoll keeps for its calls it has after the longest of them.
  constexpr std::size_t most = std::size_t{4} << 20U;
  for (std::size_t bytes = 4; bytes <= most; bytes *= 2) cycle(bytes);
  const std::size_t before = free_now();
  const double begin = steady_seconds();
  for (int i = 0; i < cycles; ++i) cycle(4 + bits() % (most / 4) * 4);
  const double seconds = steady_seconds() - begin;
  const std::size_t after = free_now();
  if (rank.speaks()) {
    JsonLine{"cycles"}
        .add("ranks", rank.comm.size())
        .add("cycles", cycles)
        .add("seconds", seconds)
        .add("free_before", before)
        .add("free_after", after)
        .print();
  }
  return true;
}

}  // namespace bench
