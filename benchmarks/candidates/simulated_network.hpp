// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/topology/network.hpp>
#include <papcoll/transport/mpi/mpi.hpp>

namespace bench {

/// The simulated platform's hosts node-0, node-1, … as papcoll is told of them: hops are the links
/// that a message passes, of both ways the mean. Collective. Throws std::invalid_argument, on all
/// ranks, if there are fewer hosts.
papcoll::Network network_by_routes(int nodes, MPI_Comm comm);

}  // namespace bench
