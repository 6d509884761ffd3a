#include <papcoll/algorithm.hpp>
#include <papcoll/communicator.hpp>

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

constexpr std::chrono::seconds patience{30};

papcoll::Options along_machine(int ranks) {
  papcoll::Options options;
  options.deadline = patience;
  options.machine = machines::dealt_by_node(ranks, (ranks + 2) / 3);
  return options;
}

std::string whole_matrix(papcoll::Communicator& comm, const char* transport) {
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
  papcoll::Communicator comm{own.get(), along_machine(own.size())};
  CHECK(whole_matrix(comm, "ShmTransport") == "");
}

TEST_CASE("all static schedules along a machine, MPI messages", "[topology]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), along_machine(own.size())};
  CHECK(whole_matrix(comm, "MpiTransport") == "");
}
