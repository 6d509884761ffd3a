// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "options.hpp"

#include <papcoll/pattern/generators.hpp>
#include <papcoll/pattern/trace.hpp>
#include <papcoll/transport/mpi/mpi.hpp>

#include <cstdint>
#include <variant>
#include <vector>

namespace bench {

/// When this rank arrives in each iteration. Every rank computes the whole pattern for itself.
class Arrivals {
 public:
  /// Reads the trace, if there is one, on rank 0. Collective; throws usage_error.
  Arrivals(const Options& options, MPI_Comm comm);

  /// Sets the largest distance between two ranks, in seconds.
  void set_spread(double seconds);
  double spread() const;

  /// Nanoseconds after the common start at which this rank arrives.
  std::int64_t operator()(std::uint64_t iteration);

 private:
  std::variant<papcoll::pattern::Generator, papcoll::pattern::Trace> pattern_;
  std::vector<double> seconds_;  // of all ranks, in one iteration
  std::size_t rank_;
};

/// Passes the time until `instant` of local_now().
void wait_until(std::int64_t instant, Delay delay);

}  // namespace bench
