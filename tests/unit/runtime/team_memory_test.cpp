// SPDX-License-Identifier: BSD-3-Clause
// The address space that a team of threads takes.

#include <papcoll/thread_team.hpp>

#include <cstddef>
#include <fstream>

#include <unistd.h>

#include "catch.hpp"

namespace {

/// Of this process, in bytes.
std::size_t address_space() {
  std::size_t pages = 0;
  std::ifstream{"/proc/self/statm"} >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("threads reserve pools, and no arena for what all of them see", "[team]") {
  constexpr int ranks = 8;
  const papcoll::Options options;
  const std::size_t before = address_space();
  const papcoll::ThreadTeam team{ranks, options};
  const std::size_t taken = address_space() - before;
  CHECK(taken >= ranks * options.arena_bytes / 4);
  CHECK(taken < ranks * options.arena_bytes / 2);
}
