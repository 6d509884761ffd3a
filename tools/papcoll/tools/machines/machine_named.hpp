// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Machines as command lines name them.

#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/tools/files/output_file.hpp>
#include <papcoll/tools/files/plain_text.hpp>
#include <papcoll/tools/machines/machine_shape.hpp>
#include <papcoll/tools/optional_parts.hpp>
#include <papcoll/topology/linux_machine.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/network_file.hpp>
#include <papcoll/topology/sysfs.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include <unistd.h>

namespace papcoll::inline PAPCOLL_ABI {
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

/// The machine of "hwloc", "synthetic:…" or an XML file. Throws papcoll::error.
inline Machine machine_by_hwloc_named(const std::string& spec) {
  if (optional_parts().machine_by_hwloc != nullptr) return optional_parts().machine_by_hwloc(spec);
  throw argument_error(
      detail::joined({"papcoll: the machine ", spec,
                      " needs hwloc, and this program was built without it: "
                      "install it (Debian's package libhwloc-dev) and build again"}));
}

/// Throws argument_error for files that other programs or options read.
inline void require_no_other_kind(std::string_view text, const std::string& file) {
  struct Kind {
    std::string_view sign;  ///< at the beginning of a line
    std::string_view is, remedy;
  };
  constexpr Kind kinds[] = {
      {"Switch\t", "what ibnetdiscover prints",
       "make a network file of it by papcoll topology --from ibnetdiscover"},
      {"<->", "what opareport prints",
       "make a network file of it by papcoll topology --from opareport"},
      {"SwitchName=", "a file of Slurm's",
       "write lines node NAME, switch NAME and link NAME NAME, as docs/topology.md has them"},
      {"{", "JSON",
       "name it by --link-costs or --model, and a machine by its XML or network file"}};
  for (const Kind& kind : kinds) {
    const std::size_t at = text.find(kind.sign);
    if (at == text.npos || (at > 0 && text[at - 1] != '\n')) continue;
    throw argument_error(
        detail::joined({"papcoll: ", file, " is ", kind.is, ", no machine: ", kind.remedy}));
  }
}

/// The machine of a network file, or of an XML file whatever its name is. Throws papcoll::error.
inline Machine machine_in_file(const std::string& spec) {
  const auto is_there = [](const std::string& name) { return access(name.c_str(), F_OK) == 0; };
  const std::string counted = repeated(spec).text;
  const std::string file = is_there(spec) || !is_there(counted) ? spec : counted;
  if (!is_there(file) && file.find_first_of("./") == file.npos) {
    std::string lower = file;
    for (char& c : lower) c = detail::lower(c);
    for (const char* const kind : {"pu:", "core:", "package:", "numa:"}) {
      if (lower.find(kind) == lower.npos) continue;
      throw argument_error(detail::joined(
          {"papcoll: there is no file ", file, ": did you mean '", synthetic_prefix, file, "'?"}));
    }
    throw argument_error(
        detail::joined({"papcoll: there is no file ", file, ": write ", machine_forms}));
  }
  const std::string text = detail::network_text(file);
  require_plain_text(text, file);
  constexpr std::string_view before = "\xef\xbb\xbf \t\r\n";  // a byte order mark, or blanks
  const std::size_t begin = text.find_first_not_of(before);
  if (begin != text.npos && text[begin] == '<') return machine_by_hwloc_named(spec);
  require_no_other_kind(text, file);
  if (file == spec) return read_network(text, file);
  throw argument_error(detail::joined(
      {"papcoll: the network file ", file, " names all of its nodes: leave ",
       std::string_view{spec}.substr(file.size()), " out, which is for files of one node in XML"}));
}

/// The machine that a command line names in one of the machine_forms. Throws papcoll::error.
inline Machine machine_named(const std::string& spec) {
  if (spec.empty())
    throw argument_error(std::string("papcoll: no machine is named: write ") + machine_forms);
  std::string lower = spec;
  for (char& c : lower) c = detail::lower(c);
  if (lower == "linux") return linux_machine();
  if (lower == "hwloc") return machine_by_hwloc_named(lower);
  if (is_machine_shape(spec)) return machine_shape(spec).machine();
  if (lower.starts_with(synthetic_prefix)) {
    return machine_by_hwloc_named(
        detail::joined({synthetic_prefix, spec.substr(synthetic_prefix.size())}));
  }
  note_input(repeated(spec).text);
  const std::string name = repeated(lower).text;
  return name.ends_with(".xml") && name.size() > 4 ? machine_by_hwloc_named(spec)
                                                   : machine_in_file(spec);
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
