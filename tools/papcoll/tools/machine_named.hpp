#pragma once

// Machines as command lines name them.

#include <papcoll/base/joined.hpp>
#include <papcoll/error.hpp>
#include <papcoll/tools/machine_shape.hpp>
#include <papcoll/topology/linux.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/network_file.hpp>
#include <papcoll/topology/sysfs.hpp>
#ifdef PAPCOLL_WITH_HWLOC
#include <papcoll/topology/hwloc.hpp>
#endif

#include <cstddef>
#include <limits>
#include <string>

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

/// Throws papcoll::error.
inline Machine machine_named(const std::string& spec) {
  if (spec.empty())
    throw argument_error(std::string("papcoll: no machine is named: write ") + machine_forms);
  if (spec == "linux") return linux_machine();
  if (is_machine_shape(spec)) return machine_shape(spec).machine();
  const std::string synthetic = "synthetic:";
  const bool is_synthetic = spec.compare(0, synthetic.size(), synthetic) == 0;
  const Repeated parts = repeated(spec);
  const bool is_xml = parts.text.size() > 4 && parts.text.substr(parts.text.size() - 4) == ".xml";
  if (spec != "hwloc" && !is_synthetic && !is_xml) return network_file(spec).read();
#ifdef PAPCOLL_WITH_HWLOC
  if (is_synthetic) {
    return hwloc_synthetic(parts.text.substr(synthetic.size()), parts.nodes).read();
  }
  return is_xml ? hwloc_xml(parts.text, parts.nodes).read() : hwloc_machine().read();
#else
  throw argument_error(
      detail::joined({"papcoll: the machine ", spec,
                      " needs hwloc, and this program was built without it: "
                      "install it (Debian's package libhwloc-dev) and build again"}));
#endif
}

}  // namespace tool
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
