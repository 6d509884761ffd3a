// SPDX-License-Identifier: BSD-3-Clause
// The temperature along a rod whose ends are kept cold and hot, by Jacobi's method: every cell
// becomes the mean of its neighbours, until no cell of any rank changes much.

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <numeric>
#include <utility>
#include <vector>

struct Problem {
  int cells;
  double cold, hot, tolerance;
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  // Rank 0 has read what is asked for, and tells the others.
  Problem problem{};
  if (rank == 0) problem = {.cells = 30, .cold = 10, .hot = 90, .tolerance = 1e-4};
  MPI_Bcast(&problem, static_cast<int>(sizeof problem), MPI_BYTE, 0, MPI_COMM_WORLD);

  // Every rank has some neighbouring cells, and beside them a copy of its neighbours' or an end.
  std::vector<int> cells(static_cast<std::size_t>(size), problem.cells / size);
  for (int r = 0; r < problem.cells % size; ++r) ++cells[static_cast<std::size_t>(r)];
  const auto mine = static_cast<std::size_t>(cells[static_cast<std::size_t>(rank)]);
  std::vector<double> now(mine + 2, 0.0);
  if (rank == 0) now.front() = problem.cold;
  if (rank == size - 1) now.back() = problem.hot;
  std::vector<double> next = now;
  const int below = rank == 0 ? MPI_PROC_NULL : rank - 1;
  const int above = rank == size - 1 ? MPI_PROC_NULL : rank + 1;

  int steps = 0;
  double change = 0;
  do {
    MPI_Sendrecv(&now[1], 1, MPI_DOUBLE, below, 0, &now[mine + 1], 1, MPI_DOUBLE, above, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&now[mine], 1, MPI_DOUBLE, above, 0, &now[0], 1, MPI_DOUBLE, below, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double largest = 0;
    for (std::size_t i = 1; i <= mine; ++i) {
      next[i] = (now[i - 1] + now[i + 1]) / 2;
      largest = std::max(largest, std::abs(next[i] - now[i]));
    }
    std::swap(now, next);
    MPI_Allreduce(&largest, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    ++steps;
  } while (change > problem.tolerance);

  std::vector<int> begins(cells.size());
  std::exclusive_scan(cells.begin(), cells.end(), begins.begin(), 0);
  std::vector<double> rod(rank == 0 ? static_cast<std::size_t>(problem.cells) : 0);
  MPI_Gatherv(&now[1], static_cast<int>(mine), MPI_DOUBLE, rod.data(), cells.data(), begins.data(),
              MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("%d steps\n", steps);
    for (const double cell : rod) std::printf("%.6f\n", cell);
  }
  MPI_Finalize();
}
