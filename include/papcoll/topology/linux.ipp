#pragma once

#include <papcoll/base/pointers.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/topology/linux.hpp>
#include <papcoll/topology/processor_set.hpp>
#include <papcoll/topology/sysfs.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <dirent.h>
#include <sched.h>
#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {

/// The names in a directory, in no order; none if it cannot be read.
[[gnu::cold]] PAPCOLL_DECL std::vector<std::string> names_in(const std::string& directory) {
  struct Close {
    void operator()(DIR* d) const noexcept { static_cast<void>(closedir(d)); }
  };
  std::vector<std::string> names;
  const detail::Owned<DIR, Close> open{opendir(directory.c_str())};
  if (!open) return names;
  while (const dirent* const entry = readdir(open.get())) names.emplace_back(entry->d_name);
  return names;
}

/// A file that Linux before 5.2 calls by another name.
[[gnu::cold]] PAPCOLL_DECL std::string line_of_either(const std::string& path,
                                                      const std::string& older) {
  std::string line = line_of(path);
  return line.empty() ? line_of(older) : line;
}

/// The number of an object, or `anywhere` if there is none that a Place can have.
inline std::uint16_t as_object(int number) noexcept {
  return number >= 0 && number < Place::anywhere ? static_cast<std::uint16_t>(number)
                                                 : Place::anywhere;
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
[[gnu::cold]] PAPCOLL_DECL std::string l3_list_of(const std::string& processor) {
  for (const char* index : {"3", "2", "4", "1"}) {  // where it is likely first
    const std::string cache = processor + "/cache/index" + index;
    if (line_of(cache + "/level") != "3" || line_of(cache + "/type") != "Unified") continue;
    return line_of(cache + "/shared_cpu_list");
  }
  return {};
}

/// The addresses of the bridges between a PCI device and the host, the outermost first: parts of
/// where its link leads, such as ../../../devices/pci0000:14/0000:14:02.0/0000:17:00.0.
[[gnu::cold]] PAPCOLL_DECL std::vector<std::string> bridges_above(const std::string& device) {
  std::array<char, 512> path{};
  const ssize_t bytes = readlink(device.c_str(), path.data(), path.size());
  if (bytes <= 0 || static_cast<std::size_t>(bytes) == path.size()) return {};
  const std::string link(path.data(), static_cast<std::size_t>(bytes));
  const std::size_t root = link.find("/pci");
  if (root == std::string::npos) return {};
  std::vector<std::string> bridges;
  std::size_t begin = link.find('/', root + 1);
  while (begin != std::string::npos) {
    const std::size_t end = link.find('/', begin + 1);
    if (end == std::string::npos) break;  // the device itself
    bridges.push_back(link.substr(begin + 1, end - begin - 1));
    begin = end;
  }
  return bridges;
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
  const std::string core =
      line_of_either(topology + "core_cpus_list", topology + "thread_siblings_list");
  if (covers(core, binding)) place.core = as_object(lowest_in(core));
  const std::string package =
      line_of_either(topology + "package_cpus_list", topology + "core_siblings_list");
  if (covers(package, binding)) {
    place.package =
        as_object(number_of(line_of(topology + "physical_package_id"), Place::anywhere));
  }
  const std::string l3 = l3_list_of(processor);
  if (covers(l3, binding)) place.l3 = as_object(lowest_in(l3));
  const int numa = numa_of(processor);
  if (numa >= 0 &&
      covers(line_of(root + "/node/node" + std::to_string(numa) + "/cpulist"), binding))
    place.numa = as_object(numa);
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

[[gnu::cold]] PAPCOLL_DECL detail::Vector<Gpu> linux_gpus(const std::string& root) {
  using namespace detail;
  const std::string devices = root + "/../../bus/pci/devices/";
  std::vector<std::string> addresses = names_in(devices);
  detail::heap_sort(addresses.data(), addresses.size());
  detail::Vector<Gpu> gpus;
  for (const std::string& address : addresses) {
    const std::string device = devices + address;
    const std::string kind = line_of(device + "/class").substr(0, 6);
    // A display controller: of VGA, in three dimensions, another one; a processing accelerator.
    if (kind != "0x0300" && kind != "0x0302" && kind != "0x0380" && kind != "0x1200") continue;
    const std::string vendor = line_of(device + "/vendor");
    if (vendor != "0x10de" && vendor != "0x1002") continue;
    Gpu gpu;
    gpu.name = address;
    gpu.numa = as_object(number_of(line_of(device + "/numa_node"), Place::anywhere));
    gpu.bridges = bridges_above(device);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

[[gnu::cold]] PAPCOLL_DECL Machine linux_machine(const std::string& root) {
  using namespace detail;
  std::vector<Place> places;
  const ProcessorSet online = set_of(line_of(root + "/cpu/online"));
  ProcessorSet cores;  // those that have a place, by their lowest processors, online or not
  for (int p = 0; p < online.end(); ++p) {
    if (!online.has(p)) continue;
    ProcessorSet alone;
    alone.add(p);
    const Place place = linux_place(alone, root);
    const bool is_known = place.core != Place::anywhere;
    if (is_known && cores.has(place.core)) continue;
    if (is_known) cores.add(place.core);
    places.push_back(place);
  }
  if (places.empty()) {
    places.resize(static_cast<std::size_t>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L)));
  }
  Machine machine{std::move(places)};
  machine.source = "Linux";
  machine.caches = linux_caches(root);
  machine.gpus = linux_gpus(root);
  return machine;
}

}  // namespace papcoll::inline PAPCOLL_ABI
