// SPDX-License-Identifier: BSD-3-Clause
// Calls whose blocks differ, among processes.

#include "blocks.hpp"
#include "catch.hpp"
#include "own_comm.hpp"

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/communicator.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace {

void check_blocks_of(const std::string& name, const papcoll::Options& options, std::size_t most,
                     bool non_blocking = false) {
  CAPTURE(name, options.chunk_bytes, most, non_blocking);
  const OwnComm own;
  papcoll::Communicator comm{own.get(), options};
  if (name == "BlockCopies" && comm.nodes() != 1) return;
  const auto algorithm = name.empty() ? papcoll::Algorithm{} : papcoll::algorithm(name);
  blocks_test::Calls calls{comm, algorithm};
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    CHECK(calls.run(seed, most, non_blocking) == "");
  }
}

}  // namespace

TEST_CASE("blocks that differ, through the node's memory", "[blocks]") {
  papcoll::Options options;
  check_blocks_of("BlockCopies", options, 12);  // with the flag, or just not
  check_blocks_of("BlockCopies", options, 100);
  check_blocks_of("BlockCopies", options, 100'000);
  check_blocks_of("", options, 10'000);
  options.chunk_bytes = 64;
  check_blocks_of("BlockCopies", options, 40);
  options.chunk_bytes = 256;
  check_blocks_of("BlockCopies", options, 1000);
  // No pools, so that long blocks go in pieces.
  options.arena_bytes = 0;
  check_blocks_of("BlockCopies", options, 1000);
  options.chunk_bytes = 64;
  check_blocks_of("BlockCopies", options, 400);
}

TEST_CASE("blocks that differ, by messages", "[blocks]") {
  for (const char* const name : {"Linear", "Pairwise", "Ring", "Binomial"}) {
    check_blocks_of(name, {}, 3000);
    check_blocks_of(name, {}, 300, true);
  }
  check_blocks_of("", {}, 3000, true);
}
