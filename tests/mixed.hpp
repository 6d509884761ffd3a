// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Long sequences of calls of all kinds by all algorithms, the same on all ranks, with ranks that
// arrive early and late and leave early.

#include "matrix.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace mixed {

/// Every now and then this rank is late.
class Delays {
 public:
  explicit Delays(std::uint32_t seed) : random_(seed) {}

  void maybe() {
    switch (random_() % 16) {
      case 0: return std::this_thread::sleep_for(std::chrono::microseconds{random_() % 200});
      case 1:
      case 2: return std::this_thread::yield();
      default: return;
    }
  }

 private:
  std::minstd_rand random_;
};

/// `calls` calls; what is wrong on this rank, or "".
template <class Comm>
std::string calls_of_all_kinds(Comm& comm, std::span<const matrix::Candidate> candidates, int calls,
                               std::uint32_t seed) {
  matrix::Runner<Comm> runner{comm};
  std::minstd_rand random{seed};  // draws the same on all ranks
  Delays delays{seed + static_cast<std::uint32_t>(comm.rank()) + 1};
  constexpr std::size_t counts[] = {0, 1, 2, 5, 13, 100, 1000};
  for (int i = 0; i < calls;) {
    const auto& candidate = candidates[random() % candidates.size()];
    const auto c = static_cast<papcoll::Collective>(random() % papcoll::collective_count);
    const std::size_t count = counts[random() % std::size(counts)];
    const int root = static_cast<int>(random() % static_cast<unsigned>(comm.size()));
    const bool in_place = random() % 2 == 0;
    if (!candidate.serves(c)) continue;
    // Bursts in which a rank may run ahead of the others by several calls.
    for (auto burst = random() % 12; burst-- > 0 && i < calls; ++i) {
      delays.maybe();
      runner.run(candidate, c, {count, root, in_place});
    }
  }
  return runner.problems();
}

/// Calls that ranks leave early: the root of a bcast and all others of a reduce never wait, until
/// they are too far ahead.
template <class Comm>
std::string ranks_that_run_ahead(Comm& comm, const papcoll::Algorithm& algorithm, int calls) {
  std::string text;
  Delays delays{static_cast<std::uint32_t>(comm.rank()) + 1};
  const int ranks = comm.size();
  for (int i = 0; i < calls; ++i) {
    const papcoll::root r{i / 7 % ranks};
    delays.maybe();
    const int got = papcoll::bcast(comm, comm.rank() == r.rank ? i : -1, r, algorithm);
    if (got != i) text += "bcast " + std::to_string(i) + " is wrong\n";
    const int sum = papcoll::reduce(comm, i, r, papcoll::sum, algorithm);
    if (sum != (comm.rank() == r.rank ? ranks * i : i)) {
      text += "reduce " + std::to_string(i) + " is wrong\n";
    }
  }
  return text;
}

}  // namespace mixed
