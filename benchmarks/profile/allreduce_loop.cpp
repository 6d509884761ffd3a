// SPDX-License-Identifier: BSD-3-Clause
// allreduce_loop CALLS: nanoseconds a call of an 8-byte allreduce, on MPI_COMM_SELF (the call's own
// cost, and nothing of the other ranks) and on MPI_COMM_WORLD, as JSON from rank 0.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

namespace {

double per_call(MPI_Comm comm, int calls) {
  double x = 1;
  double y = 0;
  constexpr int warm_up = 1000;
  for (int i = 0; i < warm_up; ++i) MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i) MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, comm);
  return (MPI_Wtime() - begin) / calls * 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  constexpr int usual = 1000000;
  const int calls = argc > 1 ? std::atoi(argv[1]) : usual;
  const double self = per_call(MPI_COMM_SELF, calls);
  const double world = per_call(MPI_COMM_WORLD, calls);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::printf("{\"self\": %.2f, \"world\": %.2f}\n", self, world);
  MPI_Finalize();
  return 0;
}
