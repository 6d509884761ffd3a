// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/papcoll.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int ranks = papcoll::allreduce(MPI_COMM_WORLD, 1);  // a number each, their sum on all
  std::printf("counted %d ranks: %s\n", ranks, papcoll::version().text.data());
  MPI_Finalize();
  return ranks > 1 ? 0 : 1;  // 1 rank: started by another MPI library's mpirun
}
