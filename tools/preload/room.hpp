#pragma once

// What a communicator of papcoll's takes that the program may need itself: file descriptors and
// address space. Where limits are low, papcoll leaves the program most of what is left.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cstdio>
#include <string>

namespace preload {

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
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    unsigned long long pages = 0;
    if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
      if (std::fscanf(file, "%llu", &pages) != 1) pages = 0;
      std::fclose(file);
    }
    const auto used = static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
    if (used >= limit.rlim_cur / 4 * 3) {
      return "three quarters of the address space that a process may have are in use, and the rest "
             "is the program's (ulimit -v)";
    }
  }
  return {};
}

}  // namespace preload
