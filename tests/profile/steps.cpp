// SPDX-License-Identifier: BSD-3-Clause
// steps N: what simulations do: N steps of some work, each with two sums over all ranks.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

void energies() {
  std::array<double, 3> mine{1, 2, 3};
  std::array<double, 3> all{};
  MPI_Allreduce(mine.data(), all.data(), 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

void step_length() {
  double mine = 1;
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100;
  for (int i = 0; i < steps; ++i) {
    // Leaves the processor to others, where there are more ranks than processors.
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    step_length();
    energies();
  }
  MPI_Finalize();
  return 0;
}
