// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Machines as Linux describes them in /sys: what papcoll takes if no other producer is asked for.

#include <papcoll/base/config.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/processor_set.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {

/// Where Linux describes processors and memory.
inline constexpr const char* linux_root = "/sys/devices/system";

/// Returns where this thread is bound, on node 0: the smallest objects that have all processors it
/// may run on. `anywhere`: it may run on several objects of the kind, or Linux does not say, as in
/// some containers and virtual machines. Packages and NUMA domains have Linux's numbers, L3 caches
/// and cores those of their lowest processors.
PAPCOLL_DECL Place linux_place(const std::string& root = linux_root);

/// Returns the place of a thread that is bound to these processors.
PAPCOLL_DECL Place linux_place(const ProcessorSet& binding, const std::string& root = linux_root);

/// The data caches of the processor that this thread runs on.
PAPCOLL_DECL CacheSizes linux_caches(const std::string& root = linux_root);

/// Returns the cache sizes of a processor.
PAPCOLL_DECL CacheSizes linux_caches(int processor, const std::string& root = linux_root);

namespace detail {

/// The number of an object, or `anywhere` if there is none that a Place can have.
inline std::uint16_t as_object(int number) noexcept {
  return number >= 0 && number < Place::anywhere ? static_cast<std::uint16_t>(number)
                                                 : Place::anywhere;
}

/// Bytes of all last-level caches of the machine together, by that of a processor and the number of
/// processors that share it. 0 where the system does not say, as in some containers and virtual
/// machines.
PAPCOLL_DECL std::size_t last_level_cache_bytes(int processor, const std::string& root);

/// As above, by the last-level cache of the processor on which this thread runs.
PAPCOLL_DECL std::size_t last_level_cache_bytes();

}  // namespace detail

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/topology/sysfs.hpp>

#include <algorithm>

#include <sched.h>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {

/// The processors that a file lists, which Linux before 5.2 calls by another name.
[[gnu::cold]] PAPCOLL_DECL ProcessorSet set_in_either(const std::string& path,
                                                      const std::string& older) {
  const std::string line = line_of(path);
  return set_of(line.empty() ? line_of(older) : line);
}

/// The NUMA domain of a processor; −1 if unknown.
[[gnu::cold]] PAPCOLL_DECL int numa_of(const std::string& processor) {
  for (const std::string& name : names_in(processor)) {
    if (name.compare(0, 4, "node") != 0) continue;
    const int number = number_of(name.substr(4), Place::anywhere - 1);
    if (number >= 0) return number;
  }
  return -1;
}

/// The processors that share the L3 cache of a processor; empty if it has none.
[[gnu::cold]] PAPCOLL_DECL ProcessorSet l3_set_of(const std::string& processor) {
  for (const char* index : {"3", "2", "4", "1"}) {  // where it is likely first
    const std::string cache = processor + "/cache/index" + index;
    if (line_of(cache + "/level") != "3" || line_of(cache + "/type") != "Unified") continue;
    return set_of(line_of(cache + "/shared_cpu_list"));
  }
  return {};
}

}  // namespace detail

[[gnu::cold]] PAPCOLL_DECL Place linux_place(const std::string& root) {
  return linux_place(ProcessorSet::of_this_thread(), root);
}

[[gnu::cold]] PAPCOLL_DECL Place linux_place(const ProcessorSet& binding, const std::string& root) {
  using namespace detail;
  Place place;
  const int first = binding.lowest();
  if (first < 0) return place;
  const std::string processor = root + "/cpu/cpu" + std::to_string(first);
  const std::string topology = processor + "/topology/";
  const ProcessorSet core =
      set_in_either(topology + "core_cpus_list", topology + "thread_siblings_list");
  if (core.has_all(binding)) place.core = as_object(core.lowest());
  const ProcessorSet package =
      set_in_either(topology + "package_cpus_list", topology + "core_siblings_list");
  if (package.has_all(binding)) {
    place.package =
        as_object(number_of(line_of(topology + "physical_package_id"), Place::anywhere));
  }
  const ProcessorSet l3 = l3_set_of(processor);
  if (l3.has_all(binding)) place.l3 = as_object(l3.lowest());
  const int numa = numa_of(processor);
  const std::string domain = root + "/node/node" + std::to_string(numa);
  if (numa >= 0 && set_of(line_of(domain + "/cpulist")).has_all(binding)) {
    place.numa = as_object(numa);
  }
  return place;
}

[[gnu::cold]] PAPCOLL_DECL CacheSizes linux_caches(const std::string& root) {
  return linux_caches(sched_getcpu(), root);
}

[[gnu::cold]] PAPCOLL_DECL CacheSizes linux_caches(int processor, const std::string& root) {
  using namespace detail;
  CacheSizes sizes;
  if (processor < 0) return sizes;
  const std::string caches = root + "/cpu/cpu" + std::to_string(processor) + "/cache/index";
  for (int i = 0; i < 8; ++i) {
    const std::string cache = caches + std::to_string(i);
    const std::string level = line_of(cache + "/level");
    if (level.empty()) break;
    if (line_of(cache + "/type") == "Instruction") continue;
    const std::size_t bytes = bytes_of(line_of(cache + "/size"));
    if (level == "1") sizes.l1 = bytes;
    if (level == "2") sizes.l2 = bytes;
    if (level == "3") sizes.l3 = bytes;
  }
  return sizes;
}

[[gnu::cold]] PAPCOLL_DECL std::size_t detail::last_level_cache_bytes(int processor,
                                                                      const std::string& root) {
  const std::string cpus = root + "/cpu";
  const std::string caches = cpus + "/cpu" + std::to_string(processor) + "/cache/index";
  for (int i = 7; i >= 0; --i) {  // the nearest is 0; each file that is there takes 10 µs to read
    const std::string cache = caches + std::to_string(i);
    if (line_of(cache + "/type") != "Unified") continue;
    const std::size_t bytes = bytes_of(line_of(cache + "/size"));
    const int sharing = set_of(line_of(cache + "/shared_cpu_list")).count();
    const int online = set_of(line_of(cpus + "/online")).count();
    if (bytes == 0 || sharing == 0 || online == 0) return 0;
    return online <= sharing ? bytes : bytes * static_cast<std::size_t>(online / sharing);
  }
  return 0;
}

[[gnu::cold]] PAPCOLL_DECL std::size_t detail::last_level_cache_bytes() {
  return last_level_cache_bytes(std::max(sched_getcpu(), 0), linux_root);
}

}  // namespace papcoll::inline PAPCOLL_ABI

#endif
