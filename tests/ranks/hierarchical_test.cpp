// SPDX-License-Identifier: BSD-3-Clause
#include "blocks.hpp"
#include "catch.hpp"
#include "hierarchies.hpp"
#include "matrix.hpp"
#include "own_comm.hpp"

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/communicator.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

papcoll::Options divided(papcoll::GroupColours groups) {
  papcoll::Options o{.deadline = std::chrono::seconds{30}};
  o.groups = std::move(groups);
  return o;
}

std::string whole_matrix(papcoll::Communicator& comm, const char* node, const char* far,
                         const std::vector<std::size_t>& counts) {
  matrix::Runner runner{comm};
  for (const matrix::Candidate& c : hierarchies::candidates(node, far)) runner.run_all(c, counts);
  return runner.problems();
}

std::string calls_with_blocks(papcoll::Communicator& comm, const std::string& name,
                              std::size_t most) {
  blocks_test::Calls calls{comm, papcoll::algorithm(name)};
  std::string wrong;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) wrong = calls.run(seed, most);
  return wrong;
}

const std::vector<std::string> names_for_blocks{
    "Hierarchical", "Hierarchical:DynamicLeader+ShmTransport,Rabenseifner+MpiTransport",
    "Hierarchical:Binomial+MpiTransport,SpreadOut:2+MpiTransport"};

}  // namespace

TEST_CASE("hierarchical: blocks that differ, on the machine's own nodes", "[hierarchical]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), divided({})};
  for (const std::string& name : names_for_blocks) {
    INFO(name);
    CHECK(calls_with_blocks(comm, name, 3000) == "");
  }
}

TEST_CASE("hierarchical: blocks that differ, on groups of one node", "[hierarchical]") {
  const OwnComm world;
  if (papcoll::Communicator{world.get()}.nodes() > 1) return;  // nodes of their own, see above
  for (const papcoll::GroupColours& groups : hierarchies::groupings(world.size())) {
    INFO(hierarchies::text_of(groups));
    const OwnComm own;
    papcoll::Communicator comm{own.get(), divided(groups)};
    for (const std::string& name : names_for_blocks)
      CHECK(calls_with_blocks(comm, name, 300) == "");
  }
}

TEST_CASE("hierarchical on the machine's own nodes", "[matrix][hierarchical]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), divided({})};
  CHECK(whole_matrix(comm, "ShmTransport", "MpiTransport", {0, 1, 3, 17, 3000}) == "");
}

TEST_CASE("hierarchical on ranks in another order", "[matrix][hierarchical]") {
  const OwnComm world;
  const OwnComm own{MPI_COMM_WORLD, 0, (world.rank() % 2) * world.size() - world.rank()};
  papcoll::Communicator comm{own.get(), divided({})};
  CHECK(whole_matrix(comm, "ShmTransport", "MpiTransport", {0, 2, 40}) == "");
}

TEST_CASE("hierarchical on groups of one node", "[matrix][hierarchical]") {
  const OwnComm world;
  if (papcoll::Communicator{world.get()}.nodes() > 1) return;  // nodes of their own, see above
  for (const papcoll::GroupColours& groups : hierarchies::groupings(world.size())) {
    INFO(hierarchies::text_of(groups));
    const OwnComm own;
    papcoll::Communicator comm{own.get(), divided(groups)};
    CHECK(whole_matrix(comm, "ShmTransport", "MpiTransport", {0, 1, 5}) == "");
    CHECK(whole_matrix(comm, "ShmTransport", "ShmTransport", {3}) == "");
  }
}

TEST_CASE("groups are the same on all ranks", "[hierarchical]") {
  const OwnComm own;
  if (own.size() == 1) return;
  std::vector<int> colours(static_cast<std::size_t>(own.size()), 0);
  colours[0] = own.rank() == own.size() - 1 ? 1 : 0;
  CHECK_THROWS_AS(papcoll::Communicator(own.get(), divided({colours})), papcoll::argument_error);
}

TEST_CASE("shared memory between nodes is refused on all ranks", "[hierarchical]") {
  const OwnComm own;
  papcoll::Communicator comm{own.get(), divided({})};
  if (comm.nodes() == 1) return;
  const auto wrong = papcoll::algorithm("Hierarchical:DynamicLeader,Ring+ShmTransport");
  CHECK_THROWS_AS(papcoll::barrier(comm, wrong), papcoll::transport_unavailable);
  int one = 1;
  CHECK(papcoll::allreduce(comm, one, papcoll::sum, papcoll::algorithm("Hierarchical")) ==
        comm.size());
}
