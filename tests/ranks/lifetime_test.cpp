// SPDX-License-Identifier: BSD-3-Clause
// When papcoll's state of a communicator begins and ends.

#include <papcoll/allreduce.hpp>
#include <papcoll/barrier.hpp>
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/communicator.hpp>
#include <papcoll/reduce.hpp>
#include <papcoll/transport/mpi/nodes.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dirent.h>

#include "catch.hpp"

using papcoll::Communicator;

namespace {

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}
int sum_of_ranks() { return world_size() * (world_size() - 1) / 2; }

MPI_Comm duplicate_of_world() {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  return copy;
}

/// Entries of a directory of /proc/self: open files, or mapped ones.
std::size_t entries_of(const char* path) {
  std::size_t n = 0;
  DIR* const directory = opendir(path);
  if (directory == nullptr) return 0;
  while (readdir(directory) != nullptr) ++n;
  closedir(directory);
  return n;
}

void ignore_error(MPI_Comm*, int*, ...) {}

/// Collective the first time.
bool on_one_node() {
  static const bool one = papcoll::node_ranks(MPI_COMM_WORLD).nodes == 1;
  return one;
}
/// The algorithm of this name; across nodes, instead of one in shared memory, papcoll's choice.
papcoll::Algorithm named(const char* name) {
  const papcoll::Algorithm algorithm = papcoll::algorithm(name);
  const bool over_mpi = algorithm.spec().transport_name == "MpiTransport";
  return over_mpi || on_one_node() ? algorithm : papcoll::Algorithm{};
}

template <class Comm> int allreduce_over(Comm&& comm, const char* algorithm = "DynamicLeader") {
  return papcoll::allreduce(comm, world_rank(), papcoll::sum, named(algorithm));
}

}  // namespace

TEST_CASE("communicators that were made and freed leave nothing behind") {
  const auto once = [] {
    MPI_Comm mpi = duplicate_of_world();
    {
      Communicator comm{mpi};
      CHECK(allreduce_over(comm) == sum_of_ranks());
      CHECK(allreduce_over(comm, "Binomial+ShmTransport") == sum_of_ranks());
      CHECK(allreduce_over(comm, "Binomial+MpiTransport") == sum_of_ranks());
    }
    MPI_Comm_free(&mpi);
  };
  once();
  const std::size_t files = entries_of("/proc/self/fd");
  const std::size_t maps = entries_of("/proc/self/map_files");
  for (int i = 0; i < 30; ++i) once();
  CHECK(entries_of("/proc/self/fd") == files);
  CHECK(entries_of("/proc/self/map_files") <= maps + 5);  // MPI may have grown meanwhile
}

TEST_CASE("many communicators live side by side") {
  constexpr int many = 40;
  std::vector<MPI_Comm> mpi(many);
  std::vector<Communicator> comms;
  for (MPI_Comm& m : mpi) {
    m = duplicate_of_world();
    comms.emplace_back(m);
  }
  for (int i = 0; i < many; ++i) {
    CHECK(allreduce_over(comms[static_cast<std::size_t>(i)]) == sum_of_ranks());
  }
  for (int i = many - 1; i >= 0; --i) {
    CHECK(allreduce_over(comms[static_cast<std::size_t>(i)]) == sum_of_ranks());
  }
  comms.clear();
  for (MPI_Comm& m : mpi) MPI_Comm_free(&m);
}

TEST_CASE("destroying is local: each rank does it in its own order") {
  std::array<MPI_Comm, 2> mpi{duplicate_of_world(), duplicate_of_world()};
  std::array comms{std::make_unique<Communicator>(mpi[0]), std::make_unique<Communicator>(mpi[1])};
  CHECK(allreduce_over(*comms[1]) == sum_of_ranks());
  CHECK(allreduce_over(*comms[0]) == sum_of_ranks());
  const auto first = static_cast<std::size_t>(world_rank() % 2);
  comms[first].reset();
  comms[1 - first].reset();
  MPI_Comm_free(&mpi[world_rank() % 2 == 0 ? 0 : 1]);
  MPI_Comm_free(&mpi[world_rank() % 2 == 0 ? 1 : 0]);
}

TEST_CASE("a rank that has left a collective and freed everything is not taken for dead") {
  MPI_Comm mpi = duplicate_of_world();
  const papcoll::root root{0};
  int value = 1;
  {
    Communicator comm{mpi};
    // The others leave at once; the root waits long enough to look for dead peers.
    if (world_rank() == world_size() - 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds{100});
    }
    CHECK_NOTHROW(
        papcoll::reduce(comm, std::span{&value, 1}, root, papcoll::sum, named("StaticLeader")));
  }
  MPI_Comm_free(&mpi);
  CHECK(value == (world_rank() == root.rank ? world_size() : 1));
}

TEST_CASE("a communicator whose MPI communicator was freed says so, and can be destroyed") {
  MPI_Comm mpi = duplicate_of_world();
  Communicator comm{mpi};
  CHECK(allreduce_over(comm, "Binomial+MpiTransport") == sum_of_ranks());
  MPI_Comm_free(&mpi);
  CHECK_THROWS_AS(papcoll::barrier(comm), papcoll::broken_communicator);
  CHECK_THROWS_AS(papcoll::ibarrier(comm).wait(), papcoll::broken_communicator);
}

TEST_CASE("a request whose MPI communicator was freed says so, and can be destroyed") {
  for (const bool waits : {true, false}) {
    for (const char* const transport : {"Binomial", "Binomial+MpiTransport"}) {
      MPI_Comm mpi = duplicate_of_world();
      std::vector<int> data(1000, 1);
      papcoll::barrier(mpi);
      papcoll::Request request = papcoll::iallreduce(mpi, data, papcoll::sum, named(transport));
      MPI_Comm_free(&mpi);
      if (waits) CHECK_THROWS_AS(request.wait(), papcoll::broken_communicator);
    }
  }
}

TEST_CASE("a bare MPI communicator and a Communicator of it are the same team") {
  MPI_Comm mpi = duplicate_of_world();
  CHECK(allreduce_over(mpi) == sum_of_ranks());
  const std::size_t files = entries_of("/proc/self/fd");
  {
    Communicator comm{mpi};
    CHECK(allreduce_over(comm) == sum_of_ranks());
    CHECK(entries_of("/proc/self/fd") == files);
  }
  CHECK(allreduce_over(mpi) == sum_of_ranks());
  CHECK(entries_of("/proc/self/fd") == files);
  MPI_Comm_free(&mpi);
  // That of ranks which may make another one stays.
  CHECK(entries_of("/proc/self/fd") <= files);
}

TEST_CASE("a duplicate of a communicator in use is another team") {
  MPI_Comm mpi = duplicate_of_world();
  Communicator comm{mpi};
  MPI_Comm again = MPI_COMM_NULL;
  MPI_Comm_dup(mpi, &again);
  MPI_Comm_free(&mpi);
  CHECK_THROWS_AS(papcoll::barrier(comm), papcoll::broken_communicator);
  CHECK(allreduce_over(again) == sum_of_ranks());
  MPI_Comm_free(&again);
}

TEST_CASE("the ranks of a split have teams of their own") {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() % 2, -world_rank(), &half);
  {
    Communicator comm{half};
    Communicator world{MPI_COMM_WORLD};
    const int mine = papcoll::allreduce(comm, 1);
    CHECK(mine == comm.size());
    CHECK(papcoll::allreduce(world, comm.rank() == 0 ? mine : 0) == world_size());
  }
  MPI_Comm_free(&half);
}

TEST_CASE("a moved communicator serves on") {
  Communicator first{MPI_COMM_WORLD};
  Communicator second{std::move(first)};
  CHECK(allreduce_over(second) == sum_of_ranks());
}

TEST_CASE("a communicator is destroyed while an exception unwinds") {
  MPI_Comm mpi = duplicate_of_world();
  try {
    Communicator comm{mpi};
    CHECK(allreduce_over(comm) == sum_of_ranks());
    if (world_rank() == 0) throw std::runtime_error{"of the user's"};
  } catch (const std::runtime_error&) {
  }
  MPI_Comm_free(&mpi);
}

TEST_CASE("the user's error handler stays as it was") {
  MPI_Comm mpi = duplicate_of_world();
  MPI_Errhandler mine = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(ignore_error, &mine);
  MPI_Comm_set_errhandler(mpi, mine);
  CHECK(allreduce_over(mpi) == sum_of_ranks());
  CHECK(allreduce_over(mpi, "Ring+MpiTransport") == sum_of_ranks());
  MPI_Errhandler after = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(mpi, &after);
  CHECK(after == mine);
  MPI_Errhandler_free(&after);
  MPI_Errhandler_free(&mine);
  MPI_Comm_free(&mpi);
}

TEST_CASE("a receive of anything on the user's communicator gets the user's messages only") {
  MPI_Comm mpi = duplicate_of_world();
  const int right = (world_rank() + 1) % world_size();
  int received = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, mpi, &request);
  for (const char* algorithm : {"DynamicLeader", "Ring+ShmTransport", "Ring+MpiTransport"}) {
    CHECK(allreduce_over(mpi, algorithm) == sum_of_ranks());
  }
  const int mine = world_rank();
  MPI_Send(&mine, 1, MPI_INT, right, 3, mpi);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(received == (world_rank() + world_size() - 1) % world_size());
  MPI_Comm_free(&mpi);
}

TEST_CASE("threads make the teams of two communicators in any order") {
  int provided = 0;
  MPI_Query_thread(&provided);
  if (provided != MPI_THREAD_MULTIPLE) {
    WARN("SKIPPED: MPI serves one thread only");
    return;
  }
  std::array<MPI_Comm, 2> mpi{duplicate_of_world(), duplicate_of_world()};
  std::array<int, 2> results{};
  std::array<std::exception_ptr, 2> problems{};
  const auto use = [&](std::size_t i, bool late) {
    try {
      if (late) std::this_thread::sleep_for(std::chrono::milliseconds{50});
      Communicator comm{mpi[i]};
      results[i] = allreduce_over(comm);
    } catch (...) {
      problems[i] = std::current_exception();
    }
  };
  // On every other rank it is the other thread that begins.
  const bool even = world_rank() % 2 == 0;
  std::thread other{use, 1, even};
  use(0, !even);
  other.join();
  for (std::size_t i = 0; i < 2; ++i) {
    if (problems[i]) std::rethrow_exception(problems[i]);
    CHECK(results[i] == sum_of_ranks());
    MPI_Comm_free(&mpi[i]);
  }
}
