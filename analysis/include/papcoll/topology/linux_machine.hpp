// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// All of this node as Linux describes it in /sys. On request: papcoll.hpp does not include it.

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/topology/linux.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/processor_set.hpp>
#include <papcoll/topology/sysfs.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI {

namespace detail {

/// The addresses of the bridges between a PCI device and the host, the outermost first: parts of
/// where its link leads, such as ../../../devices/pci0000:14/0000:14:02.0/0000:17:00.0.
[[gnu::cold]] inline std::vector<std::string> bridges_above(const std::string& device) {
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

/// The GPUs of this node, of NVIDIA and AMD, by their addresses on the PCI bus.
[[gnu::cold]] inline detail::Vector<Gpu> linux_gpus(const std::string& root = linux_root) {
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

/// The cores of this node of which any processor is online, a place each, in the order of these
/// processors; with caches and GPUs. If Linux does not say, a place for each processor, of which
/// nothing is known.
[[gnu::cold]] inline Machine linux_machine(const std::string& root = linux_root) {
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
