// SPDX-License-Identifier: BSD-3-Clause
// Spawns two more of itself; both worlds make allreduces of their own.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_get_parent(&other);
  const bool is_child = other != MPI_COMM_NULL;
  if (!is_child) {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                   MPI_ERRCODES_IGNORE);
  }
  for (int i = 0; i < (is_child ? 40 : 30); ++i) {
    int x = 1;
    int y = 0;
    MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Barrier(other);
  MPI_Comm_disconnect(&other);
  MPI_Finalize();
  return 0;
}
