// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "timing/bound.hpp"
#include "timing/meeting.hpp"
#include "timing/placement.hpp"

#include <cstddef>

// Measurements of the machine. All are collective over the placement's communicator and give the
// same result on every rank; ranks that have no part in one sleep meanwhile, so as not to take
// processors from those that have.
namespace bench {

/// How long a store of one rank takes to be seen by another rank of its node, in seconds: the
/// slowest of the pairs with a node's first rank. 0 with one rank a node.
double probe_signal(const Placement& placement);

/// Latency and bandwidth between the first two nodes: the ranks of one are paired with those of the
/// other, and all pairs send at once.
Network probe_network(const Placement& placement);

/// Costs of memory traffic in buffers of `bytes`; `in_place` where a call reads and writes one
/// buffer.
MemoryCosts probe_memory(const Placement& placement, Meeting& meeting, std::size_t bytes,
                         bool in_place);

/// α of the imbalance factors: half a round trip of an MPI message of that size between the first
/// and the last rank, in seconds (the median of several). 0 with one rank.
double probe_one_way(const Placement& placement, std::size_t bytes);

}  // namespace bench
