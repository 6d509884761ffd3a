#pragma once

// The optional parts that the file that includes this is compiled with.

#include <papcoll/tools/optional_parts.hpp>

#ifdef PAPCOLL_WITH_HWLOC
#include <papcoll/tools/machine_named.hpp>
#include <papcoll/topology/hwloc.hpp>
#endif
#ifdef PAPCOLL_WITH_SCOTCH
#include <papcoll/mapping/scotch.hpp>
#endif
#ifdef PAPCOLL_TOOL_WITH_CUDA
#include <papcoll/error.hpp>
#include <papcoll/gpu/cuda_runtime.hpp>
#include <papcoll/tools/gpu_access.hpp>
#include <papcoll/tools/indented.hpp>
#endif

#include <string>
#include <vector>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace tool {

#ifdef PAPCOLL_WITH_HWLOC
inline Machine machine_by_hwloc(const std::string& spec) {
  const Repeated parts = repeated(spec);
  if (spec.starts_with(synthetic_prefix)) {
    return hwloc_synthetic(parts.text.substr(synthetic_prefix.size()), parts.nodes).read();
  }
  return spec == "hwloc" ? hwloc_machine().read() : hwloc_xml(parts.text, parts.nodes).read();
}
#endif

#ifdef PAPCOLL_TOOL_WITH_CUDA
inline std::string cuda_access_text() {
  try {
    gpu::CudaRuntime gpus;
    std::vector<std::string> names;
    for (int d = 0; d < gpus.devices(); ++d) names.push_back(gpus.pci_address(d));
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
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
