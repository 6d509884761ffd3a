// SPDX-License-Identifier: BSD-3-Clause
// Preloaded under MPICH on the virtual cluster, where MPI_Finalize of MPICH 4.0 over UCX's TCP
// hangs: it closes each connection in agreement with the peer, who may be in a barrier of the
// launcher's already and there answers nothing. So nothing is closed in agreement here: the ranks
// see to it that no message is left on its way, and each then drops its connections when it frees
// UCX's worker.

#include <chrono>

#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace {

// A rank's last message of a barrier may leave only after the barrier: no later message tells.
constexpr std::chrono::milliseconds until_all_has_left{200};

}  // namespace

extern "C" void* ucp_disconnect_nb(void* /*endpoint*/) {
  return nullptr;  // there is nothing to wait for
}

extern "C" int MPI_Finalize() {
  PMPI_Barrier(MPI_COMM_WORLD);
  const auto end = std::chrono::steady_clock::now() + until_all_has_left;
  while (std::chrono::steady_clock::now() < end) {  // makes MPI send
    int found = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
  }
  return PMPI_Finalize();
}
