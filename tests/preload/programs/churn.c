/* SPDX-License-Identifier: BSD-3-Clause */
/* churn [R=500] [REPEATS=1]: MPI_Comm_split, MPI_Allreduce, MPI_Comm_free, R times; rank 0 prints
   the microseconds of each. With more repeats that many allreduces on each communicator. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "open_things.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 500;
  const int repeats = argc > 2 ? atoi(argv[2]) : 1;
  long wrong = 0;
  struct Open before = {0, 0};
  double begin = 0;
  /* Taken over, it stays so: what a preload keeps for it is there before all is counted. */
  for (int i = 0; i < 40; ++i) MPI_Barrier(MPI_COMM_WORLD);
  for (int i = -5; i < rounds; ++i) {
    if (i == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      before = open_things();
      begin = MPI_Wtime();
    }
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
    int n;
    MPI_Comm_size(comm, &n);
    for (int k = 0; k < repeats; ++k) {
      int x = 3 + k, sum = 0;
      MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, comm);
      wrong += sum != n * x;
    }
    MPI_Comm_free(&comm);
  }
  const double seconds = MPI_Wtime() - begin;
  const struct Open after = open_things();
  if (rank == 0) printf("time %.2f us each\n", seconds / rounds * 1e6);
  printf("rank %d: wrong %ld; more descriptors %ld; more mappings %ld\n", rank, wrong,
         after.descriptors - before.descriptors, after.mappings - before.mappings);
  MPI_Finalize();
  return wrong != 0;
}
