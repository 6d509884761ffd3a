// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "options.hpp"
#include "timing/placement.hpp"

// papcoll-bench --measure node-costs
namespace bench {

/// Rank 0 measures, by two threads on processors of its own choice while all other ranks sleep,
/// what the work of a node's ranks costs, and writes it to options.node_costs. If the file has such
/// costs already, what these processors cannot show (near or apart) stays as it was. Collective.
/// Throws usage_error.
void measure_node_costs(const Options& options, const Placement& placement);

}  // namespace bench
