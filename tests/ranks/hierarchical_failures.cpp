// SPDX-License-Identifier: BSD-3-Clause
// Calls by several levels that fail on some rank. Each breaks a communicator of its own.

#include "catch.hpp"
#include "mistakes.hpp"
#include "outcome.hpp"
#include "own_comm.hpp"

#include <papcoll/algorithms/hierarchical/hierarchical.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/communicator.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

using papcoll::Communicator;

namespace {

/// Nodes of two and more ranks: the machine's own, or groups.
papcoll::Options divided(const OwnComm& comm) {
  papcoll::Options o{.deadline = std::chrono::seconds{20}};
  if (Communicator{MPI_COMM_WORLD}.nodes() > 1) return o;
  o.groups = {{}};
  for (int r = 0; r < comm.size(); ++r) o.groups[0].push_back(r < 2 ? 0 : 1);
  return o;
}

const std::string name = "Hierarchical:DynamicLeader+ShmTransport,Rabenseifner+MpiTransport";

}  // namespace

TEST_CASE("hierarchical: an invalid call on one rank", "[hierarchical]") {
  const auto algorithm = papcoll::algorithm(name);
  for (const auto& mistake : mistakes::all<Communicator>()) {
    const OwnComm own;
    for (const int wrong : {0, own.size() - 1}) {
      const OwnComm one;
      Communicator comm{one.get(), divided(one)};
      INFO(papcoll::name_of(mistake.collective) << ", " << wrong << " wrong: " << mistake.says);
      mistakes::Buffers buffers{comm.size()};
      const bool is_wrong = comm.rank() == wrong;
      Outcome mine = outcome_of([&] { mistake.call(comm, buffers, is_wrong, algorithm); });
      if (is_wrong) {
        CAPTURE(mine);
        CHECK(mine.kind == "argument_error");
        CHECK(mine.says(mistake.says));
      } else {
        // In rooted collectives some may have done their part.
        for (int i = 0; i < 5 && mine.is_fine(); ++i) {
          mine = outcome_of([&] { papcoll::barrier(comm, algorithm); });
        }
        CAPTURE(mine);
        CHECK(mine.kind == "peer_error");
      }
    }
  }
}

TEST_CASE("hierarchical: counts that differ", "[hierarchical]") {
  // MPICH 4.0 asks the handler of MPI_COMM_WORLD, whatever communicator a request is of.
  REQUIRE(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
  const OwnComm own;
  Communicator comm{own.get(), divided(own)};
  std::vector<int> data(comm.rank() == comm.size() - 1 ? 3 : 4, 1);
  Outcome mine =
      outcome_of([&] { papcoll::allreduce(comm, data, papcoll::sum, papcoll::algorithm(name)); });
  for (int i = 0; i < 5 && mine.is_fine(); ++i) {
    mine = outcome_of([&] { papcoll::barrier(comm, papcoll::algorithm(name)); });
  }
  CAPTURE(mine);
  CHECK(mine.kind == "peer_error");
  REQUIRE(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
}

TEST_CASE("hierarchical: a rank that does not arrive", "[hierarchical]") {
  const OwnComm own;
  papcoll::Options options = divided(own);
  options.deadline = std::chrono::milliseconds{300};
  Communicator comm{own.get(), options};
  papcoll::barrier(comm, papcoll::algorithm(name));
  if (comm.rank() != comm.size() - 1) {
    const Outcome mine = outcome_of([&] { papcoll::barrier(comm, papcoll::algorithm(name)); });
    CAPTURE(mine);
    CHECK(mine.kind == "deadline_exceeded");
    CHECK(comm.broken());
  }
  MPI_Barrier(MPI_COMM_WORLD);
}
