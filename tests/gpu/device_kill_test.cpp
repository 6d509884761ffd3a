// SPDX-License-Identifier: BSD-3-Clause
// Ranks die at chosen operations on their device; the others must say so and go on.
//
//   device_kill_test RESULTS peer_lost WAY allreduce BYTES OPERATION…     (run by faults/kill.sh)
//
// WAY: ipc, host (rank 0 may not share memory), SharedDevice, DeviceSlices, or buffer (one that the
// ranks share, and that each call makes anew). Each OPERATION has its own communicator, without the
// ranks that died before, and its highest rank is the victim: it is killed just before that
// operation, counted from its first call on. Processes have a model of GPUs each.

#include "gpu/fateful_api.hpp"
#include "outcome.hpp"
#include "unit/gpu/device_ranks.hpp"

#include <papcoll/communicator.hpp>
#include <papcoll/gpu.hpp>
#include <papcoll/gpu/model.hpp>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

using namespace device_ranks;

constexpr unsigned patience = 40;                  ///< seconds until a rank that hangs ends itself
constexpr std::chrono::milliseconds soon{10'000};  ///< however busy the machine is
constexpr int most_calls = 10'000;

/// One call; all ranks make the same ones.
void call(Communicator& comm, const std::string& way, int* data, std::size_t n,
          gpu::Stream stream) {
  if (way == "SharedDevice") {
    gpu::allreduce<SharedDevice, ModelTransport>(comm, data, n, sum, stream);
  } else if (way == "DeviceSlices") {
    gpu::allreduce<DeviceSlices, ModelTransport>(comm, data, n, sum, stream);
  } else if (way == "buffer") {
    const gpu::shared_buffer<int, ModelTransport> buffer{comm, n};
    gpu::allreduce<Ring, ModelTransport>(comm, buffer.data(), n, sum, stream);
  } else {
    gpu::allreduce<Ring, ModelTransport>(comm, data, n, sum, stream);
  }
}

/// What is wrong with the outcome of a phase; nothing if all is well.
std::string fault_in(const Outcome& outcome, const Outcome& next, const Communicator& comm) {
  if (outcome.kind != "peer_lost") return outcome.kind + ": " + outcome.what;
  if (!outcome.says("rank " + std::to_string(comm.size() - 1) + " died")) {
    return "the message does not name the victim: " + outcome.what;
  }
  if (!comm.broken()) return "the communicator is not broken";
  if (next.kind != "broken_communicator") return "the next call: " + next.kind + ": " + next.what;
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) return EXIT_FAILURE;
  MPI_Init(&argc, &argv);
  alarm(patience);
  const std::string results = argv[1];
  const std::string way = argv[3];
  const std::size_t n = std::strtoull(argv[5], nullptr, 10) / sizeof(int);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::ofstream file{results + "/" + std::to_string(rank)};
  file << "pid " << getpid() << std::endl;

  const int devices = way == "SharedDevice" ? 1 : 3;
  gpu::Model model{linked(devices), {.between_processes = true}};
  if (way == "host" && rank == 0) model.refuse_ipc(0);
  model.set_current_device(rank, rank % devices);
  FatefulApi api{model.process(rank)};
  ModelDevices::own = &api;

  const auto phases = static_cast<std::size_t>(argc - 6);
  std::vector<Communicator> comms;
  for (std::size_t i = 0; i < phases; ++i) {
    const bool takes_part = rank < size - static_cast<int>(i);
    MPI_Comm mpi = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, rank, &mpi);
    if (takes_part) comms.emplace_back(mpi);
  }
  MPI_Barrier(MPI_COMM_WORLD);

  for (std::size_t i = 0; i < comms.size(); ++i) {
    Communicator& comm = comms[i];
    const gpu::Stream stream = api.make_stream(rank % devices);
    auto* const data = reinterpret_cast<int*>(api.allocate(rank % devices, n * sizeof(int)));
    if (rank == comm.size() - 1) api.die_at(std::strtoull(argv[6 + i], nullptr, 10));
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = outcome_of([&] {
      for (int k = 0; k < most_calls; ++k) call(comm, way, data, n, stream);
    });
    const auto took = std::chrono::steady_clock::now() - start;
    const Outcome next = outcome_of([&] { call(comm, way, data, n, stream); });
    std::string fault = fault_in(outcome, next, comm);
    if (took > soon) fault += " it took long";
    file << argv[6 + i] << ": " << (fault.empty() ? "ok" : fault) << std::endl;
  }
  comms.clear();
  file << "end" << std::endl;
  _exit(EXIT_SUCCESS);
}
