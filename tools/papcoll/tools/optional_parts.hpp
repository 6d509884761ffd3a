// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the command papcoll can do only with other libraries. A file that includes papcoll_tool.hpp
// and is compiled with the library's macro brings it; tool_main() itself may be compiled without.

#include <papcoll/base/collective.hpp>
#include <papcoll/base/config.hpp>
#include <papcoll/schedule/schedule.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/mapping/mapped_order.hpp>

#include <string>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// Null: this program has no such library.
struct OptionalParts {
  /// hwloc: a machine as `papcoll topology --machine` takes it, "hwloc", "synthetic:…" or "….xml".
  Machine (*machine_by_hwloc)(const std::string& spec) = nullptr;
  /// SCOTCH: an order of ranks along the machine.
  MappedOrder (*map_by_scotch)(const AnySchedule&, Collective, const Machine&, int root) = nullptr;
  /// CUDA: which of the GPUs that this process sees reach each other, in lines.
  std::string (*gpu_access)() = nullptr;
};

/// Set before main().
inline OptionalParts& optional_parts() {
  static OptionalParts parts;
  return parts;
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
