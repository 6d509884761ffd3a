/* SPDX-License-Identifier: BSD-3-Clause */
// Megabytes that rank 0 can still take after an allreduce; or (pack) a bcast of elements with gaps
// whose packed copy there may be no memory for.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int pack(int rank) {
  enum { millions = 80 };
  const int n = millions << 20;
  MPI_Datatype pairs;
  MPI_Type_vector(n / 4, 2, 4, MPI_INT, &pairs);
  MPI_Type_commit(&pairs);
  char* const data = calloc((size_t)n, sizeof(int));
  if (data == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Bcast(data, 1, pairs, 0, MPI_COMM_WORLD);
  if (rank == 0) puts("right");
  free(data);
  MPI_Type_free(&pairs);
  MPI_Finalize();
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int x = 1;
  int y = 0;
  for (int i = 0; i < 10; ++i) MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (argc > 1 && strcmp(argv[1], "pack") == 0) return pack(rank);
  int megabytes = 0;
  enum { piece = 10 };
  for (void* volatile taken = argv; taken != NULL && megabytes < 100000; megabytes += piece) {
    taken = malloc((size_t)piece << 20);
  }
  if (rank == 0) printf("%d MB\n", megabytes);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
