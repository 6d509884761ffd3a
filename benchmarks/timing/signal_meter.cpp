// SPDX-License-Identifier: BSD-3-Clause
#include "timing/signal_meter.hpp"

#include "timing/quiet.hpp"

#include <algorithm>
#include <limits>

namespace bench {

SignalMeter::SignalMeter(const Placement& placement, Meeting& meeting)
    : placement_(placement), meeting_(meeting) {
  if (placement.node_ranks() == 1) return;
  constexpr int none = -1;
  int first = free_processor(none);
  MPI_Bcast(&first, 1, MPI_INT, 0, placement.node_comm());
  int second = free_processor(first);
  MPI_Bcast(&second, 1, MPI_INT, 1, placement.node_comm());
  words_ = std::make_unique<SharedWords>(placement.node_comm());
  if (first == second) return;
  if (placement.node_rank() == 0) processor_ = first;
  if (placement.node_rank() == 1) processor_ = second;
}

double SignalMeter::read() {
  if (placement_.most_node_ranks() == 1) return 0;
  // The least of nine is the same although another program takes a processor meanwhile.
  constexpr int batches = 9;
  constexpr int exchanges = 16;
  meeting_.wait();
  double best = 0;
  if (processor_ >= 0) {
    const OnProcessor bound(processor_);
    const bool first = placement_.node_rank() == 0;
    Word& mine = (*words_)[first ? 0 : 1];
    const Word& theirs = (*words_)[first ? 1 : 0];
    best = std::numeric_limits<double>::max();
    for (int batch = 0; batch < batches; ++batch) {
      const std::int64_t start = local_now();
      for (int i = 0; i < exchanges; ++i) {
        ++step_;
        if (!first) await(theirs, step_);
        mine.value.store(step_, std::memory_order_release);
        if (first) await(theirs, step_);
      }
      best = std::min(best, seconds_since(start) / (2 * exchanges));
    }
  }
  if (placement_.nodes() > 1) {
    double slowest = 0;
    MPI_Reduce(&best, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, placement_.comm());
    best = slowest;
  }
  meeting_.wait();
  return best;
}

}  // namespace bench
