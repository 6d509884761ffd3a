// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/papcoll.hpp>

int sum_in_second_unit(papcoll::Communicator& comm, int value);

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int result = 1;
  {
    papcoll::Communicator comm{MPI_COMM_WORLD};
    const int here = papcoll::allreduce(comm, 1);
    if (here == 2 && sum_in_second_unit(comm, comm.rank()) == 1) result = 0;
  }
  MPI_Finalize();
  return result;
}
