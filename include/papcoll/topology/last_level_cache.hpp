#pragma once

#include <papcoll/config.hpp>
#include <papcoll/topology/sysfs.hpp>

#include <cstddef>
#include <string>

#include <sched.h>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// Bytes of all last-level caches of the machine together, by that of this thread's processor and
/// the number of processors that share it. 0 where the system does not say, as in some containers
/// and virtual machines. `root`: where Linux describes processors.
inline std::size_t last_level_cache_bytes(const std::string& root = "/sys/devices/system/cpu") {
  const int processor = sched_getcpu();
  const std::string caches =
      root + "/cpu" + std::to_string(processor < 0 ? 0 : processor) + "/cache/index";
  std::size_t bytes = 0;
  std::size_t sharing = 0;
  for (int i = 0; i < 8; ++i) {  // from the nearest to the last one
    const std::string cache = caches + std::to_string(i);
    const std::string type = line_of(cache + "/type");
    if (type.empty()) break;
    if (type != "Unified") continue;
    bytes = bytes_of(line_of(cache + "/size"));
    sharing = processors_in(line_of(cache + "/shared_cpu_list"));
  }
  const std::size_t online = processors_in(line_of(root + "/online"));
  if (bytes == 0 || sharing == 0 || online == 0) return 0;
  return online <= sharing ? bytes : bytes * (online / sharing);
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
