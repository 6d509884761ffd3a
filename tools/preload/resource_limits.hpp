// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What a communicator of papcoll's takes that the program may need itself: file descriptors and
// address space. Where limits are low, papcoll leaves the program most of what is left.

#include <papcoll/topology/options.hpp>
#include <papcoll/transport/mpi/mpi.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
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

/// Options::arena_bytes of a communicator of all ranks, and of others: the usual number, or, where
/// the address space is limited on a rank, as much that the arenas of a node, which each of its
/// ranks maps, take an eighth of what is left now, and none for others.
struct ArenaBytes {
  std::size_t of_all_ranks = 0;
  std::size_t of_others = 0;

  /// Collective.
  static ArenaBytes agreed() {
    const std::size_t usual = papcoll::Options{}.arena_bytes;
    const auto space = AddressSpace::found();
    constexpr std::uint64_t unlimited = UINT64_MAX;
    const std::uint64_t mine =
        space ? (space->limit - std::min(space->limit, space->used)) / 8 : unlimited;
    std::uint64_t least = 0;
    if (MPI_Allreduce(&mine, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD) != MPI_SUCCESS) {
      least = 0;
    }
    if (least == unlimited) return {usual, usual};
    int here = 1;
    int most = 0;
    MPI_Comm node = MPI_COMM_NULL;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) ==
        MPI_SUCCESS) {
      MPI_Comm_size(node, &here);
      MPI_Comm_free(&node);
    }
    if (MPI_Allreduce(&here, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS) least = 0;
    constexpr std::size_t smallest = std::size_t{16} << 20U;
    constexpr std::size_t unit = 65536;  // what Options takes multiples of
    const std::size_t share = least / static_cast<std::size_t>(std::max(most, 1));
    return {share < smallest ? 0 : std::min(usual, share / unit * unit), 0};
  }
};

/// Returns why there is no room for another communicator in this process; empty if there is.
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
