// SPDX-License-Identifier: BSD-3-Clause
#include "json_line.hpp"
#include "parts.hpp"

#include <papcoll/algorithms/static/ring.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/gpu.hpp>
#include <papcoll/gpu/transport/cuda_ipc_transport.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace bench {
namespace {

constexpr unsigned patience = 60;  ///< seconds until a process that hangs ends itself
constexpr std::size_t most_ranks = 64;

/// When each rank died, in memory that all share: a file in the directory of the results.
double* shared_times(const std::string& file) {
  const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0 || ftruncate(descriptor, most_ranks * sizeof(double)) != 0) {
    throw std::runtime_error("cannot make " + file);
  }
  void* const at =
      mmap(nullptr, most_ranks * sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (at == MAP_FAILED) throw std::runtime_error("cannot map " + file);
  return static_cast<double*>(at);
}

void die_after(double seconds, double* when) {
  std::thread([seconds, when] {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    *static_cast<volatile double*>(when) = steady_seconds();
    kill(getpid(), SIGKILL);
  }).detach();
}

/// One call of the algorithm that is in turn.
void call(papcoll::Communicator& comm, int turn, float* data, std::size_t n, void* stream) {
  using papcoll::CudaIpcTransport;
  switch (turn % 4) {
    case 0: return papcoll::gpu::allreduce<CudaIpcTransport>(comm, data, n, papcoll::sum, stream);
    case 1:
      return papcoll::gpu::allreduce<papcoll::SharedDevice, CudaIpcTransport>(comm, data, n,
                                                                              papcoll::sum, stream);
    case 2:
      return papcoll::gpu::allreduce<papcoll::DeviceSlices, CudaIpcTransport>(comm, data, n,
                                                                              papcoll::sum, stream);
    default:
      return papcoll::gpu::allreduce<papcoll::Ring, CudaIpcTransport>(comm, data, n, papcoll::sum,
                                                                      stream);
  }
}

/// Calls until one throws, which says what happened.
std::string outcome_of(papcoll::Communicator& comm, int turn, float* data, std::size_t n,
                       void* stream) {
  try {
    for (;;) call(comm, turn, data, n, stream);
  } catch (const papcoll::peer_lost&) {
    return "peer_lost";
  } catch (const papcoll::broken_communicator&) {
    return "broken_communicator";
  } catch (const papcoll::gpu::device_error&) {
    return "device_error";
  } catch (const papcoll::error&) {
    return "error";
  }
}

}  // namespace

void lose_ranks(const std::string& directory, unsigned seed) {
  alarm(patience);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double* const died = shared_times(directory + "/died." + std::to_string(seed));
  std::ofstream file{directory + "/" + std::to_string(seed) + "." + std::to_string(rank) +
                     ".jsonl"};

  std::mt19937 bits(seed);  // the same on all ranks
  std::vector<int> order(static_cast<std::size_t>(size));
  for (int r = 0; r < size; ++r) order[static_cast<std::size_t>(r)] = r;
  std::shuffle(order.begin(), order.end(), bits);
  const auto dies_at = std::find(order.begin(), order.end(), rank) - order.begin();

  // Communicators without those that are dead by then; MPI could make none later.
  std::vector<std::unique_ptr<papcoll::Communicator>> communicators;
  for (int phase = 0; phase + 1 < size; ++phase) {
    MPI_Comm mpi = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, dies_at >= phase ? 0 : MPI_UNDEFINED, rank, &mpi);
    if (mpi != MPI_COMM_NULL) {
      communicators.push_back(std::make_unique<papcoll::Communicator>(mpi));
    }
  }
  papcoll::gpu::CudaRuntime gpus;
  const int device = rank % gpus.devices();
  cudaSetDevice(device);
  constexpr std::size_t most = std::size_t{4} << 20U;
  MPI_Barrier(MPI_COMM_WORLD);

  int phase = 0;
  for (const auto& comm : communicators) {
    const int victim = order[static_cast<std::size_t>(phase)];
    const std::size_t n = 1 + bits() % (most / sizeof(float));
    const double life = 0.03 * static_cast<double>(bits() % 1000) / 1000;
    // Of its own: what waits for a dead process in the last phase's may wait for ever.
    auto* const data = reinterpret_cast<float*>(gpus.allocate(device, most));
    const papcoll::gpu::Stream stream = gpus.make_stream(device);
    if (victim == rank) {
      call(*comm, phase, data, n, stream);  // all are connected when it dies
      die_after(life, &died[rank]);
    }
    const std::string outcome = outcome_of(*comm, phase, data, n, stream);
    const double seconds = steady_seconds() - *static_cast<volatile double*>(&died[victim]);
    file << JsonLine{"lost"}
                .add("job", seed)
                .add("ranks", size)
                .add("phase", phase)
                .add("rank", rank)
                .add("victim", victim)
                .add("outcome", outcome)
                .add("seconds", seconds)
                .text()
         << std::endl;
    ++phase;
  }
  _exit(EXIT_SUCCESS);
}

}  // namespace bench
