// SPDX-License-Identifier: BSD-3-Clause
// What papcoll does on GPUs, in lines of JSON. scripts/test_gpu.sh runs all parts and makes a table
// of what is wanted and what was reached.
//
//   gpu_bench memory                  one process: free bytes of the first GPU
//   gpu_bench paths                   one process: a copy over two paths
//   mpirun -n 4 gpu_bench results     types and operators on random data
//   mpirun -n 4 gpu_bench allreduces [MB]    long vectors, 64 MB to MB (default 1024)
//   mpirun -n 4 gpu_bench through_host [MB]  without IPC, 16 MB to MB (default 256)
//   mpirun -n 4 gpu_bench against_mpi        beside MPI_Allreduce on copies in the host
//   mpirun -n 4 gpu_bench cycles [N]  N times (default 10000) allocate, allreduce, free
//   mpirun -n 8 gpu_bench lost DIRECTORY SEED    ranks die
//
// Exit status: 0; 1 if a result was wrong; 2 if it was called wrongly; 77 without a GPU.

#include "json_line.hpp"
#include "parts.hpp"

#include <papcoll/base/error.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace bench;

constexpr int wrong_result = 1;
constexpr int wrong_usage = 2;
constexpr int no_gpu = 77;

int run(const std::vector<std::string>& arguments) {
  const std::string part = arguments.empty() ? "" : arguments[0];
  if (part == "lost" && arguments.size() == 3) {
    // Here, too, all are told if there is no GPU.
    static_cast<void>(papcoll::gpu::CudaRuntime{});
    lose_ranks(arguments[1],
               static_cast<unsigned>(std::strtoul(arguments[2].c_str(), nullptr, 10)));
  }
  const auto number = [&](int otherwise) {
    return arguments.size() > 1 ? std::atoi(arguments[1].c_str()) : otherwise;
  };
  const auto megabytes = [&](int otherwise) {
    return static_cast<std::size_t>(number(otherwise)) << 20U;
  };
  GpuRank rank{MPI_COMM_WORLD};
  bool right = false;
  if (part == "memory") {
    JsonLine{"memory"}.add("free", rank.free_memory()).add("gpus", rank.gpus.devices()).print();
    right = true;
  } else if (part == "paths") {
    right = time_paths(rank);
  } else if (part == "results") {
    right = check_results(rank);
  } else if (part == "allreduces") {
    right = time_allreduces(rank, megabytes(1024));
  } else if (part == "through_host") {
    right = time_through_host(rank, megabytes(256));
  } else if (part == "against_mpi") {
    right = time_against_mpi(rank);
  } else if (part == "cycles") {
    right = cycle_memory(rank, number(10'000));
  } else {
    if (rank.speaks())
      std::fprintf(stderr, "gpu_bench: the beginning of gpu_bench.cpp has the parts\n");
    return wrong_usage;
  }
  return right ? 0 : wrong_result;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int status = wrong_result;
  try {
    status = run({argv + 1, argv + argc});
  } catch (const papcoll::gpu::device_error& e) {
    // Without a GPU all ranks are here; with one, the others may wait for this rank.
    if (e.fault == papcoll::gpu::Fault::no_gpu) {
      if (rank == 0) std::printf("SKIPPED: %s\n", papcoll::detail::bare(e.what()).c_str());
      status = no_gpu;
    } else {
      std::fprintf(stderr, "gpu_bench: rank %d: %s\n", rank, e.what());
      MPI_Abort(MPI_COMM_WORLD, wrong_result);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gpu_bench: rank %d: %s\n", rank, e.what());
    MPI_Abort(MPI_COMM_WORLD, wrong_result);
  }
  MPI_Finalize();
  return status;
}
