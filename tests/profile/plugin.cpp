// SPDX-License-Identifier: BSD-3-Clause
// A library that calls MPI, and with -DHOST the program that opens it by a path relative to where
// it stands and then goes elsewhere.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <dlfcn.h>
#include <unistd.h>

#ifdef HOST
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  void* const library = dlopen("./plugin.so", RTLD_NOW);
  if (library == nullptr || chdir("/") != 0) return 1;
  reinterpret_cast<void (*)()>(dlsym(library, "step"))();
  MPI_Finalize();
  return 0;
}
#else
extern "C" void step() {
  int x = 1;
  int y = 0;
  MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}
#endif
