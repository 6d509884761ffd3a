#pragma once

#include <papcoll/config.hpp>

#include <cstddef>
#include <cstdio>
#include <string>

#include <sched.h>
#include <unistd.h>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// The first line of a small file, without its end; empty if it cannot be read.
inline std::string line_of(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return {};
  char line[256] = {};
  const bool read = std::fgets(line, sizeof line, file) != nullptr;
  std::fclose(file);
  std::string text = read ? line : "";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// "49152K" or "48M" in bytes; 0 if it is nothing of the kind.
inline std::size_t bytes_of(const std::string& text) noexcept {
  unsigned long number = 0;
  char unit = 0;
  if (std::sscanf(text.c_str(), "%lu%c", &number, &unit) < 1) return 0;
  const std::size_t factor = unit == 'K' ? 1U << 10U : unit == 'M' ? 1U << 20U : 1U;
  return static_cast<std::size_t>(number) * factor;
}

/// How many processors a list such as "0-3,8" names; 0 if it is nothing of the kind.
inline std::size_t processors_in(const std::string& list) noexcept {
  std::size_t count = 0;
  const char* at = list.c_str();
  while (*at != 0) {
    unsigned first = 0;
    unsigned last = 0;
    int used = 0;
    if (std::sscanf(at, "%u%n", &first, &used) != 1) return 0;
    at += used;
    last = first;
    if (*at == '-') {
      if (std::sscanf(at, "-%u%n", &last, &used) != 1 || last < first) return 0;
      at += used;
    }
    count += last - first + 1;
    if (*at == ',') ++at;
  }
  return count;
}

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
