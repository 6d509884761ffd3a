// SPDX-License-Identifier: BSD-3-Clause
// What shrink(), agree() and revoke() refuse, and what they do where MPI does not go on after a
// death; where it does: tests/faults/recovery_test.cpp.

#include <papcoll/communicator.hpp>
#include <papcoll/recovery.hpp>

#include "catch.hpp"

namespace {

int rank_of_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

template <class Comm> void check_refused_as(const Comm& comm, const char* text) {
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(papcoll::shrink(comm), Contains(text));
  CHECK_THROWS_WITH(papcoll::revoke(comm), Contains(text));
}

}  // namespace

TEST_CASE("recovery: where MPI does not go on, it is said why") {
  if (papcoll::no_recovery().empty()) return;
  papcoll::Communicator comm{MPI_COMM_WORLD};
  CHECK_THROWS_AS(papcoll::shrink(comm), papcoll::recovery_unavailable);
  check_refused_as(comm, papcoll::no_recovery().c_str());
  check_refused_as(MPI_COMM_WORLD, papcoll::no_recovery().c_str());
  CHECK(papcoll::agree(comm, true));
  CHECK(papcoll::agree(comm, rank_of_world() != 0) == false);
}

TEST_CASE("recovery: what is no communicator is refused") {
  check_refused_as(MPI_COMM_NULL, "MPI_COMM_NULL");
  CHECK_THROWS_AS(papcoll::agree(MPI_COMM_NULL, true), papcoll::argument_error);

  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  const papcoll::Communicator comm{copy};
  CHECK(comm.mpi_comm() == copy);
  MPI_Comm_free(&copy);
  CHECK(comm.mpi_comm() == MPI_COMM_NULL);
  check_refused_as(comm, "was freed");
  CHECK_THROWS_AS(papcoll::agree(comm, true), papcoll::broken_communicator);
}

TEST_CASE("recovery: codes that tell of no death") {
  CHECK_FALSE(papcoll::tells_of_death(MPI_SUCCESS));
  CHECK_FALSE(papcoll::tells_of_death(MPI_ERR_COMM));
  CHECK_FALSE(papcoll::tells_of_death(-5));
  CHECK_FALSE(papcoll::tells_of_death(123456));
}
