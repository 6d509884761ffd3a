#pragma once

// Machines as command lines name them.

#include <papcoll/base/joined.hpp>
#include <papcoll/error.hpp>
#include <papcoll/tools/machine_shape.hpp>
#include <papcoll/tools/optional_parts.hpp>
#include <papcoll/topology/linux.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/network_file.hpp>
#include <papcoll/topology/sysfs.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace tool {

/// For the help of options.
inline constexpr const char* machine_forms =
    "linux, hwloc, FILE.xml[*NODES], synthetic:DESCRIPTION[*NODES], a network FILE, or "
    "nodes=N[,packages=N][,l3=N][,cores=N] and leaf=N[,uplinks=N] or group=N";

/// "node.xml*16" is node.xml and 16; a text without a star is one node.
struct Repeated {
  std::string text;
  int nodes = 1;
};
inline Repeated repeated(const std::string& spec) {
  const std::size_t star = spec.rfind('*');
  if (star == std::string::npos) return {spec};
  const int nodes = detail::number_of(spec.substr(star + 1), std::numeric_limits<int>::max());
  return nodes < 0 ? Repeated{spec} : Repeated{spec.substr(0, star), nodes};
}

inline constexpr std::string_view synthetic_prefix = "synthetic:";

/// Throws papcoll::error.
inline Machine machine_named(const std::string& spec) {
  if (spec.empty())
    throw argument_error(std::string("papcoll: no machine is named: write ") + machine_forms);
  if (spec == "linux") return linux_machine();
  if (is_machine_shape(spec)) return machine_shape(spec).machine();
  const bool is_synthetic = spec.starts_with(synthetic_prefix);
  const bool is_xml = repeated(spec).text.ends_with(".xml") && repeated(spec).text.size() > 4;
  if (spec != "hwloc" && !is_synthetic && !is_xml) return network_file(spec).read();
  if (optional_parts().machine_by_hwloc == nullptr) {
    throw argument_error(
        detail::joined({"papcoll: the machine ", spec,
                        " needs hwloc, and this program was built without it: "
                        "install it (Debian's package libhwloc-dev) and build again"}));
  }
  return optional_parts().machine_by_hwloc(spec);
}

}  // namespace tool
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
