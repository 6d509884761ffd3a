// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/mpi_version.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "forms.hpp"
#include "outcome.hpp"
#include "own_comm.hpp"
#include "requests.hpp"

using papcoll::Communicator;

namespace {

constexpr std::chrono::seconds half_a_minute{30};

}  // namespace

TEST_CASE("every form of every call", "[communicator]") {
  const OwnComm own;
  Communicator comm{own.get(), {.deadline = half_a_minute}};
  CHECK(forms::problems(comm, comm.rank(), comm.size()) == "");
}

TEST_CASE("a bare MPI_Comm", "[communicator]") {
  const OwnComm own;
  MPI_Comm comm = own.get();
  CHECK(forms::problems(comm, own.rank(), own.size()) == "");
  // Its state is there now, whoever asks for it.
  CHECK(Communicator{own.get()}.size() == own.size());
}

TEST_CASE("one MPI communicator, several times", "[communicator]") {
  const OwnComm own;
  const papcoll::Options options{.deadline = half_a_minute};
  Communicator one{own.get(), options};
  Communicator same{own.get()};
  Communicator again{own.get(), options};
  CHECK(&one.core() == &same.core());
  CHECK(&one.core() == &again.core());
  CHECK(same.options().deadline == half_a_minute);
  const Outcome other = outcome_of([&] {
    Communicator{own.get(), {.deadline = std::chrono::seconds{1}}};
  });
  CHECK(other.kind == "argument_error");
  CHECK(other.says("other options (or a call with the bare MPI_Comm made one"));

  Communicator moved = std::move(one);
  one = std::move(same);
  CHECK(papcoll::allreduce(moved, 1) == own.size());
  CHECK(papcoll::allreduce(own.get(), 1) == own.size());
  CHECK(papcoll::allreduce(one, 1) == own.size());
}

TEST_CASE("options that cannot be, or differ among the ranks", "[communicator]") {
  const OwnComm own;
  const auto made_with = [&](const papcoll::Options& options) {
    return outcome_of([&] { Communicator{own.get(), options}; });
  };
  CHECK(made_with({.chunk_bytes = 1000}).kind == "argument_error");
  CHECK(made_with({.pipeline_depth = 3}).kind == "argument_error");
  if (own.size() > 1) {
    const bool odd = own.rank() == own.size() - 1;
    const Outcome differ = made_with({.chunk_bytes = odd ? 4096U : 8192U});
    CHECK(differ.kind == "argument_error");
    CHECK(differ.says("rank " + std::to_string(own.size() - 1)));
    const Outcome one_wrong = made_with({.pipeline_depth = odd ? 0U : 4U});
    CHECK(one_wrong.kind == "argument_error");
    CHECK(one_wrong.says("pipeline_depth is 0"));
  }
  Communicator comm{own.get()};
  CHECK(papcoll::allreduce(comm, 1) == own.size());
}

TEST_CASE("what is no communicator for collectives", "[communicator]") {
  const Outcome null = outcome_of([] { papcoll::barrier(MPI_COMM_NULL); });
  CHECK(null.kind == "argument_error");
  int world_rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  CHECK(null.says("on MPI_COMM_NULL, on rank " + std::to_string(world_rank) + " of"));
  CHECK(outcome_of([] { Communicator{MPI_COMM_NULL}; }).kind == "argument_error");

  const OwnComm own;
  if (own.size() < 2 || papcoll::detail::simulated) return;  // SMPI has no inter-communicators
  const OwnComm half{MPI_COMM_WORLD, own.rank() % 2, 0};
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Intercomm_create(half.get(), 0, own.get(), own.rank() % 2 == 0 ? 1 : 0, 7, &inter);
  const Outcome two_groups = outcome_of([&] { papcoll::barrier(inter); });
  CHECK(two_groups.kind == "argument_error");
  CHECK(two_groups.says("MPI_Intercomm_merge"));
  CHECK(outcome_of([&] { Communicator{inter}; }).kind == "argument_error");
  MPI_Comm_free(&inter);
}

TEST_CASE("requests of all kinds", "[communicator]") {
  const OwnComm own;
  Communicator comm{own.get(), {.deadline = half_a_minute, .first_epoch = 0xfffffff0U}};
  for (const std::string name :
       {"ShmTransport", "MpiTransport", "Ring+MpiTransport", "Linear+MpiTransport",
        "PipelinedChain:64+MpiTransport", "PipelinedBinaryTree:64+ShmTransport"}) {
    for (const std::size_t count : {1U, 3000U / simulated_less}) {
      INFO(name << ", " << count);
      const auto algorithm = papcoll::algorithm(name);
      if (!runs_on(comm, algorithm)) continue;
      CHECK(requests::waited_for_in_any_order(comm, count, algorithm) == "");
      CHECK(requests::tested(comm, count, algorithm) == "");
      CHECK(requests::beside_blocking_calls(comm, count, algorithm) == "");
    }
  }
  CHECK(requests::never_waited_for(comm, 1000) == "");
  CHECK(requests::empty_ones(comm) == "");
}

TEST_CASE("many requests at once", "[communicator]") {
  const OwnComm own;
  Communicator comm{own.get(), {.deadline = half_a_minute, .first_epoch = 0x7fffff00U}};
  for (const std::string name : {"ShmTransport", "MpiTransport", "Ring+MpiTransport"}) {
    INFO(name);
    const auto algorithm = papcoll::algorithm(name);
    if (!runs_on(comm, algorithm)) continue;
    CHECK(requests::many_at_once(comm, 600 / simulated_less, algorithm) == "");
  }
}

TEST_CASE("requests on a communicator made by a split", "[communicator]") {
  // Late ranks make messages of several requests meet.
  const OwnComm own{MPI_COMM_WORLD, 0, 0};
  Communicator comm{own.get(), {.deadline = half_a_minute}};
  const auto algorithm = papcoll::algorithm("MpiTransport");
  papcoll::barrier(comm, algorithm);
  std::vector<int> a(4, 1 + comm.rank());
  std::vector<int> b(4, 10);
  std::vector<int> c(4, 100 + comm.rank());
  if (comm.rank() == comm.size() - 1) std::this_thread::sleep_for(std::chrono::milliseconds{100});
  papcoll::Request first = papcoll::iallreduce(comm, a, papcoll::sum, algorithm);
  papcoll::Request second = papcoll::iallreduce(comm, b, papcoll::sum, algorithm);
  papcoll::Request third = papcoll::ibcast(comm, c, papcoll::root{comm.size() / 2}, algorithm);
  first.wait();
  second.wait();
  third.wait();
  CHECK(a == std::vector<int>(4, comm.size() * (comm.size() + 1) / 2));
  CHECK(b == std::vector<int>(4, 10 * comm.size()));
  CHECK(c == std::vector<int>(4, 100 + comm.size() / 2));
}

TEST_CASE("a request stays with its thread", "[communicator]") {
  const OwnComm own;
  Communicator comm{own.get(), {.deadline = half_a_minute}};
  if (comm.size() < 2) return;
  std::vector<int> data(10, 1);
  papcoll::Request request = papcoll::iallreduce(comm, data);
  Outcome elsewhere;
  std::thread{[&] { elsewhere = outcome_of([&] { request.test(); }); }}.join();
  CHECK(elsewhere.kind == "argument_error");
  request.wait();
  CHECK(data == std::vector<int>(10, comm.size()));
}

TEST_CASE("a rank that is in another call moves its requests", "[communicator]") {
  const OwnComm own;
  Communicator comm{own.get(), {.deadline = half_a_minute}};
  for (const char* request : {"Ring+ShmTransport", "Ring+MpiTransport"}) {
    for (const char* blocking : {"Exchange", "DynamicLeader", "Dissemination+ShmTransport",
                                 "Dissemination+MpiTransport"}) {
      INFO(request << " beside " << blocking);
      const auto one = papcoll::algorithm(request);
      const auto other = papcoll::algorithm(blocking);
      if (!runs_on(comm, one) || !runs_on(comm, other)) continue;
      CHECK(requests::driven_from_another_call(comm, 100'000, one, other) == "");
    }
  }
}

TEST_CASE("a rank that waits on another communicator moves its requests", "[communicator]") {
  const OwnComm own_a;
  const OwnComm own_b;
  Communicator a{own_a.get(), {.deadline = half_a_minute}};
  Communicator b{own_b.get(), {.deadline = half_a_minute}};
  for (const char* request : {"Ring+ShmTransport", "Ring+MpiTransport"}) {
    for (const char* blocking : {"Exchange", "DynamicLeader", "Dissemination+ShmTransport",
                                 "Dissemination+MpiTransport"}) {
      INFO(request << " beside " << blocking);
      const auto one = papcoll::algorithm(request);
      const auto other = papcoll::algorithm(blocking);
      if (!runs_on(a, one) || !runs_on(a, other)) continue;
      std::vector<int> data(100'000, 1);
      papcoll::Request r = papcoll::iallreduce(a, data, papcoll::sum, one);
      if (a.rank() == 0) r.wait();
      papcoll::barrier(b, other);
      // Two on different communicators, one of them asked and not waited for.
      std::vector<int> more(100, 2);
      papcoll::Request second = papcoll::iallreduce(b, more);
      if (a.rank() == a.size() - 1) {
        while (!second.test()) continue;
      }
      r.wait();
      second.wait();
      CHECK(data == std::vector<int>(data.size(), a.size()));
      CHECK(more == std::vector<int>(more.size(), 2 * a.size()));
    }
  }
}

TEST_CASE("groups of ranks at the same time", "[communicator]") {
  const OwnComm world;
  Communicator all{world.get(), {.deadline = half_a_minute}};
  const OwnComm split{MPI_COMM_WORLD, world.rank() / 2, 0};
  Communicator pair{split.get(), {.deadline = half_a_minute}};
  const OwnComm alone{MPI_COMM_WORLD, world.rank(), 0};
  Communicator self{alone.get()};
  for (int i = 0; i < 100; ++i) {
    const int here = papcoll::allreduce(pair, world.rank());
    const int first = world.rank() / 2 * 2;
    CHECK(here == (pair.size() == 2 ? 2 * first + 1 : first));
    CHECK(papcoll::allreduce(self, i) == i);
    if (i % 7 == 0) CHECK(papcoll::allreduce(all, 1) == world.size());
  }
}

TEST_CASE("communicators come and go", "[communicator]") {
  // Nothing may pile up or be mixed up.
  for (int i = 0; i < 20; ++i) {
    const OwnComm a;
    const OwnComm b;
    Communicator first{a.get()};
    CHECK(papcoll::allreduce(b.get(), 2) == 2 * b.size());
    CHECK(papcoll::allreduce(first, 1) == a.size());
  }
}

TEST_CASE("many communicators at once", "[communicator]") {
  std::vector<std::unique_ptr<OwnComm>> owned;
  std::vector<Communicator> comms;
  for (int i = 0; i < 40; ++i) {
    owned.push_back(std::make_unique<OwnComm>());
    comms.emplace_back(owned.back()->get());
  }
  for (std::size_t i = 0; i < comms.size(); ++i) {
    const int k = static_cast<int>(i);
    CHECK(papcoll::allreduce(comms[i], k) == k * comms[i].size());
    if (i % 8 == 0) {
      CHECK(papcoll::allreduce(comms[i], k, papcoll::sum, papcoll::algorithm("MpiTransport")) ==
            k * comms[i].size());
    }
  }
}

TEST_CASE("the MPI library says what it is, and the header is of the same", "[communicator]") {
  const papcoll::MpiVersion mpi = papcoll::mpi_version();
  INFO(mpi.compiled << "; " << mpi.running);
  int version = 0;
  int subversion = 0;
  MPI_Get_version(&version, &subversion);
  CHECK(mpi.compiled.ends_with(", MPI " + std::to_string(version) + "." +
                               std::to_string(subversion)));
  CHECK(mpi.running.find('\n') == std::string::npos);
#if defined(OPEN_MPI)
  CHECK(mpi.compiled.starts_with("Open MPI "));
  CHECK(mpi.running.starts_with("Open MPI v"));
#elif defined(MPICH_VERSION) && !defined(I_MPI_VERSION)
  CHECK(mpi.compiled.starts_with("MPICH "));
  CHECK(mpi.running.find(MPICH_VERSION) != std::string::npos);
#endif
}
