// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "timing/placement.hpp"

#include <cstdint>

namespace bench {

/// Nanoseconds of CLOCK_MONOTONIC, which all ranks of a node share.
std::int64_t local_now();

/// One clock for all ranks, rank 0's. Ranks on its node read it as it is; on the other nodes the
/// offset is the one of the quickest of a few round trips to rank 0, measured by synchronize().
class SharedClock {
 public:
  explicit SharedClock(const Placement& placement) : placement_(placement) { synchronize(); }

  std::int64_t now() const { return local_now() - offset_; }

  /// Measures the offsets anew, because clocks of different nodes drift. Collective; nothing to do
  /// on one node.
  void synchronize();

  /// By how much now() may differ between two nodes: half the quickest round trip, in nanoseconds,
  /// the largest over the nodes. 0 on one node.
  std::int64_t uncertainty() const { return uncertainty_; }

 private:
  const Placement& placement_;
  std::int64_t offset_ = 0;
  std::int64_t uncertainty_ = 0;
};

}  // namespace bench
