// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "timing/meeting.hpp"
#include "timing/placement.hpp"
#include "timing/signal_words.hpp"

#include <cstdint>
#include <memory>

namespace bench {

/// Reads, again and again, how long a signal takes between the first two ranks of a node, each on a
/// processor of its own: in 30 to 100 µs.
class SignalMeter {
 public:
  /// Collective.
  SignalMeter(const Placement& placement, Meeting& meeting);

  /// Half a round trip of a cache line, in seconds, on the node where it takes longest. Only rank 0
  /// is told. 0 where no node has two ranks, or they share a processor. Collective.
  double read();

 private:
  const Placement& placement_;
  Meeting& meeting_;
  int processor_ = -1;  // of this rank, if it has a part; else -1
  std::unique_ptr<SharedWords> words_;
  std::uint32_t step_ = 0;
};

}  // namespace bench
