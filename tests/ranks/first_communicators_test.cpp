// SPDX-License-Identifier: BSD-3-Clause
// The first communicators of a process, made by two threads at once. Run in a process of its own,
// too: what papcoll keeps for the process is then made here.

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/papcoll.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "outcome.hpp"
#include "own_comm.hpp"

using papcoll::Communicator;

namespace {

/// Makes a communicator and uses it; throws if a result is wrong.
void make_and_use(MPI_Comm mpi) {
  Communicator comm{mpi, {.deadline = std::chrono::seconds{60}}};
  const int size = comm.size();
  for (int i = 0; i < 20; ++i) {
    const int sum = papcoll::allreduce(comm, comm.rank() + i);
    if (sum != size * (size - 1) / 2 + size * i) throw papcoll::error("wrong sum");
  }
  std::vector<int> data(20'000, 1);
  papcoll::allreduce(comm, data);
  if (data != std::vector<int>(20'000, size)) throw papcoll::error("wrong sums");
  data.assign(100, 1);
  papcoll::iallreduce(comm, data, papcoll::sum, papcoll::algorithm("MpiTransport")).wait();
  if (data != std::vector<int>(100, size)) throw papcoll::error("wrong sums by messages");
}

}  // namespace

TEST_CASE("two threads make the first communicators at once", "[first]") {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    WARN("SKIPPED: this MPI library was not started for several threads");
    return;
  }
  for (int round = 0; round < 8; ++round) {
    const OwnComm one;
    const OwnComm other;
    const std::array<MPI_Comm, 2> comms{one.get(), other.get()};
    std::array<Outcome, 2> outcomes;
    std::latch both{2};
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < 2; ++i) {
        // Neighbours begin with different ones.
        const std::size_t mine = (i + static_cast<std::size_t>(one.rank())) % 2;
        threads.emplace_back([&, mine] {
          both.arrive_and_wait();
          outcomes[mine] = outcome_of([&] { make_and_use(comms[mine]); });
        });
      }
    }
    CAPTURE(round, outcomes[0], outcomes[1]);
    CHECK(outcomes[0].is_fine());
    CHECK(outcomes[1].is_fine());
  }
}
