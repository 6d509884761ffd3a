#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/topology/sysfs.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

#include <sched.h>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Bytes of all last-level caches of the machine together, by that of a processor and the number of
/// processors that share it. 0 where the system does not say, as in some containers and virtual
/// machines. `root`: where Linux describes processors.
[[gnu::cold]] inline std::size_t last_level_cache_bytes(
    int processor, const std::string& root = "/sys/devices/system/cpu") {
  const std::string caches = root + "/cpu" + std::to_string(processor) + "/cache/index";
  for (int i = 7; i >= 0; --i) {  // the nearest is 0; each file that is there takes 10 µs to read
    const std::string cache = caches + std::to_string(i);
    if (line_of(cache + "/type") != "Unified") continue;
    const std::size_t bytes = bytes_of(line_of(cache + "/size"));
    const std::size_t sharing = processors_in(line_of(cache + "/shared_cpu_list"));
    const std::size_t online = processors_in(line_of(root + "/online"));
    if (bytes == 0 || sharing == 0 || online == 0) return 0;
    return online <= sharing ? bytes : bytes * (online / sharing);
  }
  return 0;
}

/// The same of the processor that this thread runs on.
[[gnu::cold]] inline std::size_t last_level_cache_bytes() {
  return last_level_cache_bytes(std::max(sched_getcpu(), 0));
}

}  // namespace papcoll::inline PAPCOLL_ABI::detail
