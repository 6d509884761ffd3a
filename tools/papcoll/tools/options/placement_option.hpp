// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/tools/options/placements.hpp>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {

/// For options that name a placement.
inline CLI::Validator as_placement() {
  return CLI::IsMember(std::vector<std::string>{placement_names.begin(), placement_names.end()});
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
