// SPDX-License-Identifier: BSD-3-Clause
// Persistent calls among processes: all forms, and what becomes of their communicators and buffers.

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/papcoll.hpp>
#include <papcoll/persistent.hpp>
#include <papcoll/registration.hpp>
#include <papcoll/shared_vector.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "outcome.hpp"
#include "own_comm.hpp"
#include "persistent_calls.hpp"

using papcoll::Communicator;
using papcoll::Persistent;

namespace {

constexpr std::chrono::seconds for_long{60};

}  // namespace

TEST_CASE("persistent calls of all collectives and forms, processes", "[persistent]") {
  const OwnComm own;
  Communicator comm{own.get(), {.deadline = for_long, .chunk_bytes = 1024}};
  for (const std::string name :
       {"", "ShmTransport", "MpiTransport", "Exchange", "DynamicLeader", "PeerSlices", "SplitTail",
        "Ring+MpiTransport", "Binomial+ShmTransport", "Linear+MpiTransport",
        "Hierarchical:Exchange,RecursiveDoubling"}) {
    if (!name.empty() && !runs_on(comm, papcoll::algorithm(name))) continue;
    for (const std::size_t elements : {1U, 1000U}) {
      INFO(name << ", " << elements);
      CHECK(persistent_calls::problems(comm, name, elements, 7) == "");
    }
  }
}

TEST_CASE("a persistent call of a bare MPI communicator", "[persistent]") {
  const OwnComm own;
  std::vector<int> data(3);
  Persistent sum = papcoll::allreduce_init(own.get(), data);
  for (int i = 0; i < 50; ++i) {
    data.assign(3, i);
    sum();
    CHECK(data == std::vector<int>(3, i * own.size()));
  }
}

TEST_CASE("a persistent call whose MPI communicator was freed says so", "[persistent]") {
  MPI_Comm mpi = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &mpi);
  int x = 1;
  Persistent sum = papcoll::allreduce_init(mpi, &x, 1);
  Persistent ring = papcoll::allreduce_init<papcoll::Ring>(mpi, &x, 1);
  Persistent barrier = papcoll::barrier_init(mpi);
  sum();
  barrier();
  MPI_Comm_free(&mpi);
  for (Persistent* const call : {&sum, &ring, &barrier}) {
    for (const Outcome& o : {outcome_of([&] { (*call)(); }), outcome_of([&] { call->start(); })}) {
      CAPTURE(o);
      CHECK(o.kind == "broken_communicator");
      CHECK(o.says("its MPI communicator was freed"));
      CHECK(o.says("on rank"));
    }
  }
}

TEST_CASE("a persistent call whose communicator is freed while it is under way", "[persistent]") {
  MPI_Comm mpi = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &mpi);
  std::vector<int> data(100, 1);
  Persistent sum = papcoll::allreduce_init(mpi, data);
  sum();
  sum.start();
  const bool began = sum.is_active();
  MPI_Comm_free(&mpi);
  const Outcome o = outcome_of([&] { sum.wait(); });
  CHECK(o.kind == (began ? "broken_communicator" : "fine"));
}

TEST_CASE("a persistent call goes with the registrations of its buffers", "[persistent]") {
  const OwnComm own;
  Communicator comm{own.get(), {.deadline = for_long}};
  std::vector<int> data(20'000);
  Persistent sum = papcoll::allreduce_init(comm, data);
  Persistent by_name = papcoll::allreduce_init(
      comm, data, papcoll::sum,
      comm.nodes() == 1 ? papcoll::algorithm("PeerSlices") : papcoll::Algorithm{});
  const auto right = [&](int turn) {
    for (Persistent* const call : {&sum, &by_name}) {
      for (std::size_t i = 0; i < data.size(); ++i) {
        data[i] = turn + static_cast<int>(i % 77) + comm.rank();
      }
      (*call)();
      const int of_ranks = comm.size() * (comm.size() - 1) / 2;
      for (std::size_t i = 0; i < data.size(); ++i) {
        if (data[i] != comm.size() * (turn + static_cast<int>(i % 77)) + of_ranks) return false;
      }
    }
    return true;
  };
  for (int i = 0; i < 40; ++i) REQUIRE(right(i));
  for (int round = 0; round < 3; ++round) {
    const papcoll::Registration here{comm, data};
    for (int i = 0; i < 40; ++i) REQUIRE(right(i));
    Persistent made_meanwhile = papcoll::allreduce_init(comm, data, papcoll::max);
    data.assign(data.size(), comm.rank());
    made_meanwhile();
    CHECK(data[19'999] == comm.size() - 1);
  }
  for (int i = 0; i < 40; ++i) REQUIRE(right(i));
}

TEST_CASE("a persistent call knows that its node-shared buffer was freed", "[persistent]") {
  const OwnComm own;
  Communicator comm{own.get(), {.deadline = for_long}};
  auto data =
      std::make_unique<papcoll::shared_vector<int>>(30'000, papcoll::shared_allocator<int>{comm});
  Persistent sum = papcoll::allreduce_init(comm, *data);
  data->assign(30'000, 1);
  sum();
  CHECK((*data)[29'999] == comm.size());
  // What breaks the next call reaches a rank that is still in this one, too.
  MPI_Barrier(own.get());
  const bool frees = comm.rank() == comm.size() - 1;
  if (frees) data.reset();
  const Outcome o = outcome_of([&] { sum(); });
  CAPTURE(o);
  CHECK(o.kind == (frees ? "argument_error" : "peer_error"));
  if (frees) CHECK(o.says("the shared_vector that was its buffer"));
  // Across nodes what breaks it is not heard by all at the same time.
  if (comm.nodes() == 1) CHECK(papcoll::allreduce(comm, 1) == comm.size());
}
