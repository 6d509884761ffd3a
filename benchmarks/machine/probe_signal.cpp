// SPDX-License-Identifier: BSD-3-Clause
#include "machine/probes.hpp"
#include "timing/quiet.hpp"
#include "timing/signal_words.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace bench {
namespace {

/// How long a signal takes between two ranks, each of which has a word that it writes and the other
/// waits for. `mine` is this rank's. In turns, a signal is half a round trip; both at once, it is
/// what a step of mutual signals takes, which can be quicker. The least of both, in several
/// batches.
double exchange_signals(Word& mine, Word& theirs, bool first) {
  constexpr std::uint32_t batches = 100;
  constexpr std::uint32_t steps = 50;
  double best = std::numeric_limits<double>::max();
  std::uint32_t step = 0;
  for (std::uint32_t batch = 0; batch < batches; ++batch) {
    std::int64_t start = local_now();
    for (std::uint32_t i = 0; i < steps; ++i) {
      ++step;
      if (!first) await(theirs, step);
      mine.value.store(step, std::memory_order_release);
      if (first) await(theirs, step);
    }
    best = std::min(best, seconds_since(start) / (2 * steps));
    start = local_now();
    for (std::uint32_t i = 0; i < steps; ++i) {
      ++step;
      mine.value.store(step, std::memory_order_release);
      await(theirs, step);
    }
    best = std::min(best, seconds_since(start) / steps);
  }
  return best;
}

/// The slowest signal between the first rank of a node and one of the others, each on a processor
/// of its own where there are two.
double signal_on_node(MPI_Comm node) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &ranks);
  if (ranks == 1) return 0;
  const SharedWords words(node);

  constexpr int none = -1;
  int processor = free_processor(none);
  MPI_Bcast(&processor, 1, MPI_INT, 0, node);
  double slowest = 0;
  for (int partner = 1; partner < ranks; ++partner) {
    if (rank == 0) {
      words[0].value.store(0);
      words[1].value.store(0);
    }
    MPI_Barrier(node);
    if (rank == 0) {
      const OnProcessor bound(processor);
      slowest = std::max(slowest, exchange_signals(words[0], words[1], true));
    } else if (rank == partner) {
      const OnProcessor bound(free_processor(processor));
      exchange_signals(words[1], words[0], false);
    }
    quiet_barrier(node);
  }
  return slowest;
}

}  // namespace

double probe_signal(const Placement& placement) {
  return greatest(placement.comm(), signal_on_node(placement.node_comm()));
}

}  // namespace bench
