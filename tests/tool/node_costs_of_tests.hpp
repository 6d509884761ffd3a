// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "../unit/simulate/virtual_costs.hpp"

#include <papcoll/tools/files/node_costs_file.hpp>

#include <string>

/// A file's text with the costs of the unit tests.
inline std::string node_costs_text() {
  return papcoll::tool::node_costs_json(virtual_costs()).dump();
}
