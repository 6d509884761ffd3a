// SPDX-License-Identifier: BSD-3-Clause
#include <papcoll/node/arena_heap.hpp>

#include <cstddef>
#include <fstream>
#include <string>
#include <utility>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"

using papcoll::detail::LazyMapping;

namespace {

constexpr std::size_t large = std::size_t{1} << 30U;

/// Kilobytes of this process's memory that are in memory for good; −1: unknown.
long locked_kilobytes() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmLck:")) return std::stol(line.substr(6));
  }
  return -1;
}

/// Maps much memory, of a file and without, in a process that locks what it maps. 0: as it should.
int map_and_use() {
  const int fd = memfd_create("papcoll test", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, large + 4096) != 0) return 77;
  if (mlockall(MCL_FUTURE) != 0) return 77;
  const long before = locked_kilobytes();
  const LazyMapping zeros = LazyMapping::of_zeros(large);
  const LazyMapping file = LazyMapping::of_file(fd, 4096, large);
  const LazyMapping again = LazyMapping::of_file(fd, 0, large + 4096);
  if (zeros.data() == nullptr || file.data() == nullptr || again.data() == nullptr) return 1;
  zeros.data()[large - 1] = std::byte{1};
  file.data()[large - 1] = std::byte{2};
  file.data()[0] = std::byte{3};
  if (again.data()[large + 4095] != std::byte{2} || again.data()[4096] != std::byte{3}) return 2;
  return locked_kilobytes() - before < 10'000 ? 0 : 3;
}

int in_child(bool without_rights) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (without_rights && getuid() == 0 && setuid(65534) != 0) _exit(77);
    const rlimit little{std::size_t{8} << 20U, std::size_t{8} << 20U};
    if (without_rights && setrlimit(RLIMIT_MEMLOCK, &little) != 0) _exit(77);
    _exit(map_and_use());
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("a process that locks its memory takes no more of a mapping than it uses") {
  for (const bool without_rights : {false, true}) {
    CAPTURE(without_rights);
    const int answer = in_child(without_rights);
    if (answer == 77) {
      WARN("SKIPPED: memory cannot be locked here");
    } else {
      CHECK(answer == 0);
    }
  }
}

TEST_CASE("a mapping moves with its owner, and what cannot be mapped is null") {
  LazyMapping a = LazyMapping::of_zeros(100'000);
  REQUIRE(a.data() != nullptr);
  a.data()[99'999] = std::byte{7};
  LazyMapping b{std::move(a)};
  CHECK(b.data()[99'999] == std::byte{7});
  CHECK(b.bytes() == 100'000);
  b = LazyMapping::of_zeros(50'000);
  CHECK(b.data()[49'999] == std::byte{0});
  b = {};
  CHECK(b.data() == nullptr);
  CHECK(LazyMapping::of_file(-1, 0, 4096).data() == nullptr);
  CHECK(LazyMapping::of_zeros(std::size_t{1} << 62U).data() == nullptr);
}
