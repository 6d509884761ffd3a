// SPDX-License-Identifier: BSD-3-Clause
// Counts that differ between the rank that sends a block and the one that receives it, in
// non-blocking calls of processes.

#include "outcome.hpp"
#include "own_comm.hpp"

#include "catch.hpp"

#include <papcoll/papcoll.hpp>

#include <chrono>
#include <cstddef>
#include <vector>

namespace {

/// MPICH 4.0 asks the handler of MPI_COMM_WORLD, whatever communicator a request is of.
class ErrorsReturn {
 public:
  ErrorsReturn() { MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); }
  ErrorsReturn(const ErrorsReturn&) = delete;
  ErrorsReturn& operator=(const ErrorsReturn&) = delete;
  ~ErrorsReturn() { MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL); }
};

}  // namespace

TEST_CASE("a block that only its sender or only its receiver calls empty", "[counts]") {
  const ErrorsReturn errors_return;
  for (const bool sender_has_some : {false, true}) {
    const OwnComm own;
    papcoll::Communicator comm{own.get(), {.deadline = std::chrono::seconds{20}}};
    if (comm.size() < 2) return;
    const auto ranks = static_cast<std::size_t>(comm.size());
    std::vector<int> sent(ranks, 2);
    std::vector<int> received(ranks, 2);
    // Rank 0 and rank 1 speak of the block from 0 to 1.
    if (comm.rank() == 0 && !sender_has_some) sent[1] = 0;
    if (comm.rank() == 1 && sender_has_some) received[0] = 0;
    std::size_t gives = 0;
    std::size_t gets = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      gives += static_cast<std::size_t>(sent[r]);
      gets += static_cast<std::size_t>(received[r]);
    }
    const std::vector<double> in(gives, 1.0);
    std::vector<double> out(gets);
    Outcome o = outcome_of([&] {
      papcoll::ialltoallv(comm, in, papcoll::counts{sent}, out, papcoll::counts{received}).wait();
    });
    CAPTURE(comm.rank(), sender_has_some, o);
    if (comm.rank() == 1) CHECK(o.kind == "peer_error");
    // Whoever was done hears of it in a later call.
    for (int i = 0; i < 4 && o.is_fine(); ++i) o = outcome_of([&] { papcoll::barrier(comm); });
    CHECK((o.kind == "peer_error" || o.kind == "broken_communicator"));
  }
}
