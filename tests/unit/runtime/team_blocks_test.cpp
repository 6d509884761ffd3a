// SPDX-License-Identifier: BSD-3-Clause
// Calls whose blocks differ, with threads as ranks.

#include "blocks.hpp"
#include "catch.hpp"

#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/thread_team.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

void check_blocks_of(const std::string& name, int ranks, std::size_t chunk_bytes, std::size_t most,
                     bool non_blocking) {
  CAPTURE(name, ranks, chunk_bytes, most, non_blocking);
  papcoll::Options options;
  options.chunk_bytes = chunk_bytes;
  papcoll::ThreadTeam team{ranks, options};
  std::vector<std::string> wrong(static_cast<std::size_t>(ranks));
  const papcoll::Algorithm algorithm =
      name.empty() ? papcoll::Algorithm{} : papcoll::algorithm(name);
  team.run([&](papcoll::ThreadTeam::Rank& c) {
    blocks_test::Calls calls{c, algorithm};
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      wrong[static_cast<std::size_t>(c.rank())] = calls.run(seed, most, non_blocking);
    }
  });
  for (const std::string& w : wrong) CHECK(w == "");
}

}  // namespace

TEST_CASE("blocks that differ, by copies", "[team]") {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    check_blocks_of("BlockCopies", ranks, 64, 40, false);
    check_blocks_of("BlockCopies", ranks, 65536, 9000, false);
    check_blocks_of("", ranks, 4096, 3000, false);
  }
}

TEST_CASE("blocks that differ, by messages", "[team]") {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    for (const char* const name : {"Linear", "Pairwise", "Ring", "Bruck", "Binomial"}) {
      check_blocks_of(name, ranks, 4096, 50, false);
    }
    check_blocks_of("", ranks, 4096, 3000, true);
  }
}
