// SPDX-License-Identifier: BSD-3-Clause
// Is the virtual cluster one? PAPCOLL_TEST_NODES says how many ranks each node was given: "1,2".

#include <papcoll/communicator.hpp>
#include <papcoll/transport/mpi/nodes.hpp>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "catch.hpp"

namespace {

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// The ranks of each node.
std::vector<std::vector<int>> nodes_asked_for() {
  const char* asked = std::getenv("PAPCOLL_TEST_NODES");
  REQUIRE(asked != nullptr);
  std::vector<std::vector<int>> nodes;
  std::istringstream numbers{asked};
  int next = 0;
  for (std::string number; std::getline(numbers, number, ',');) {
    std::vector<int>& node = nodes.emplace_back();
    for (int i = std::stoi(number); i > 0; --i) node.push_back(next++);
  }
  return nodes;
}
std::size_t node_of(int rank) {
  const auto nodes = nodes_asked_for();
  std::size_t node = 0;
  while (rank > nodes.at(node).back()) ++node;
  return node;
}

long bytes_sent() {
  long bytes = -1;
  std::ifstream{"/sys/class/net/eth0/statistics/tx_bytes"} >> bytes;
  return bytes;
}

}  // namespace

TEST_CASE("each node has a host name of its own") {
  std::array<char, 64> name{};
  REQUIRE(gethostname(name.data(), name.size() - 1) == 0);
  CHECK(std::string{name.data()} == "node" + std::to_string(node_of(world_rank())));
}

TEST_CASE("each node has a /dev/shm of its own") {
  const auto file_of = [](int rank) {
    return std::filesystem::path{"/dev/shm/papcoll-cluster-test-" + std::to_string(rank)};
  };
  std::ofstream{file_of(world_rank())} << "here";
  MPI_Barrier(MPI_COMM_WORLD);
  const std::size_t mine = node_of(world_rank());
  for (const auto& node : nodes_asked_for()) {
    for (const int rank : node)
      CHECK(std::filesystem::exists(file_of(rank)) == (node_of(rank) == mine));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  std::filesystem::remove(file_of(world_rank()));
}

TEST_CASE("papcoll sees the nodes") {
  const auto nodes = nodes_asked_for();
  papcoll::Communicator comm{MPI_COMM_WORLD};
  CHECK(comm.nodes() == static_cast<int>(nodes.size()));
  CHECK(papcoll::node_ranks(MPI_COMM_WORLD).ranks == nodes.at(node_of(world_rank())));
}

TEST_CASE("messages between nodes go through the network") {
  const int last = nodes_asked_for().back().back();
  std::vector<char> message(1'000'000);
  const int count = static_cast<int>(message.size());
  const long before = bytes_sent();
  if (world_rank() == 0) MPI_Send(message.data(), count, MPI_CHAR, last, 0, MPI_COMM_WORLD);
  if (world_rank() == last) {
    MPI_Recv(message.data(), count, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(before >= 0);
  if (world_rank() == 0) CHECK(bytes_sent() - before >= count);
}
