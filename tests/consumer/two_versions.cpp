// SPDX-License-Identifier: BSD-3-Clause
// Two versions of papcoll take turns on one MPI communicator.

#include <papcoll/papcoll.hpp>

int sum_by_other_version(MPI_Comm comm, int value);

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int sum = size * (size - 1) / 2;
  int wrong = 0;
  for (int i = 0; i < 10; ++i) {
    wrong += papcoll::allreduce(MPI_COMM_WORLD, rank) != sum;
    wrong += sum_by_other_version(MPI_COMM_WORLD, rank) != sum;
  }
  MPI_Finalize();
  return wrong;
}
