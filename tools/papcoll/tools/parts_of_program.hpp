// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The optional parts that the file that includes this is compiled with.

#include <papcoll/tools/optional_parts.hpp>

#ifdef PAPCOLL_WITH_HWLOC
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/tools/machines/machine_named.hpp>
#include <papcoll/topology/hwloc.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif
#ifdef PAPCOLL_WITH_SCOTCH
#include <papcoll/baselines/scotch.hpp>
#endif
#ifdef PAPCOLL_TOOL_WITH_CUDA
#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/gpu/cuda_runtime.hpp>
#include <papcoll/tools/machines/gpu_access.hpp>
#include <papcoll/tools/machines/indented.hpp>
#endif

#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

#ifdef PAPCOLL_WITH_HWLOC
/// Refuses XML on which hwloc crashes, as its own reader does, which it has where libxml2 is
/// missing, with some damaged files. A child process reads the file first.
inline void require_survivable(const std::string& file) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core{};
    setrlimit(RLIMIT_CORE, &no_core);
    // What hwloc prints about the file is printed when this process reads it.
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(0);
    try {
      papcoll::detail::topology_of_xml(file);
    } catch (...) {  // is thrown once more when this process reads it
    }
    _exit(0);
  }
  int status = 0;
  pid_t ended = -1;
  while (child > 0 && (ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  if (ended != child) {
    const int why = errno;
    throw system_error(papcoll::detail::joined({"papcoll: cannot read ", file,
                                                " in a process of its own: ", std::strerror(why)}),
                       why);
  }
  if (status != 0) {
    throw argument_error(
        papcoll::detail::joined({"papcoll: hwloc crashes on ", file,
                                 ": is it XML that lstopo --of xml has written, and "
                                 "whole?"}));
  }
}

inline Machine machine_by_hwloc(const std::string& spec) {
  const Repeated parts = repeated(spec);
  if (spec.starts_with(synthetic_prefix)) {
    return hwloc_synthetic(parts.text.substr(synthetic_prefix.size()), parts.nodes).read();
  }
  if (spec == "hwloc") return hwloc_machine().read();
  require_survivable(parts.text);
  return hwloc_xml(parts.text, parts.nodes).read();
}
#endif

#ifdef PAPCOLL_TOOL_WITH_CUDA
/// A device's address on the PCI bus: "0000:17:00.0".
inline std::string pci_address(int device) {
  char text[32] = {};
  if (const cudaError_t code = cudaDeviceGetPCIBusId(text, sizeof text, device); code != 0) {
    throw gpu::device_error(gpu::Fault::lost,
                            papcoll::detail::joined({"papcoll: cudaDeviceGetPCIBusId on device ",
                                                     device, " failed: ", cudaGetErrorName(code)}));
  }
  std::string address = text;
  for (char& c : address) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  return address;
}

inline std::string cuda_access_text() {
  try {
    gpu::CudaRuntime gpus;
    std::vector<std::string> names;
    for (int d = 0; d < gpus.devices(); ++d) names.push_back(pci_address(d));
    return access_text(names, [&](int from, int to) { return gpus.can_access(from, to); });
  } catch (const gpu::device_error& e) {
    Indented out;
    out.line(1, std::string("peer access: ") + papcoll::detail::bare(e.what()));
    return out.text();
  }
}
#endif

namespace {
[[maybe_unused]] const bool has_optional_parts = [] {
  [[maybe_unused]] OptionalParts& parts = optional_parts();
#ifdef PAPCOLL_WITH_HWLOC
  parts.machine_by_hwloc = &machine_by_hwloc;
#endif
#ifdef PAPCOLL_WITH_SCOTCH
  parts.map_by_scotch = &map_by_scotch;
#endif
#ifdef PAPCOLL_TOOL_WITH_CUDA
  parts.gpu_access = &cuda_access_text;
#endif
  return true;
}();
}  // namespace

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
