// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "timing/placement.hpp"

#include <cstdint>
#include <memory>

namespace bench {

/// Brings the ranks together without MPI, through a communicator of papcoll's of its own: an MPI
/// library that spins while it waits takes the processor from ranks that are still timed, whoever
/// they are calling. Collective.
class Meeting {
 public:
  /// Throws usage_error.
  explicit Meeting(const Placement& placement);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  /// Returns when all ranks have called it.
  void wait();

  /// The latest of the ranks' instants.
  std::int64_t latest(std::int64_t instant);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bench
