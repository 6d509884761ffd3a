// SPDX-License-Identifier: BSD-3-Clause
// waits SECONDS: a barrier, a wait and a barrier; prints its rank and how many seconds it took from
// before MPI_Init to after MPI_Finalize.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

int main(int argc, char** argv) {
  const auto begin = std::chrono::system_clock::now();
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  std::this_thread::sleep_for(std::chrono::duration<double>(argc > 1 ? std::atof(argv[1]) : 0.1));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  const std::chrono::duration<double> run = std::chrono::system_clock::now() - begin;
  std::printf("%d %.3f\n", rank, run.count());
  return 0;
}
