// Megabytes that rank 0 can still take after an allreduce.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int x = 1;
  int y = 0;
  for (int i = 0; i < 10; ++i) MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
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
