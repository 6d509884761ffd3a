// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// A matrix whose rows are dealt out over the ranks is transposed by one alltoall: what goes to each
// rank is read from where it lies in the rows, column by column, and what comes is written to where
// it belongs. Nothing is copied before or after.
//
//     mpirun -n 3 ./14_transpose

#include <papcoll/papcoll.hpp>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <vector>

namespace {

// This rank's rows of a matrix, one after the other, each of `columns` elements. Every rank has as
// many rows.
struct Rows {
  Rows(std::size_t rows, std::size_t width)
      : height(rows), columns(width), elements(rows * width) {}

  double& at(std::size_t row, std::size_t column) { return elements[row * columns + column]; }

  std::size_t height;
  std::size_t columns;
  std::vector<double> elements;
};

// This rank's rows of the transposed matrix. The number of columns is a multiple of that of ranks.
Rows transposed(papcoll::Communicator& comm, const Rows& mine) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::size_t width = mine.columns / ranks;  // columns that become a rank's rows
  Rows turned{width, mine.height * ranks};

  // To rank r goes the tile of columns r · width and so on, and from it comes the tile that stands
  // at column r · height of what was turned. Both are counted rank by rank, then along the columns
  // of `mine` one after the other, which are rows of `turned`.
  papcoll::alltoall(comm,
                    papcoll::strided(mine.elements.data(), {ranks, width, mine.height},
                                     {width, std::size_t{1}, mine.columns}),
                    papcoll::strided(turned.elements.data(), {ranks, width, mine.height},
                                     {mine.height, turned.columns, std::size_t{1}}));
  return turned;
}

double element(std::size_t row, std::size_t column) {
  return 10000.0 * static_cast<double>(row) + static_cast<double>(column);
}

bool run() {
  papcoll::Communicator comm{MPI_COMM_WORLD};
  const auto me = static_cast<std::size_t>(comm.rank());
  const auto ranks = static_cast<std::size_t>(comm.size());
  Rows mine{200, 300 * ranks};
  for (std::size_t i = 0; i < mine.height; ++i) {
    for (std::size_t j = 0; j < mine.columns; ++j) mine.at(i, j) = element(me * 200 + i, j);
  }

  Rows turned = transposed(comm, mine);

  bool right = turned.height == 300 && turned.columns == 200 * ranks;
  for (std::size_t i = 0; i < turned.height; ++i) {
    for (std::size_t j = 0; j < turned.columns; ++j) {
      right = right && turned.at(i, j) == element(j, me * 300 + i);
    }
  }
  // Once more is where it began.
  right = right && transposed(comm, turned).elements == mine.elements;
  if (me == 0) std::printf("%zu x %zu, over %zu ranks\n", 200 * ranks, mine.columns, ranks);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool right = false;
  try {
    right = run();
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
