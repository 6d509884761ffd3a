// SPDX-License-Identifier: BSD-3-Clause
// A plug-in of plugin_test, which calls papcoll on its host's communicator.

#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/allreduce.hpp>
#include <papcoll/communicator.hpp>

#include <mpi.h>

/// 0: the results are right.
extern "C" [[gnu::visibility("default")]] int run_plugin(MPI_Comm* on) {
  papcoll::Communicator comm{*on};
  using papcoll::RecursiveDoubling;
  int data = 1;
  papcoll::Request request =
      papcoll::iallreduce<RecursiveDoubling, papcoll::ShmTransport>(comm, &data, 1);
  const int ranks = papcoll::allreduce<RecursiveDoubling, papcoll::MpiTransport>(comm, 1);
  request.wait();
  return (data == comm.size() ? 0 : 1) + (ranks == comm.size() ? 0 : 1);
}
