// SPDX-License-Identifier: BSD-3-Clause
// A program that names an arrival-driven algorithm and its transport, by their own headers.
#include <papcoll/algorithms/arrival/leader_fan.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/communicator.hpp>

#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    papcoll::Communicator comm{MPI_COMM_WORLD};
    std::vector<double> data(10, 1.0);
    papcoll::allreduce<papcoll::DynamicLeader, papcoll::ShmTransport>(comm, data);
  }
  MPI_Finalize();
}
