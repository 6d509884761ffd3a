// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Networks, and clusters of equal nodes, as a file of lines describes them: docs/topology.md has
// the format. On request: papcoll.hpp does not include it.

#include <papcoll/base/error.hpp>
#include <papcoll/base/text.hpp>
#include <papcoll/topology/machine.hpp>
#include <papcoll/topology/machine_source.hpp>
#include <papcoll/topology/network_reader.hpp>
#include <papcoll/topology/sysfs.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace papcoll::inline PAPCOLL_ABI {
namespace detail {

/// The contents of a file. Throws system_error.
inline std::string network_text(const std::string& file) {
  const auto cannot = [&file](int why) {
    return system_error(
        joined({"papcoll: cannot read the network file ", file, ": ", std::strerror(why)}), why);
  };
  const OpenFile in{std::fopen(file.c_str(), "re")};
  if (!in) throw cannot(errno);
  constexpr std::size_t most = std::size_t{256} << 20U;  // a pipe or a device may have no end
  std::string text;
  char part[4096];
  while (const std::size_t count = std::fread(part, 1, sizeof part, in.get())) {
    text.append(part, count);
    if (text.size() > most) throw cannot(EFBIG);
    if (std::string_view{part, count}.find('\0') != text.npos) break;  // it is no text
  }
  if (std::ferror(in.get()) != 0) throw cannot(errno);
  return text;
}

}  // namespace detail

/// The machine that the text of a network file describes; `file_name` is for messages. A file
/// without `places` describes a network alone: the machine has no ranks, and `hosts` are its nodes.
/// Throws argument_error, which names file, line and what is wrong.
inline Machine read_network(std::string_view text, const std::string& file_name) {
  return detail::NetworkReader{text, file_name}.machine();
}

/// The machine that a network file describes, read on rank 0. Throws system_error where it cannot
/// be read.
inline MachineSource network_file(std::string file) {
  return {std::move(file),
          [](const std::string& name) { return read_network(detail::network_text(name), name); }};
}

}  // namespace papcoll::inline PAPCOLL_ABI
