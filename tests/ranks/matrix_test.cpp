// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/communicator.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "catch.hpp"
#include "matrix.hpp"
#include "mixed.hpp"
#include "own_comm.hpp"

namespace {

constexpr std::chrono::seconds patience{30};

std::string whole_matrix(papcoll::Communicator& comm, const char* transport,
                         const std::vector<std::size_t>& counts) {
  matrix::Runner runner{comm};
  for (const matrix::Candidate& c : matrix::candidates(transport)) {
    if (runs_on(comm, c.algorithm)) runner.run_all(c, counts);
  }
  return runner.problems();
}

}  // namespace

TEST_CASE("all collectives, all algorithms, shared memory", "[matrix]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), {.deadline = patience}};
  CHECK(whole_matrix(comm, "ShmTransport", {0, 1, 3, 5, 17, 100}) == "");
}

TEST_CASE("all collectives, all algorithms, MPI messages", "[matrix]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), {.deadline = patience}};
  CHECK(whole_matrix(comm, "MpiTransport", {0, 1, 3, 5, 17, 100}) == "");
}

TEST_CASE("more elements than any buffer between ranks holds", "[matrix]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), {.deadline = patience, .chunk_bytes = 4096}};
  const std::vector<std::size_t> counts{
      static_cast<std::size_t>(12'000 / simulated_less / comm.size())};
  CHECK(whole_matrix(comm, "ShmTransport", counts) == "");
  CHECK(whole_matrix(comm, "MpiTransport", counts) == "");
}

TEST_CASE("the matrix among some of the ranks, in another order", "[matrix]") {
  const OwnComm world;
  const OwnComm own{MPI_COMM_WORLD, world.rank() % 2, -world.rank()};
  papcoll::Communicator comm{own.get(), {.deadline = patience, .first_epoch = 0xffffff00U}};
  CHECK(whole_matrix(comm, "ShmTransport", {2, 40}) == "");
  CHECK(whole_matrix(comm, "MpiTransport", {2, 40}) == "");
}

TEST_CASE("calls of all kinds in a row", "[matrix]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), {.deadline = patience, .first_epoch = 0xffffff80U}};
  auto all = matrix::candidates("ShmTransport");
  for (auto& c : matrix::candidates("MpiTransport")) all.push_back(c);
  std::erase_if(all, [&](const auto& c) {
    const bool floods = papcoll::detail::simulated && c.name().find(":12+") != std::string::npos;
    return floods || !runs_on(comm, c.algorithm);
  });
  CHECK(mixed::calls_of_all_kinds(comm, all, 1500 / simulated_less, 5) == "");
  for (const char* name : {"DynamicLeader", "Exchange", "Binomial+MpiTransport"}) {
    const auto algorithm = papcoll::algorithm(name);
    if (runs_on(comm, algorithm)) {
      CHECK(mixed::ranks_that_run_ahead(comm, algorithm, 200) == "");
    }
  }
}
