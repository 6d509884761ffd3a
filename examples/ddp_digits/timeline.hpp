// SPDX-License-Identifier: BSD-3-Clause
// When each rank came to the allreduce of each step and when it left, and what follows from that.
#pragma once

#include <papcoll/papcoll.hpp>
#include <papcoll/pattern/imbalance_factors.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

namespace ddp {

/// Seconds of CLOCK_MONOTONIC, which all processes of a node share.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The one-way time α of a message of that size: half a round trip between the first and the last
/// rank, the quickest of many. The same on all ranks.
inline double one_way_time(papcoll::Communicator& comm, std::size_t bytes) {
  std::vector<char> message(bytes);
  const int count = static_cast<int>(bytes);
  const int last = comm.size() - 1;
  double quickest = 1;
  for (int i = 0; i < 50 && last > 0; ++i) {
    const double start = now();
    for (const int sender : {0, last}) {
      if (comm.rank() == sender) {
        MPI_Send(message.data(), count, MPI_CHAR, last - sender, 0, MPI_COMM_WORLD);
      } else if (comm.rank() == last - sender) {
        MPI_Recv(message.data(), count, MPI_CHAR, sender, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
    if (comm.rank() == 0) quickest = std::min(quickest, (now() - start) / 2);
  }
  papcoll::bcast(comm, std::span{&quickest, 1}, papcoll::root{0});
  return quickest;
}

/// Seconds a step: medians over the steps, but for the mean.
struct Times {
  double in_allreduce;  ///< mean over ranks and steps of the time in the call
  double tail;          ///< last arrival → last exit: what is left when all are there
  double worst_case;    ///< Ω: first arrival → last arrival
  double average_case;  ///< Δ̄: mean distance from the mean arrival
};

class Timeline {
 public:
  void arrive() { arrivals_.push_back(now()); }
  void leave() { exits_.push_back(now()); }

  /// Collective; the result is valid on rank 0.
  Times summary(papcoll::Communicator& comm) const {
    const auto ranks = static_cast<std::size_t>(comm.size());
    const std::size_t steps = arrivals_.size();
    std::vector<double> arrivals(comm.rank() == 0 ? ranks * steps : 0);
    std::vector<double> exits(arrivals.size());
    papcoll::gather(comm, arrivals_, arrivals, papcoll::root{0});
    papcoll::gather(comm, exits_, exits, papcoll::root{0});
    if (comm.rank() != 0) return {};

    Times sum{};
    std::vector<double> tails;
    std::vector<double> worst;
    std::vector<double> average;
    std::vector<double> came(ranks);
    std::vector<double> left(ranks);
    for (std::size_t s = 0; s < steps; ++s) {
      for (std::size_t r = 0; r < ranks; ++r) {
        came[r] = arrivals[r * steps + s];
        left[r] = exits[r * steps + s];
        sum.in_allreduce += (left[r] - came[r]) / static_cast<double>(ranks * steps);
      }
      tails.push_back(*std::max_element(left.begin(), left.end()) -
                      *std::max_element(came.begin(), came.end()));
      worst.push_back(papcoll::pattern::worst_case_imbalance(came));
      average.push_back(papcoll::pattern::average_case_imbalance(came));
    }
    return {sum.in_allreduce, median(tails), median(worst), median(average)};
  }

 private:
  static double median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  std::vector<double> arrivals_, exits_;
};

}  // namespace ddp
