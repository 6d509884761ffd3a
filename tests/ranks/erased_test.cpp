// SPDX-License-Identifier: BSD-3-Clause
// Calls whose element type is known at run time only, processes as ranks.

#include "erased_calls.hpp"
#include "own_comm.hpp"

#include "catch.hpp"

#include <papcoll/papcoll.hpp>

#include <cstddef>

TEST_CASE("erased and typed calls of processes may meet", "[erased]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get()};
  for (const std::size_t count : {std::size_t{0}, std::size_t{3}, std::size_t{20000}}) {
    CHECK(problems_of_erased_calls(comm, count) == "");
  }
}

TEST_CASE("an erased call takes an MPI_Comm", "[erased]") {
  const OwnComm own;
  int ranks = 0;
  MPI_Comm_size(own.get(), &ranks);
  double x = 1;
  papcoll::erased::allreduce(own.get(), &x, &x, 1,
                             papcoll::erased::reducer(papcoll::erased::ElementType::float64,
                                                      papcoll::erased::Operation::sum));
  CHECK(x == ranks);
}
