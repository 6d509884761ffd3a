// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>
#include <papcoll/node/peer_probe.hpp>

#include <algorithm>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// What a candidate does in a call: the numbers of which PeerCosts make a time.
struct NodeWork {
  double rounds = 1;       ///< signals one after the other
  double critical = 0;     ///< nanoseconds of copying and combining, one after the other
  double total = 0;        ///< of all ranks together
  double turns = rounds;   ///< how often all ranks have to run, where they share processors
  double queues = rounds;  ///< how often one takes what all others have, or all what one has
};

/// A call of so many bytes, as candidates see it; with what their parts cost in nanoseconds.
struct NodeLoad {
  const PeerCosts& costs;
  double bytes;       ///< as Call::bytes()
  double ranks;       ///< P
  bool in_arena;      ///< peers see the buffers
  bool late;          ///< one rank comes after the others: what counts is the time from then on
  double groups = 1;  ///< of one size, which share caches, and by which slices go in two levels

  double others() const noexcept { return ranks - 1; }
  double write(double n) const noexcept { return n * costs.write_ps * 1e-3; }
  double read(double n) const noexcept { return n * costs.read_ps * 1e-3; }
  double combine(double n) const noexcept { return n * (costs.read_ps + costs.combine_ps) * 1e-3; }
  /// The time to copy n bytes of one peer by the kernel.
  double pull(double n) const noexcept { return costs.pull_ns + n * costs.pull_ps * 1e-3; }
  /// The time in which one rank combines all contributions; or the last one, if the chunk buffers
  /// have room for the others.
  double combined_by_leader() const noexcept {
    constexpr double room = 262144;
    return (late && bytes <= room ? 1 : others()) * combine(bytes);
  }
  /// Returns how often ranks wait for each other where blocks go in pieces.
  double pieces() const noexcept {
    constexpr double piece = 65536;
    return 1 + bytes * others() / piece;
  }
  /// All ranks do the same.
  NodeWork all(double rounds, double each) const noexcept {
    return {rounds, each, ranks * each, rounds};
  }
  /// The work of a reduction in slices, of which each rank combines one. In two levels a rank waits
  /// once more, for those of its group and its counterparts in the others instead of for all.
  NodeWork slices(double rounds, double each) const noexcept {
    NodeWork w = all(rounds, each);
    if (groups == 1) return w;
    w.rounds += 1;
    w.queues += (groups + ranks / groups) / ranks - 1;
    return w;
  }
  /// One rank does, and each of the others, at the same time, but for the first or last part.
  NodeWork one(double rounds, double one, double each) const noexcept {
    constexpr double part = 65536;  // after which the next one goes on
    const double overlap = bytes > part ? part / bytes : 1;
    const double critical = std::max(one, each) + std::min(one, each) * overlap;
    return {rounds, critical, one + others() * each, rounds};
  }

  /// The work `w` where n bytes go through one rank's chunk buffers: beyond what these hold, its
  /// peers have to run once for each chunk before it goes on. 0 bytes: nothing goes through them.
  static NodeWork by_chunks(NodeWork w, double n) noexcept {
    constexpr double chunk = 65536;
    constexpr double buffers = 4;
    w.turns = 1 + std::max(0.0, n / chunk - buffers);
    return w;
  }

  /// The time of a call: of ranks that share processors what all do passes one after the other.
  double nanoseconds(const NodeWork& w, double processors) const noexcept {
    if (processors >= ranks) {
      // A signal brings the first line; those of ranks that came before have been taken.
      const double further = std::max(0.0, ranks - 2) * (late ? std::min(w.queues, 1.0) : w.queues);
      return costs.call_ns + w.rounds * costs.signal_ns + further * costs.line_ns + w.critical;
    }
    const double crowd = ranks / processors;
    return crowd * (costs.call_ns + w.turns * costs.turn_ns) + w.total / processors;
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail
