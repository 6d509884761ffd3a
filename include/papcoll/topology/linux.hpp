#pragma once

// Machines as Linux describes them in /sys: what papcoll takes if no other producer is asked for.

#include <papcoll/base/config.hpp>
#include <papcoll/base/vector.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/processor_set.hpp>

#include <string>

namespace papcoll::inline PAPCOLL_ABI {

/// Where Linux describes processors and memory.
inline constexpr const char* linux_root = "/sys/devices/system";

/// Where this thread is bound, on node 0: the smallest objects that have all processors it may run
/// on. `anywhere` stands for kinds of objects of which it may run on several, and for what Linux
/// does not tell, as in some containers and virtual machines. Packages and NUMA domains have
/// Linux's numbers, L3 caches and cores those of their lowest processors.
PAPCOLL_DECL Place linux_place(const std::string& root = linux_root);

/// The same of a thread that is bound to these processors.
PAPCOLL_DECL Place linux_place(const ProcessorSet& binding, const std::string& root = linux_root);

/// The data caches of the processor that this thread runs on.
PAPCOLL_DECL CacheSizes linux_caches(const std::string& root = linux_root);

/// The same of a processor.
PAPCOLL_DECL CacheSizes linux_caches(int processor, const std::string& root = linux_root);

/// The GPUs of this node, of NVIDIA and AMD, by their addresses on the PCI bus.
PAPCOLL_DECL detail::Vector<Gpu> linux_gpus(const std::string& root = linux_root);

/// The cores of this node of which any processor is online, a place each, in the order of these
/// processors; with caches and GPUs. Where Linux does not tell, a place for each processor, and
/// nothing known of it.
PAPCOLL_DECL Machine linux_machine(const std::string& root = linux_root);

}  // namespace papcoll::inline PAPCOLL_ABI

#if PAPCOLL_HAS_SHARED_CODE
#include <papcoll/topology/linux.ipp>
#endif
