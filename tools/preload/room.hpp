#pragma once

// What a communicator of papcoll's takes that the program may need itself: file descriptors and
// address space. Where limits are low, papcoll leaves the program most of what is left.

#include <papcoll/options.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

namespace preload {

/// Of this process, in bytes; none where it is not limited.
struct AddressSpace {
  std::size_t limit = 0;
  std::size_t used = 0;

  static std::optional<AddressSpace> found() {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
    unsigned long long pages = 0;
    if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
      if (std::fscanf(file, "%llu", &pages) != 1) pages = 0;
      std::fclose(file);
    }
    return AddressSpace{
        static_cast<std::size_t>(limit.rlim_cur),
        static_cast<std::size_t>(pages) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE))};
  }
};

/// Options::arena_bytes of all communicators: the usual number, or as much that the arenas of all
/// ranks of the node, which each of them maps, leave the program seven eighths of the address space
/// that it has now. `ranks`: on the node, if the launcher does not say.
inline std::size_t arena_bytes(int ranks) {
  const std::size_t usual = papcoll::Options{}.arena_bytes;
  const auto space = AddressSpace::found();
  if (!space) return usual;
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    const char* const text = std::getenv(name);
    if (text != nullptr && std::atoi(text) > 0) ranks = std::atoi(text);
  }
  constexpr std::size_t least = std::size_t{16} << 20U;
  constexpr std::size_t unit = 65536;  // what Options takes multiples of
  const std::size_t left = space->limit - std::min(space->limit, space->used);
  const std::size_t share = left / 8 / static_cast<std::size_t>(ranks);
  return share < least ? 0 : std::min(usual, share / unit * unit);
}

/// Why there is no room for another communicator in this process, or nothing.
inline std::string no_room() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    // The lowest that is free.
    const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (next >= 0) close(next);
    if (next < 0 || static_cast<rlim_t>(next) >= limit.rlim_cur / 2) {
      return "half of the " + std::to_string(limit.rlim_cur) +
             " file descriptors that a process may have are in use, and the others are the "
             "program's (ulimit -n)";
    }
  }
  if (const auto space = AddressSpace::found(); space && space->used >= space->limit / 4 * 3) {
    return "three quarters of the address space that a process may have are in use, and the rest "
           "is the program's (ulimit -v)";
  }
  return {};
}

}  // namespace preload
