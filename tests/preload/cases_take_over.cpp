// SPDX-License-Identifier: BSD-3-Clause
// PROGRAM CALLS BYTES…: so many allreduces of these lengths by turns, and checks the sums. Then
// rank 0 alone makes one with an operator that is not for its type, which MPI refuses: no rank
// waits.

#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bool is_right = argc > 2;
  for (int i = 0; is_right && i < std::atoi(argv[1]); ++i) {
    const std::size_t n = std::strtoul(argv[2 + i % (argc - 2)], nullptr, 10) / sizeof(double);
    const std::vector<double> in(n, rank + i);
    std::vector<double> out(n);
    MPI_Allreduce(in.data(), out.data(), static_cast<int>(n), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    is_right = out.back() == size * (size - 1) / 2 + size * i;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  char told = 0;
  if (rank == 0) {
    double x = 0;
    double y = 0;
    is_right =
        is_right && MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD) != MPI_SUCCESS;
    MPI_Send(&told, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(&told, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  int all = 0;
  const int mine = is_right ? 1 : 0;
  MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
  if (rank == 0) std::puts(all != 0 ? "all right" : "wrong");
  MPI_Finalize();
  return 0;
}
