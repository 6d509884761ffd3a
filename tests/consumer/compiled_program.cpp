// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/papcoll.hpp>
#include <papcoll/thread_team.hpp>

int collectives_that_fail(papcoll::Communicator& comm);

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int failed = 0;
  {
    papcoll::Communicator comm{MPI_COMM_WORLD};
    failed = collectives_that_fail(comm);
  }
  MPI_Finalize();
  papcoll::ThreadTeam team{2};
  team.run([](papcoll::ThreadTeam::Rank& rank) { papcoll::barrier(rank); });
  return failed;
}
