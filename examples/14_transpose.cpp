// ranks: 3
// A matrix whose rows are dealt out over the ranks is transposed: every rank sends each rank a tile
// of its rows, and what comes is laid where there is room for it. Blocks have lengths and places.
//
//     mpirun -n 3 ./14_transpose

#include <papcoll/papcoll.hpp>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <vector>

namespace {

// Rows or columns 0 to n - 1, dealt out over the ranks, as evenly as it goes.
struct Share {
  int n;
  int ranks;

  int first(int rank) const { return static_cast<int>(static_cast<long>(n) * rank / ranks); }
  int of(int rank) const { return first(rank + 1) - first(rank); }
};

double element(int row, int column) { return 1000.0 * row + column; }

double& at(std::vector<double>& matrix, int width, int row, int column) {
  return matrix[static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
                static_cast<std::size_t>(column)];
}

// `mine` has this rank's rows of a matrix, of `columns.n` elements each. Gives this rank's rows of
// the transposed matrix, which has columns.n rows of rows.n elements.
std::vector<double> transposed(papcoll::Communicator& comm, std::vector<double>& mine,
                               const Share& rows, const Share& columns) {
  const int me = comm.rank();
  const int height = rows.of(me);    // of my part
  const int width = columns.of(me);  // of my part of the other matrix, turned

  // Column by column, the elements for each rank are neighbours, and one rank's stand after the
  // other's: what goes to rank r is a tile of columns.of(r) by `height`.
  std::vector<double> turned(mine.size());
  for (int i = 0; i < height; ++i) {
    for (int j = 0; j < columns.n; ++j) at(turned, height, j, i) = at(mine, columns.n, i, j);
  }

  // From rank r comes a tile of `width` by rows.of(r). Between tiles a gap is left, as a program
  // may have it that keeps them apart.
  constexpr int gap = 2;
  std::vector<int> sent;
  std::vector<int> received;
  std::vector<int> places;
  int end = 0;
  for (int r = 0; r < comm.size(); ++r) {
    sent.push_back(height * columns.of(r));
    received.push_back(width * rows.of(r));
    places.push_back(end);
    end += received.back() + gap;
  }
  std::vector<double> tiles(static_cast<std::size_t>(end), -1);
  papcoll::alltoallv(comm, turned, papcoll::counts{sent}, tiles, papcoll::blocks{received, places});

  // Rows of tiles become parts of rows.
  std::vector<double> result(static_cast<std::size_t>(width) * static_cast<std::size_t>(rows.n));
  for (int r = 0; r < comm.size(); ++r) {
    const double* tile = tiles.data() + places[static_cast<std::size_t>(r)];
    for (int i = 0; i < width; ++i) {
      for (int j = 0; j < rows.of(r); ++j) at(result, rows.n, i, rows.first(r) + j) = *tile++;
    }
  }
  return result;
}

bool run() {
  papcoll::Communicator comm{MPI_COMM_WORLD};
  const Share rows{700, comm.size()};
  const Share columns{1000, comm.size()};
  const int me = comm.rank();
  std::vector<double> mine(static_cast<std::size_t>(rows.of(me)) * 1000);
  for (int i = 0; i < rows.of(me); ++i) {
    for (int j = 0; j < columns.n; ++j) at(mine, columns.n, i, j) = element(rows.first(me) + i, j);
  }

  std::vector<double> turned = transposed(comm, mine, rows, columns);

  bool right = true;
  for (int i = 0; i < columns.of(me); ++i) {
    for (int j = 0; j < rows.n; ++j) {
      right = right && at(turned, rows.n, i, j) == element(j, columns.first(me) + i);
    }
  }
  // Once more is where it began.
  right = right && transposed(comm, turned, columns, rows) == mine;
  if (me == 0) std::printf("%d x %d, over %d ranks\n", rows.n, columns.n, comm.size());
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
