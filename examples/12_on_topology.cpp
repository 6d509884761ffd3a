// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Ranks along the machine: OnTopology has ranks that are near to each other play neighbours of the
// ring. The machine is described in code here, so that this also shows on one computer.
//
//     mpirun -n 4 ./12_on_topology                    2 nodes, ranks dealt out to them in turn
//     mpirun -n 4 ./12_on_topology cluster.network    the machine of a network file

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/papcoll.hpp>
#include <papcoll/topology/network_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace {

// Rank r is on node r mod 2, as with `mpirun --map-by node`. In rank order each message of a ring
// goes to the other node. Along the machine, with 4 ranks, the ring is 0, 2, 1, 3: two messages of
// each round stay on a node.
papcoll::Machine ranks_by_node(int ranks) {
  std::vector<papcoll::Place> places;
  for (int rank = 0; rank < ranks; ++rank) {
    papcoll::Place place;  // what is not set is unknown: Place::anywhere
    place.node = rank % 2;
    place.core = static_cast<std::uint16_t>(rank / 2);
    places.push_back(place);
  }
  return papcoll::Machine{std::move(places)};  // both nodes on one switch
}

// What the call would do, and what its order gains. Nothing is sent, and nothing runs.
std::string explained(papcoll::Communicator& comm, const std::string& name, std::size_t bytes) {
  const papcoll::CallTraits traits{.algorithm = papcoll::algorithm(name)};
  return papcoll::explain(comm, papcoll::Collective::allreduce, bytes, traits).text();
}

bool run(const papcoll::MachineSource& machine) {
  papcoll::Options options;
  options.machine = machine;  // the same on all ranks
  papcoll::Communicator comm{MPI_COMM_WORLD, options};

  std::vector<double> data(10'000, comm.rank() + 1.0);
  papcoll::allreduce<papcoll::OnTopology, papcoll::Ring, papcoll::MpiTransport>(comm, data);

  if (comm.rank() == 0) {
    const std::size_t bytes = data.size() * sizeof(double);
    std::printf("%s\n", explained(comm, "OnTopology+Ring+MpiTransport", bytes).c_str());
    std::printf("%s\n", explained(comm, "Ring+MpiTransport", bytes).c_str());
  }
  const double sum = comm.size() * (comm.size() + 1) / 2.0;
  return std::all_of(data.begin(), data.end(), [&](double x) { return x == sum; });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bool right = false;
  try {
    right = argc > 1 ? run(papcoll::network_file(argv[1])) : run(ranks_by_node(ranks));
  } catch (const std::exception& problem) {  // such as a mistake in the network file
    std::fprintf(stderr, "%s\n", problem.what());
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
