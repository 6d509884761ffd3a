// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// A first allreduce: every rank brings numbers, and every rank gets their sums.
//
//     mpirun -n 4 ./01_first_allreduce

#include <papcoll/papcoll.hpp>

#include <cstdio>
#include <vector>

namespace {

bool run() {
  // A papcoll::Communicator stands for an MPI communicator. Making it is collective: every rank of
  // MPI_COMM_WORLD makes one. It sets up memory that the ranks of a node share.
  papcoll::Communicator comm{MPI_COMM_WORLD};
  const int rank = comm.rank();
  const int size = comm.size();

  // One number each. The result is returned, the same on all ranks.
  const int ranks_counted = papcoll::allreduce(comm, 1);

  // A vector each, in place: `data` is what this rank brings, and then what all brought, summed
  // position by position. Any contiguous range will do: std::vector, std::array, std::span.
  std::vector<double> data{1.0 * rank, 10.0 * rank, 100.0 * rank};
  papcoll::allreduce(comm, data);

  // Out of place: the input stays as it is. Another operator is another argument.
  const std::vector<int> temperature{20 + rank, 30 - rank};
  std::vector<int> highest(2);
  papcoll::allreduce(comm, temperature, highest, papcoll::max);

  // The other collectives read alike. A root is a type of its own, so that no count passes for it.
  const int word = papcoll::bcast(comm, rank == 0 ? 42 : 0, papcoll::root{0});

  if (rank == 0) {
    std::printf("%d ranks, counted together: %d\n", size, ranks_counted);
    std::printf("sums of what they brought: %g %g %g\n", data[0], data[1], data[2]);
    std::printf("highest temperatures: %d %d\n", highest[0], highest[1]);
  }

  const double sum_of_ranks = size * (size - 1) / 2.0;
  const bool right = ranks_counted == size && data[0] == sum_of_ranks &&
                     data[2] == 100 * sum_of_ranks && highest[0] == 20 + size - 1 &&
                     highest[1] == 30 && word == 42;
  if (!right) std::printf("rank %d: wrong result\n", rank);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool right = false;
  try {
    right = run();
  } catch (const papcoll::error& problem) {  // the other ranks may wait for this one: end them, too
    std::fprintf(stderr, "%s\n", problem.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
