// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/collective.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

namespace bench {

// What the machine was measured to do at best, in seconds and bytes per second.
// benchmarks/README.md tells how.

/// Between nodes; all 0 if there is one node.
struct Network {
  double latency = 0;    ///< one way
  double bandwidth = 0;  ///< of a node in one direction, all its ranks together
};

/// Time one processor takes for one byte while all are busy, in buffers of the call's size.
struct MemoryCosts {
  double copy = 0;   ///< read and written
  double write = 0;  ///< written only
  double read = 0;   ///< read only
};

struct Machine {
  double signal = 0;  ///< one way between two ranks of a node, through shared memory
  Network network;
  MemoryCosts memory;
};

/// What the bound depends on.
struct Workload {
  papcoll::Collective collective = papcoll::Collective::allreduce;
  double bytes = 0;  ///< count × element
  double ranks = 1;
  double processors = 1;  ///< that can be busy at once
  double nodes = 1;
  double fullest_node = 1;  ///< ranks on the node that has most
  bool in_place = false;
  int root = 0;
  /// Bytes of blocks that differ, by rank, or by sender and then receiver; empty: each has `bytes`.
  std::vector<double> blocks{};
  /// Do all ranks arrive at once, each on a processor of its own? Otherwise all but the last may
  /// have done their part before.
  bool together = true;
};

/// Bytes that every algorithm must move between the last arrival and the last exit.
struct Traffic {
  double read = 0;       ///< from memory, on all processors together
  double written = 0;    ///< to memory, on all processors together
  double sent = 0;       ///< by or to one node, whichever has most to do
  bool signals = false;  ///< must a rank learn of another's arrival?
};

/// Of an alltoallv.
inline Traffic irregular_alltoall(const Workload& w, double all) {
  const auto p = static_cast<std::size_t>(w.ranks);
  double own = 0;      // of all ranks, from each to itself
  double least = all;  // what moves once the rank has arrived for which that is least
  for (std::size_t r = 0; r < p; ++r) {
    const double itself = w.blocks[r * p + r];
    double moved = w.in_place ? -2 * itself : -itself;
    for (std::size_t q = 0; q < p; ++q) moved += w.blocks[r * p + q] + w.blocks[q * p + r];
    own += itself;
    least = std::min(least, moved);
  }
  const double together = all - (w.in_place ? own : 0);
  const double moved = w.together ? together : least;
  return {moved, moved, 0, w.together && all > own};
}

/// Of blocks that differ. Which rank comes last is not known, so the one counts for which that is
/// least; nor is it counted what nodes send each other.
inline Traffic irregular_traffic(const Workload& w) {
  using papcoll::Collective;
  const double all = std::accumulate(w.blocks.begin(), w.blocks.end(), 0.0);
  if (w.collective == Collective::alltoall) return irregular_alltoall(w, all);
  const double least = *std::min_element(w.blocks.begin(), w.blocks.end());
  const double most = *std::max_element(w.blocks.begin(), w.blocks.end());
  if (w.collective == Collective::allgather) {
    const double own = w.in_place ? 1 : 0;
    if (w.together) return {all, (w.ranks - own) * all, 0, true};
    return {least, all - own * most + (w.ranks - 1) * least, 0, true};
  }
  const double of_root = w.blocks[static_cast<std::size_t>(w.root)];
  const double moved = all - (w.in_place ? of_root : 0);
  const double counted = w.together ? moved : std::min(least, moved);
  return {counted, counted, 0, w.together && all > of_root};
}

/// Inputs are read at least once, outputs written at least once, by whatever processor, and what a
/// node does not have must reach it. Intermediate results and second readings are not counted.
inline Traffic least_traffic(const Workload& w) {
  using papcoll::Collective;
  if (!w.blocks.empty()) return irregular_traffic(w);
  const double n = w.bytes;
  const double p = w.ranks;
  const double own = w.in_place ? 1 : 0;  // a rank's own block already stands in its output
  const double away = w.nodes > 1 ? (p - w.fullest_node) * n : 0;
  const double ring = w.nodes > 1 ? 2 * (w.nodes - 1) / w.nodes * n : 0;
  const double once = w.nodes > 1 ? n : 0;
  const bool all = w.together;
  switch (w.collective) {
    case Collective::allreduce: return {all ? p * n : n, p * n, all ? ring : once, true};
    case Collective::reduce: return {all ? p * n : n, n, all ? once : 0, all};
    case Collective::bcast: return {n, all ? (p - 1) * n : n, all ? once : 0, all};
    case Collective::allgather:
      return {all ? p * n : n, (all ? p * (p - own) : 2 * p - 1 - own) * n, all ? away : once,
              true};
    case Collective::reduce_scatter: return {(all ? p : 1) * p * n, p * n, away, true};
    case Collective::gather:
    case Collective::scatter:
      return {all ? (p - own) * n : n, all ? (p - own) * n : n, all ? away : 0, all};
    case Collective::barrier: return {0, 0, 0, true};
    case Collective::alltoall: {
      const double blocks = all ? p * (p - own) : 2 * p - 1 - own;
      return {blocks * n, blocks * n, all ? w.fullest_node * away : away, true};
    }
    case Collective::scan:  // the last to arrive may be the last rank, which nobody waits for
      return {all ? p * n : n, all ? p * n : n, all ? once : 0, all};
    case Collective::exscan:  // the same; nobody needs what the last rank brings
      return {all ? (p - 1) * n : n, all ? (p - 1) * n : n, all ? once : 0, all};
  }
  return {};
}

struct Bound {
  double seconds = 0;
  std::string how = "nothing to do";  ///< which limit it is
};

/// A time from last arrival to last exit that no algorithm can beat: the largest of several limits,
/// each of which would hold alone.
inline Bound lower_bound(const Workload& w, const Machine& machine) {
  Bound bound;
  if (w.ranks <= 1 && w.in_place) return bound;
  const auto limit = [&bound](double seconds, const char* how) {
    if (seconds > bound.seconds) bound = {seconds, how};
  };
  const Traffic traffic = least_traffic(w);
  if (traffic.signals && w.ranks > 1) {
    limit(machine.signal, "one-way signal in shared memory");
    limit(machine.network.latency, "one-way message between nodes");
  }
  limit(std::min(traffic.read, traffic.written) / w.processors * machine.memory.copy,
        "inputs read and outputs written once");
  limit(traffic.written / w.processors * machine.memory.write, "outputs written once");
  limit(traffic.read / w.processors * machine.memory.read, "inputs read once");
  if (machine.network.bandwidth > 0) {
    limit(traffic.sent / machine.network.bandwidth, "bytes a node must send or receive");
  }
  return bound;
}

}  // namespace bench
