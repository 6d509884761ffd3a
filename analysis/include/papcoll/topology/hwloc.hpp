// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Machines as hwloc describes them: this one, one that lstopo wrote to an XML file, one that a
// string of hwloc's describes. On request: papcoll.hpp does not include it.

#ifndef PAPCOLL_WITH_HWLOC
#error \
    "papcoll/topology/hwloc.hpp: set the CMake option PAPCOLL_WITH_HWLOC, or compile \
this file with -DPAPCOLL_WITH_HWLOC and link the program with -lhwloc"
#endif

#include <papcoll/base/config.hpp>
#include <papcoll/base/error.hpp>
#include <papcoll/base/pointers.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/machine_source.hpp>
#include <papcoll/topology/sysfs.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <hwloc.h>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {

struct DestroyHwlocTopology {
  void operator()(hwloc_topology_t t) const noexcept { hwloc_topology_destroy(t); }
};
using HwlocTopology = detail::Owned<std::remove_pointer_t<hwloc_topology_t>, DestroyHwlocTopology>;

struct FreeHwlocBitmap {
  void operator()(hwloc_bitmap_t b) const noexcept { hwloc_bitmap_free(b); }
};
using HwlocBitmap = detail::Owned<std::remove_pointer_t<hwloc_bitmap_t>, FreeHwlocBitmap>;

/// A function of hwloc failed, and errno says why.
[[noreturn, gnu::cold]] inline void fail_hwloc(std::string_view what) {
  const int why = errno;
  throw system_error(joined({"papcoll: hwloc cannot ", what, ": ", std::strerror(why)}), why);
}

/// The topology of what `describe` has it be; `what` is for messages.
template <class Describe> HwlocTopology loaded(std::string_view what, Describe describe) {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) fail_hwloc("make a topology");
  HwlocTopology topology{made};
  describe(made);
  if (hwloc_topology_set_io_types_filter(made, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0) {
    fail_hwloc("look for devices");
  }
  errno = EINVAL;  // hwloc does not always say why it fails
  if (hwloc_topology_load(made) != 0) fail_hwloc(joined({"load the topology of ", what}));
  return topology;
}

/// The topology of this machine. Slow to load, so it is kept until the process ends. It is never
/// changed, and any thread may read it.
inline hwloc_topology_t this_machine() {
  static const HwlocTopology kept = loaded("this machine", [](hwloc_topology_t) {});
  return kept.get();
}

/// Refuses XML whose objects are within each other so deep that hwloc would leave its stack. As for
/// hwloc's own reader, each > ends a tag, quoted or not.
inline void require_flat(std::FILE* in, const std::string& file) {
  constexpr int deepest = 256;
  int depth = 0;
  std::size_t line = 1;
  int kind = 0;  // the first character of the tag; 0: outside of tags
  int before = 0;
  for (int c = 0; (c = std::getc(in)) != EOF; before = c) {
    if (c == '\n') ++line;
    if (before == '<') kind = c;
    if (kind == 0 || c != '>') continue;
    if (kind == '/') {
      depth = std::max(depth - 1, 0);
    } else if (kind != '?' && kind != '!' && before != '/') {
      ++depth;
    }
    kind = 0;
    if (depth > deepest) {
      detail::throw_error<argument_error>({"papcoll: ", file, ", line ", line,
                                           ": objects are nested ", depth, " deep: at most ",
                                           deepest});
    }
  }
}

inline HwlocTopology topology_of_xml(const std::string& file) {
  // hwloc takes whatever it cannot read as XML for the same fault.
  const OpenFile in{std::fopen(file.c_str(), "re")};
  if (!in) {
    const int why = errno;
    throw system_error(
        joined({"papcoll: cannot read the topology ", file, ": ", std::strerror(why)}), why);
  }
  require_flat(in.get(), file);
  constexpr std::string_view remedy = "is it XML that lstopo --of xml has written, and whole?";
  return loaded(joined({file, " (", remedy, ")"}), [&file, remedy](hwloc_topology_t t) {
    if (hwloc_topology_set_xml(t, file.c_str()) == 0) return;
    detail::throw_error<argument_error>({"papcoll: hwloc cannot read ", file, ": ", remedy});
  });
}

/// Refuses a description of a node for which hwloc would take minutes or all memory. Its time grows
/// with the square of the processors, and with the objects of a kind in one. Reads as hwloc does,
/// which goes on behind the first colon, whatever is between the name of a kind and it.
inline void require_small(const std::string& description) {
  constexpr unsigned long most_processors = 8192;
  constexpr unsigned long most_in_one = 1024;
  unsigned long processors = 1;
  const auto behind = [](const char* at, char last) {
    const char* const found = std::strchr(at, last);
    return found == nullptr ? "" : found + 1;  // what is not whole hwloc refuses
  };
  const char* at = description.c_str();
  if (*at == '(') at = behind(at, ')');
  while (*(at += std::strspn(at, " \n")) != 0) {
    if (*at == '[') {  // NUMA domains, and their attributes
      at = behind(at, ']');
      continue;
    }
    if (*at < '0' || *at > '9') at = behind(at, ':');
    char* end = nullptr;
    const unsigned long number = std::strtoul(at, &end, 0);  // of 018 the 8 is another one
    if (end == at) return;
    processors *= std::clamp(number, 1UL, most_processors + 1);
    if (number > most_in_one || processors > most_processors) {
      detail::throw_error<argument_error>(
          {"papcoll: the node \"", description, "\" has ",
           number > most_in_one
               ? joined({number, " objects of a kind in one: at most ", most_in_one})
               : joined({processors, " processors or more: at most ", most_processors})});
    }
    at = *end == '(' ? behind(end, ')') : end;
  }
}

inline HwlocTopology topology_of_string(const std::string& description) {
  require_small(description);
  return loaded(description, [&description](hwloc_topology_t t) {
    // Loading goes on with the real machine after this has failed.
    if (hwloc_topology_set_synthetic(t, description.c_str()) == 0) return;
    detail::throw_error<argument_error>(
        {"papcoll: hwloc does not take \"", description,
         "\" for a topology: write kinds of objects and how many of each "
         "are in one before, down to pu, as in \"package:2 l3:4 core:8 "
         "pu:1\""});
  });
}

/// The first NUMA domain at an object that has the processors of an inner one; null if there is
/// none. NUMA domains hang beside the tree of other objects, also below caches of memory.
inline const hwloc_obj* numa_at(const hwloc_obj* o, const hwloc_obj* inner) {
  for (const hwloc_obj* m = o->memory_first_child; m != nullptr; m = m->next_sibling) {
    const hwloc_obj* found = m;
    while (found != nullptr && found->type != HWLOC_OBJ_NUMANODE) found = found->memory_first_child;
    if (found != nullptr && hwloc_bitmap_isincluded(inner->cpuset, found->cpuset) != 0)
      return found;
  }
  return nullptr;
}

/// The number of the smallest object of a kind around an object, or of itself; `anywhere` if there
/// is none.
inline std::uint16_t smallest_around(const hwloc_obj* inner, hwloc_obj_type_t kind) {
  for (const hwloc_obj* o = inner; o != nullptr; o = o->parent) {
    const hwloc_obj* const found = kind == HWLOC_OBJ_NUMANODE ? numa_at(o, inner) : o;
    if (found == nullptr || found->type != kind) continue;
    if (found->logical_index >= Place::anywhere) break;
    return static_cast<std::uint16_t>(found->logical_index);
  }
  return Place::anywhere;
}

/// The smallest object that has all of a set of processors; null if none has, or the set is empty.
inline const hwloc_obj* smallest_with(hwloc_topology_t t, hwloc_const_cpuset_t processors) {
  if (hwloc_bitmap_iszero(processors) != 0) return nullptr;
  return hwloc_get_obj_covering_cpuset(t, processors);
}

/// The place of what runs on an object, but for the core.
inline Place place_on(const hwloc_obj* o) {
  Place place;
  place.package = smallest_around(o, HWLOC_OBJ_PACKAGE);
  place.numa = smallest_around(o, HWLOC_OBJ_NUMANODE);
  place.l3 = smallest_around(o, HWLOC_OBJ_L3CACHE);
  return place;
}

/// Returns what counts as a core, in the order of the numbers: cores in hwloc's logical order, then
/// the PUs that are in no core.
inline std::vector<hwloc_obj_t> cores_of(hwloc_topology_t t) {
  std::vector<hwloc_obj_t> cores;
  for (const hwloc_obj_type_t kind : {HWLOC_OBJ_CORE, HWLOC_OBJ_PU}) {
    for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_obj_by_type(t, kind, o)) != nullptr;) {
      if (hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_CORE, o) == nullptr) cores.push_back(o);
    }
  }
  return cores;
}

/// "0000:17:00.0".
inline std::string pci_address(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  std::array<char, 32> address{};
  std::snprintf(address.data(), address.size(), "%04x:%02x:%02x.%x", unsigned{pci.domain},
                unsigned{pci.bus}, unsigned{pci.dev}, unsigned{pci.func});
  return address.data();
}

/// The addresses of the bridges between a PCI device and the host, the outermost first.
inline std::vector<std::string> bridges_above(const hwloc_obj* device) {
  std::vector<std::string> bridges;
  for (const hwloc_obj* o = device->parent; o != nullptr; o = o->parent) {
    if (o->type != HWLOC_OBJ_BRIDGE) break;
    const auto& bridge = o->attr->bridge;
    if (bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI) {
      bridges.push_back(pci_address(bridge.upstream.pci));
    }
  }
  std::reverse(bridges.begin(), bridges.end());
  return bridges;
}

/// What the system calls a PCI device, and its vendor.
inline void name_devices(const hwloc_obj* device, Gpu& gpu) {
  for (const hwloc_obj* o = device->io_first_child; o != nullptr; o = o->next_sibling) {
    if (o->type != HWLOC_OBJ_OS_DEVICE || o->name == nullptr) continue;
    const hwloc_obj_osdev_type_t kind = o->attr->osdev.type;
    if (kind != HWLOC_OBJ_OSDEV_GPU && kind != HWLOC_OBJ_OSDEV_COPROC) continue;
    gpu.devices += joined({gpu.devices.empty() ? "" : ", ", o->name});
    const char* const model = hwloc_obj_get_info_by_name(const_cast<hwloc_obj*>(o), "GPUModel");
    if (model != nullptr) gpu.model = model;
  }
}

inline detail::Vector<Gpu> gpus_of(hwloc_topology_t t) {
  constexpr unsigned nvidia = 0x10de;
  constexpr unsigned amd = 0x1002;
  detail::Vector<Gpu> gpus;
  for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_pcidev(t, o)) != nullptr;) {
    const auto& pci = o->attr->pcidev;
    const unsigned kind = pci.class_id;
    // A display controller: of VGA, in three dimensions, another one; a processing accelerator.
    if (kind != 0x0300 && kind != 0x0302 && kind != 0x0380 && kind != 0x1200) continue;
    if (pci.vendor_id != nvidia && pci.vendor_id != amd) continue;
    Gpu gpu;
    gpu.name = pci_address(pci);
    gpu.bridges = bridges_above(o);
    name_devices(o, gpu);
    if (const hwloc_obj* const near = hwloc_get_non_io_ancestor_obj(t, o); near != nullptr) {
      gpu.numa = smallest_around(near, HWLOC_OBJ_NUMANODE);
      gpu.package = smallest_around(near, HWLOC_OBJ_PACKAGE);
    }
    gpus.push_back(std::move(gpu));
  }
  std::sort(gpus.begin(), gpus.end(), [](const Gpu& a, const Gpu& b) { return a.name < b.name; });
  return gpus;
}

inline std::size_t cache_bytes(hwloc_topology_t t, hwloc_obj_type_t kind) {
  const hwloc_obj* const cache = hwloc_get_next_obj_by_type(t, kind, nullptr);
  return cache == nullptr ? 0 : static_cast<std::size_t>(cache->attr->cache.size);
}

/// `nodes` nodes as the topology is, and a place on each core.
inline Machine machine_of(hwloc_topology_t t, int nodes, const std::string& source) {
  std::vector<Place> of_node;
  for (const hwloc_obj* const core : cores_of(t)) {
    if (of_node.size() >= Place::anywhere) {
      detail::throw_error<argument_error>(
          {"papcoll: ", source, ": a node has at most ", Place::anywhere - 1, " cores"});
    }
    Place place = place_on(core);
    place.core = static_cast<std::uint16_t>(of_node.size());
    of_node.push_back(place);
  }
  const std::size_t all = of_node.size() * static_cast<std::size_t>(nodes);
  if (all > Machine::most_described) {
    detail::throw_error<argument_error>({"papcoll: ", source, ": ", nodes, " nodes of ",
                                         of_node.size(), " cores are ", all, " places: at most ",
                                         Machine::most_described});
  }
  std::vector<Place> places;
  places.reserve(all);
  for (int node = 0; node < nodes; ++node) {
    for (Place place : of_node) {
      place.node = node;
      places.push_back(place);
    }
  }
  Machine machine{std::move(places)};
  machine.source = source;
  machine.caches = {cache_bytes(t, HWLOC_OBJ_L1CACHE), cache_bytes(t, HWLOC_OBJ_L2CACHE),
                    cache_bytes(t, HWLOC_OBJ_L3CACHE)};
  machine.gpus = gpus_of(t);
  return machine;
}

/// Returns what a source reads and how many nodes it has, in one name: "node.xml*16".
inline std::string with_nodes(const std::string& what, int nodes) {
  if (nodes < 1) {
    detail::throw_error<argument_error>(
        {"papcoll: ", nodes, " nodes as ", what, " describes them: write 1 or more"});
  }
  return joined({what, "*", nodes});
}
inline std::pair<std::string, int> without_nodes(const std::string& name) {
  const std::size_t star = name.rfind('*');
  return {name.substr(0, star), number_of(name.substr(star + 1), std::numeric_limits<int>::max())};
}

}  // namespace detail

/// This node by hwloc, on which rank r is on core r: cores in the logical order of hwloc, those
/// that this process may use by its control group. With caches and GPUs.
inline MachineSource hwloc_machine() {
  return {"hwloc", [](const std::string& name) {
            return detail::machine_of(detail::this_machine(), 1, name);
          }};
}

/// Returns the place where this thread is bound, on node 0, with hwloc's logical numbers as
/// hwloc_machine() has them: the smallest objects that have all processors it may run on, and
/// `anywhere` for kinds of objects of which it may run on several. All is `anywhere` where a
/// variable of hwloc's environment has it describe another machine.
inline Place hwloc_place() {
  hwloc_topology* const t = detail::this_machine();
  if (hwloc_topology_is_thissystem(t) == 0) return {};
  const detail::HwlocBitmap binding{hwloc_bitmap_alloc()};
  if (!binding) detail::fail_hwloc("make a set of processors");
  if (hwloc_get_cpubind(t, binding.get(), HWLOC_CPUBIND_THREAD) != 0) return {};
  Place place = detail::place_on(detail::smallest_with(t, binding.get()));
  const std::vector<hwloc_obj_t> cores = detail::cores_of(t);
  const auto core = std::find_if(cores.begin(), cores.end(), [&binding](hwloc_obj_t o) {
    return hwloc_bitmap_isincluded(binding.get(), o->cpuset) != 0;
  });
  const std::ptrdiff_t number = core - cores.begin();
  if (core != cores.end() && number < Place::anywhere) {
    place.core = static_cast<std::uint16_t>(number);
  }
  return place;
}

/// `nodes` nodes, each as an XML file describes it that `lstopo --of xml` has written: rank r is on
/// core r, cores in hwloc's logical order, then PUs that are in no core, node by node. Reading
/// throws argument_error if hwloc cannot read the file, and system_error if it cannot be read at
/// all. Throws argument_error if nodes < 1. Where hwloc has no plugin for libxml2, its own reader
/// crashes on some damaged files: read what nobody vouches for in a process of its own first, as
/// the command papcoll does.
inline MachineSource hwloc_xml(const std::string& file, int nodes = 1) {
  return {detail::with_nodes(file, nodes), [](const std::string& name) {
            const auto [xml, count] = detail::without_nodes(name);
            const detail::HwlocTopology t = detail::topology_of_xml(xml);
            return detail::machine_of(t.get(), count, detail::joined({"hwloc, ", xml}));
          }};
}

/// `nodes` nodes, each as a string of hwloc's describes it, such as "package:2 l3:4 core:8 pu:1":
/// the ranks are as with hwloc_xml(). Reading throws argument_error where hwloc does not take it.
inline MachineSource hwloc_synthetic(const std::string& description, int nodes = 1) {
  return {detail::with_nodes(description, nodes), [](const std::string& name) {
            const auto [text, count] = detail::without_nodes(name);
            const detail::HwlocTopology t = detail::topology_of_string(text);
            return detail::machine_of(t.get(), count, detail::joined({"hwloc, ", text}));
          }};
}

}  // namespace papcoll::inline PAPCOLL_ABI
