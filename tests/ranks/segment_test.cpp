// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/base/pointers.hpp>
#include <papcoll/error.hpp>
#include <papcoll/node/waiting/liveness.hpp>
#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/transport/mpi/mpi_calls.hpp>
#include <papcoll/transport/mpi/nodes.hpp>
#include <papcoll/transport/mpi/polled_collectives.hpp>
#include <papcoll/transport/shm/node_segments.hpp>
#include <papcoll/transport/shm/shm_file.hpp>
#include <papcoll/transport/shm/shm_segment.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catch.hpp"

using papcoll::NodeRanks;
using papcoll::ShmMethod;
using papcoll::ShmSegment;

namespace {

constexpr std::size_t some_bytes = 100'000;

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

ShmSegment::Request request_for(std::vector<int> ranks, papcoll::detail::Vector<ShmMethod> ways) {
  ShmSegment::Request request;
  request.ranks = std::move(ranks);
  request.bytes = some_bytes;
  request.ways = std::move(ways);
  return request;
}
using OwnedSegment = papcoll::detail::Owned<ShmSegment>;
OwnedSegment make(papcoll::detail::Vector<ShmMethod> ways) {
  return ShmSegment::create(
      MPI_COMM_WORLD, request_for(papcoll::node_ranks(MPI_COMM_WORLD).ranks, std::move(ways)));
}

/// Names in /dev/shm that are papcoll's and this user's.
std::set<std::string> names() {
  std::set<std::string> found;
  DIR* const directory = opendir("/dev/shm");
  if (directory == nullptr) return found;
  const std::string prefix = papcoll::ShmTicket::prefix(getuid());
  while (const dirent* entry = readdir(directory)) {
    if (std::string{entry->d_name}.starts_with(prefix)) found.insert(entry->d_name);
  }
  closedir(directory);
  return found;
}

/// The names that this process's MPI world has made: others may be running their own tests.
std::set<std::string> names_of(const std::vector<std::int64_t>& processes) {
  std::set<std::string> found;
  for (const std::string& name : names()) {
    for (const std::int64_t pid : processes) {
      if (name.starts_with(papcoll::ShmTicket::prefix(getuid()) + std::to_string(pid) + "-")) {
        found.insert(name);
      }
    }
  }
  return found;
}
std::vector<std::int64_t> processes() {
  std::vector<std::int64_t> all(static_cast<std::size_t>(world_size()));
  const std::int64_t mine = getpid();
  MPI_Allgather(&mine, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, MPI_COMM_WORLD);
  return all;
}

/// Waits until that process has made a name and holds a lock of it, or long enough; the name.
std::string locked_name_of(std::int64_t maker) {
  std::string name;
  for (int i = 0; i < 500; ++i) {
    const std::set<std::string> found = names_of({maker});
    if (!found.empty()) {
      name = *found.begin();
      const int file = open(("/dev/shm/" + name).c_str(), O_RDWR | O_CLOEXEC);
      struct flock lock {};
      lock.l_type = F_WRLCK;
      lock.l_whence = SEEK_SET;
      const bool asked = fcntl(file, F_GETLK, &lock) == 0;
      close(file);
      if (asked && lock.l_type != F_UNLCK) break;
    }
    usleep(10'000);
  }
  return name;
}

/// What another job does that comes more than a minute after the name was made.
void make_old_and_sweep(const std::string& name) {
  timespec times[2] = {};
  times[0].tv_sec = times[1].tv_sec = std::time(nullptr) - 90;
  CHECK(utimensat(AT_FDCWD, ("/dev/shm/" + name).c_str(), times, 0) == 0);
  papcoll::ShmTicket ticket = papcoll::ShmTicket::draw();
  static_cast<void>(papcoll::ShmFile::make(ticket, ShmMethod::by_name, some_bytes));
  papcoll::ShmFile::remove_name(ticket);
}

std::string message_of(MPI_Comm comm, const ShmSegment::Request& request) {
  try {
    static_cast<void>(ShmSegment::create(comm, request));
    return {};
  } catch (const papcoll::transport_unavailable& e) {
    return e.what();
  }
}

/// A rank that is not there any more, or −1.
int find_missing(const ShmSegment& segment) {
  static const std::vector<papcoll::PeerLiveness::Departed> nobody(
      static_cast<std::size_t>(world_size()));
  return segment.liveness().find_dead(nobody.data());
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a segment begins as zeros, on a page, of at least the size asked for") {
  const OwnedSegment segment = make({GENERATE(ShmMethod::by_descriptor, ShmMethod::by_name)});
  CHECK(segment->bytes() == some_bytes);
  CHECK(reinterpret_cast<std::uintptr_t>(segment->data()) % 4096 == 0);
  CHECK(std::all_of(segment->data(), segment->data() + segment->bytes(),
                    [](std::byte b) { return b == std::byte{0}; }));
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("what a rank writes all ranks of its node read") {
  const NodeRanks here = papcoll::node_ranks(MPI_COMM_WORLD);
  const OwnedSegment segment = make({GENERATE(ShmMethod::by_descriptor, ShmMethod::by_name)});
  const auto at = [&](int r) { return segment->data() + some_bytes - 64 * (1 + r); };
  *at(world_rank()) = static_cast<std::byte>(world_rank() + 1);
  MPI_Barrier(MPI_COMM_WORLD);
  for (const int r : here.ranks) CHECK(*at(r) == static_cast<std::byte>(r + 1));
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("nothing has a name once a segment is made") {
  const std::vector<std::int64_t> all = processes();
  const OwnedSegment segment = make({GENERATE(ShmMethod::by_descriptor, ShmMethod::by_name)});
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(names_of(all).empty());
}

TEST_CASE("many segments at once are different memory") {
  std::vector<OwnedSegment> segments;
  for (int i = 0; i < 20; ++i)
    segments.push_back(make({ShmMethod::by_descriptor, ShmMethod::by_name}));
  const int first = papcoll::node_ranks(MPI_COMM_WORLD).ranks.front();
  for (int i = 0; i < 20; ++i) {
    if (world_rank() == first) segments[static_cast<std::size_t>(i)]->data()[7] = std::byte(i + 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 20; ++i) {
    CHECK(segments[static_cast<std::size_t>(i)]->data()[7] == std::byte(i + 1));
    CHECK(find_missing(*segments[static_cast<std::size_t>(i)]) == -1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("a segment that another owns is the same memory, and the ranks still watch each other") {
  OwnedSegment first = make({ShmMethod::by_descriptor, ShmMethod::by_name});
  std::byte* const where = first->data();
  const OwnedSegment second{std::move(first)};
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(second->data() == where);
  CHECK(find_missing(*second) == -1);
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("a rank that gave its memory up is not dead to those who still use it") {
  using papcoll::detail::CommunicatorSegment;
  using papcoll::detail::NodeSegmentPool;
  const std::vector<int> ranks = papcoll::node_ranks(MPI_COMM_WORLD).ranks;
  const auto place = std::find(ranks.begin(), ranks.end(), world_rank()) - ranks.begin();
  ShmSegment::Request request = request_for(ranks, {ShmMethod::by_descriptor, ShmMethod::by_name});
  request.bytes = NodeSegmentPool::bytes(ranks.size(), 0);
  auto share = papcoll::detail::make_shared<NodeSegmentPool>(
      ShmSegment::create(MPI_COMM_WORLD, request), static_cast<int>(place),
      static_cast<int>(ranks.size()), std::size_t{0},
      NodeSegmentPool::AreaRequest{some_bytes, some_bytes, 0});
  papcoll::detail::Shared<CommunicatorSegment> area;
  if (place == 0) area = CommunicatorSegment::make(share);
  MPI_Barrier(MPI_COMM_WORLD);
  if (place != 0) area = CommunicatorSegment::join(share, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == world_size() - 1) {
    area->depart();
    area = nullptr;
    share = nullptr;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (area != nullptr) {
    CHECK(area->find_dead() == -1);
    area->data()[0] = std::byte{1};
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("one rank that cannot use a way makes all ranks take the next") {
  if (world_rank() == world_size() - 1) setenv("PAPCOLL_SHM", "named", 1);
  const auto ranks = papcoll::node_ranks(MPI_COMM_WORLD).ranks;
  const std::string message =
      message_of(MPI_COMM_WORLD, request_for(ranks, {ShmMethod::by_descriptor}));
  const std::string named = message_of(
      MPI_COMM_WORLD, request_for(ranks, {ShmMethod::by_descriptor, ShmMethod::by_name}));
  unsetenv("PAPCOLL_SHM");
  CHECK(contains(message, "rank " + std::to_string(world_size() - 1) + ": PAPCOLL_SHM=named"));
  CHECK(named.empty());
}

TEST_CASE("memory that cannot be had is an exception on all ranks, with the reasons of each way") {
  const std::vector<std::int64_t> all = processes();
  ShmSegment::Request request = request_for(papcoll::node_ranks(MPI_COMM_WORLD).ranks,
                                            {ShmMethod::by_descriptor, ShmMethod::by_name});
  request.bytes = ~std::size_t{0} / 2 - 65536;
  const std::string message = message_of(MPI_COMM_WORLD, request);
  MPI_Barrier(MPI_COMM_WORLD);  // the first rank of a node removes the name
  CHECK(contains(message, "rank 0: "));
  CHECK(contains(message, "; rank 0: "));
  CHECK(names_of(all).empty());
}

TEST_CASE("a limit on the size of files is an exception and not a signal") {
  // Only the rank that makes the file meets it.
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit small = before;
  small.rlim_cur = 65536;
  const auto ranks = papcoll::node_ranks(MPI_COMM_WORLD).ranks;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string message = message_of(
      MPI_COMM_WORLD, request_for(ranks, {ShmMethod::by_descriptor, ShmMethod::by_name}));
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(contains(message, "File too large"));
}

TEST_CASE("a named segment is not swept while a rank is yet to come, however late") {
  const auto ranks = papcoll::node_ranks(MPI_COMM_WORLD).ranks;
  const std::vector<std::int64_t> all = processes();
  const std::int64_t maker = all[static_cast<std::size_t>(ranks.front())];
  std::string name;
  bool there = true;
  if (world_rank() == ranks.back() && ranks.size() > 1) {
    name = locked_name_of(maker);
    make_old_and_sweep(name);
    there = names().count(name) != 0;
  }
  const std::string message = message_of(MPI_COMM_WORLD, request_for(ranks, {ShmMethod::by_name}));
  CHECK(message.empty());
  CHECK(there);
}

TEST_CASE("each group of a split communicator has its own memory") {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() % 2, -world_rank(), &half);  // ranks turned around
  {
    const NodeRanks here = papcoll::node_ranks(half);
    int rank = 0;
    MPI_Comm_rank(half, &rank);
    const OwnedSegment segment = ShmSegment::create(
        half, request_for(here.ranks, {ShmMethod::by_descriptor, ShmMethod::by_name}));
    if (rank == here.ranks.front()) segment->data()[0] = std::byte(world_rank() % 2 + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(segment->data()[0] == std::byte(world_rank() % 2 + 1));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Comm_free(&half);
}

TEST_CASE("pages are given to a range of a segment before its first touch") {
  const OwnedSegment segment = make({ShmMethod::by_descriptor});
  segment->reserve(segment->data() + 12'345, 50'000);
  segment->data()[12'345] = std::byte{1};
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("the ranks of a node are ascending, hold this rank, and nodes are counted alike") {
  const NodeRanks here = papcoll::node_ranks(MPI_COMM_WORLD);
  CHECK(std::is_sorted(here.ranks.begin(), here.ranks.end()));
  CHECK(std::count(here.ranks.begin(), here.ranks.end(), world_rank()) == 1);
  std::vector<int> all(static_cast<std::size_t>(world_size()));
  MPI_Allgather(&here.nodes, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  CHECK(std::count(all.begin(), all.end(), here.nodes) == world_size());
  CHECK(here.nodes >= 1);
  CHECK(here.nodes <= world_size());
}

TEST_CASE("a vote gives all ranks the problem of the lowest rank that has one") {
  using papcoll::detail::first_problem;
  const int last = world_size() - 1;
  const std::string mine = world_rank() >= last / 2 ? "it is " + std::to_string(world_rank()) : "";
  const std::string lowest = std::to_string(last / 2);
  CHECK(first_problem(MPI_COMM_WORLD, "", "a test").empty());
  CHECK(first_problem(MPI_COMM_WORLD, mine, "a test") == "rank " + lowest + ": it is " + lowest);
  const std::string endless(5000, 'x');
  CHECK(first_problem(MPI_COMM_WORLD, endless, "a test").size() < 600);
}
