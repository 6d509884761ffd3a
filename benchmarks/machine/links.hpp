// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "options.hpp"
#include "timing/placement.hpp"

// papcoll-bench --measure links
namespace bench {

/// Measures what messages take between each pair of nodes and, on the first node, between ranks at
/// each distance, one pair at a time while all others sleep; then the paths between the GPUs that
/// rank 0 sees. Prints all and, where `options.links` names a file, writes the pairs of nodes as a
/// network file (hops relative to the quickest pair) for Options::machine. Collective. Throws
/// usage_error on all ranks.
void measure_links(const Options& options, const Placement& placement);

}  // namespace bench
