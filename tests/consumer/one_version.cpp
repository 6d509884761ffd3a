// SPDX-License-Identifier: BSD-3-Clause
// A rank that ends in good order when papcoll refuses the other ranks of its job: see mixed.sh.

#include <mpi.h>

#include <cstdio>
#include <exception>

int sum_by_other_version(MPI_Comm comm, int value);

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    static_cast<void>(sum_by_other_version(MPI_COMM_WORLD, 1));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    MPI_Finalize();
    return 3;
  }
  MPI_Finalize();
  return 0;
}
