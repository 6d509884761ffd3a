// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What PAPCOLL_RUN_SUMMARY shows when MPI_Finalize is called: the calls of all ranks, by function
// and by what became of them.

#include "call_outcomes.hpp"
#include "communicators.hpp"

#include <papcoll/transport/mpi/mpi.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace preload {

/// Sums over all ranks.
struct Summary {
  Counts counts{};
  std::uint64_t take_overs = 0;
  std::uint64_t nanoseconds = 0;
  CallsByAlgorithm by_algorithm;

  std::uint64_t calls(Function f, Outcome outcome) const {
    return counts[counter_number(f, outcome)];
  }

  std::string text() const {
    std::string all = "papcoll: calls of all ranks by what became of them\n";
    for (std::size_t i = 0; i < function_names.size(); ++i) {
      const auto f = static_cast<Function>(i);
      std::uint64_t total = 0;
      for (std::size_t k = 0; k < outcome_names.size(); ++k)
        total += calls(f, static_cast<Outcome>(k));
      if (total == 0) continue;
      all += "papcoll:   " + std::string(function_names[i]) + ": " + std::to_string(total) + '\n';
      for (std::size_t k = 0; k < outcome_names.size(); ++k) {
        const std::uint64_t n = calls(f, static_cast<Outcome>(k));
        if (n == 0) continue;
        std::array<char, 160> line{};
        std::snprintf(line.data(), line.size(), "papcoll:     %llu (%.1f %%) %s\n",
                      static_cast<unsigned long long>(n),
                      100.0 * static_cast<double>(n) / static_cast<double>(total),
                      std::string(outcome_names[k]).c_str());
        all += line.data();
      }
    }
    if (!by_algorithm.empty()) all += "papcoll:   calls that papcoll ran, by algorithm\n";
    for (const auto& [algorithm, n] : by_algorithm) {
      all += "papcoll:     " + std::to_string(n) + ' ' + algorithm + '\n';
    }
    std::array<char, 160> line{};
    if (take_overs == 0) return all + "papcoll:   communicators taken over: 0\n";
    std::snprintf(line.data(), line.size(),
                  "papcoll:   communicators taken over: %llu, in %.1f us each\n",
                  static_cast<unsigned long long>(take_overs),
                  static_cast<double>(nanoseconds) / static_cast<double>(take_overs) / 1e3);
    return all + line.data();
  }
};

/// Those of all processes, on rank 0. Collective over MPI_COMM_WORLD.
inline CallsByAlgorithm all_calls_by_algorithm(int rank) {
  std::string mine;
  for (const auto& [algorithm, n] : Communicators::calls_by_algorithm()) {
    mine += std::to_string(n) + ' ' + algorithm + '\n';
  }
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(static_cast<std::size_t>(size));
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::vector<int> places(lengths.size());
  std::exclusive_scan(lengths.begin(), lengths.end(), places.begin(), 0);
  std::string all(static_cast<std::size_t>(places.back() + lengths.back()), '\0');
  MPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), places.data(), MPI_CHAR, 0,
              MPI_COMM_WORLD);
  CallsByAlgorithm sums;
  if (rank != 0) return sums;
  std::istringstream lines{all};
  std::uint64_t n = 0;
  for (std::string algorithm; lines >> n && std::getline(lines >> std::ws, algorithm);) {
    sums[algorithm] += n;
  }
  return sums;
}

/// Collective over MPI_COMM_WORLD.
inline void write_summary() {
  std::array<std::uint64_t, counter_count + 2> mine{};
  std::array<std::uint64_t, counter_count + 2> all{};
  const Counts counts = ThreadCounters::sum();
  std::copy(counts.begin(), counts.end(), mine.begin());
  mine[counter_count] = take_overs.number.load();
  mine[counter_count + 1] = take_overs.nanoseconds.load();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CallsByAlgorithm by_algorithm = all_calls_by_algorithm(rank);
  if (MPI_Reduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_UINT64_T, MPI_SUM, 0,
                 MPI_COMM_WORLD) != MPI_SUCCESS ||
      rank != 0) {
    return;
  }
  Summary s;
  std::copy_n(all.begin(), counter_count, s.counts.begin());
  s.take_overs = all[counter_count];
  s.nanoseconds = all[counter_count + 1];
  s.by_algorithm = std::move(by_algorithm);
  std::fputs(s.text().c_str(), stderr);
}

}  // namespace preload
