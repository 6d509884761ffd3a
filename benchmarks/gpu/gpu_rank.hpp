// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "rates.hpp"
#include "steady.hpp"

#include <papcoll/communicator.hpp>
#include <papcoll/gpu/api.hpp>
#include <papcoll/gpu/cuda_runtime.hpp>
#include <papcoll/statistics/median.hpp>
#include <papcoll/transport/mpi/mpi.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace bench {

/// A process of gpu_bench: its ranks share the node's GPUs in turn.
class GpuRank {
 public:
  /// Throws papcoll::gpu::device_error.
  explicit GpuRank(MPI_Comm mpi)
      : comm{mpi},
        device(comm.rank() % gpus.devices()),
        mpi_(mpi),
        stream_{gpus, gpus.make_stream(device)} {
    if (cudaSetDevice(device) != cudaSuccess) {
      throw papcoll::gpu::device_error(papcoll::gpu::Fault::lost, "papcoll: cudaSetDevice failed");
    }
  }

  /// As the collectives take it.
  void* stream() const noexcept { return stream_.get(); }

  /// Waits for all that is in the stream.
  void finish() { bench::finish(gpus, {stream_.get()}); }

  /// From memory of any kind to memory of any kind; complete when it returns.
  void copy(void* to, const void* from, std::size_t bytes) {
    gpus.copy(to, from, bytes, stream_.get());
    finish();
  }

  /// How many bytes of the device's memory nobody has.
  std::size_t free_memory() const {
    std::size_t free = 0;
    std::size_t all = 0;
    if (cudaMemGetInfo(&free, &all) != cudaSuccess) {
      throw papcoll::gpu::device_error(papcoll::gpu::Fault::lost, "papcoll: cudaMemGetInfo failed");
    }
    return free;
  }

  /// Zeros, whose sums are zeros.
  void clear(void* to, std::size_t bytes) {
    const std::vector<std::byte> zeros(std::min(bytes, std::size_t{16} << 20U));
    for (std::size_t at = 0; at < bytes; at += zeros.size()) {
      copy(static_cast<std::byte*>(to) + at, zeros.data(), std::min(zeros.size(), bytes - at));
    }
  }

  /// From when the first rank begins to when the last one's device is done: the same on all ranks.
  template <class Call> double seconds_of(Call&& call) {
    MPI_Barrier(mpi_);
    std::array<double, 2> times{};
    times[0] = -steady_seconds();
    call();
    finish();
    times[1] = steady_seconds();
    MPI_Allreduce(MPI_IN_PLACE, times.data(), 2, MPI_DOUBLE, MPI_MAX, mpi_);
    return times[1] + times[0];
  }

  /// The median of at least three calls, of more as long as there is time, after one that does not
  /// count.
  template <class Call> double median_of(Call&& call, double time = 0.3) {
    constexpr std::size_t fewest = 3;
    constexpr std::size_t most = 200;
    seconds_of(call);
    std::vector<double> times;
    double sum = 0;
    while (times.size() < fewest || (times.size() < most && sum < time)) {
      times.push_back(seconds_of(call));
      sum += times.back();
    }
    return papcoll::median(times);
  }

  /// Is it so on all ranks?
  bool on_all(bool holds) const {
    int all = holds ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, mpi_);
    return all == 1;
  }

  bool speaks() const { return comm.rank() == 0; }

  papcoll::gpu::CudaRuntime gpus;
  papcoll::Communicator comm;
  int device;

 private:
  MPI_Comm mpi_;
  papcoll::gpu::OwnedStream stream_;
};

}  // namespace bench
