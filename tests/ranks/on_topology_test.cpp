// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/shared_vector.hpp>
#include <papcoll/topology/machine.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "catch.hpp"
#include "machines.hpp"
#include "matrix.hpp"
#include "mixed.hpp"
#include "own_comm.hpp"

namespace {

constexpr std::chrono::seconds time_enough{30};

papcoll::Options options_of_dealt(int ranks) {
  papcoll::Options options;
  options.deadline = time_enough;
  options.machine = machines::dealt_by_node(ranks, (ranks + 2) / 3);
  return options;
}

std::string matrix_along_machine(papcoll::Communicator& comm, const char* transport) {
  const std::vector<std::size_t> counts{1, 17};
  matrix::Runner runner{comm};
  for (const matrix::Candidate& c : matrix::candidates_along_machine(transport)) {
    if (runs_on(comm, c.algorithm)) runner.run_all(c, counts);
  }
  return runner.problems();
}

}  // namespace

TEST_CASE("all static schedules along a machine, shared memory", "[topology]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), options_of_dealt(own.size())};
  CHECK(matrix_along_machine(comm, "ShmTransport") == "");
}

TEST_CASE("all static schedules along the machine that the ranks find", "[topology]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), {.deadline = time_enough}};
  CHECK(matrix_along_machine(comm, "MpiTransport") == "");
  matrix::Runner runner{comm};
  const std::vector<std::size_t> counts{1, 20'000};  // so long that auto passes messages flat
  runner.run_all({}, counts);
  CHECK(runner.problems() == "");
}

TEST_CASE("slices in two levels, by two caches of two ranks and more", "[topology]") {
  const OwnComm own;
  papcoll::Options options;
  options.deadline = time_enough;
  options.chunk_bytes = 256;
  options.machine = papcoll::Machine::of_cores(1, 1, 2, (own.size() + 1) / 2);
  papcoll::Communicator comm{own.get(), options};
  if (!comm.why_no_shared_memory().empty()) return;
  const std::vector<std::size_t> counts{1, 17, 500, 1000};
  matrix::Runner runner{comm};
  for (const matrix::Candidate& c : matrix::candidates("ShmTransport")) {
    const std::string name = c.name();
    if (name == "automatic" || name == "MultiLeader+ShmTransport" ||
        name == "PeerSlices+ShmTransport") {
      runner.run_all(c, counts);
    }
  }
  CHECK(runner.problems() == "");
  if (own.size() == 4) {
    const papcoll::shared_allocator<double> arena{comm};
    for (const std::size_t n : {100U, 5000U}) {
      std::vector<double, papcoll::shared_allocator<double>> data(n, comm.rank() + 1.0, arena);
      papcoll::allreduce(comm, data, papcoll::sum, papcoll::algorithm("PeerSlices"));
      CHECK(std::count(data.begin(), data.end(), 10.0) == static_cast<std::ptrdiff_t>(n));
      papcoll::barrier(comm);
    }
  }
}

TEST_CASE("all static schedules along a machine, MPI messages", "[topology]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), options_of_dealt(own.size())};
  CHECK(matrix_along_machine(comm, "MpiTransport") == "");
}
