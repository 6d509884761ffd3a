/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives by C, by their names in the profiling interface, too; the same as in calls_mpif.f90. */
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, i;
  double x[4], y[4];
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (i = 0; i < 4; ++i) x[i] = rank;
  for (i = 0; i < 5; ++i) MPI_Allreduce(x, y, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  PMPI_Allreduce(MPI_IN_PLACE, y, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  PMPI_Bcast(x, 4, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  PMPI_Iallreduce(x, y, 4, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return MPI_Finalize();
}
