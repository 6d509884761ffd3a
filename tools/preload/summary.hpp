#pragma once

// What PAPCOLL_SUMMARY shows when MPI_Finalize is called: the calls of all ranks, by function and
// by what became of them.

#include "communicators.hpp"
#include "counted.hpp"

#include <papcoll/transport/mpi/mpi.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

namespace preload {

/// Sums over all ranks.
struct Summary {
  Counts counts{};
  std::uint64_t take_overs = 0;
  std::uint64_t nanoseconds = 0;

  std::uint64_t calls(Function f, Fate fate) const { return counts[counter_number(f, fate)]; }

  std::string text() const {
    std::string all = "papcoll: calls of all ranks by what became of them\n";
    for (std::size_t i = 0; i < function_names.size(); ++i) {
      const auto f = static_cast<Function>(i);
      std::uint64_t total = 0;
      for (std::size_t k = 0; k < fate_names.size(); ++k) total += calls(f, static_cast<Fate>(k));
      if (total == 0) continue;
      all += "papcoll:   " + std::string(function_names[i]) + ": " + std::to_string(total) + '\n';
      for (std::size_t k = 0; k < fate_names.size(); ++k) {
        const std::uint64_t n = calls(f, static_cast<Fate>(k));
        if (n == 0) continue;
        std::array<char, 160> line{};
        std::snprintf(line.data(), line.size(), "papcoll:     %llu (%.1f %%) %s\n",
                      static_cast<unsigned long long>(n),
                      100.0 * static_cast<double>(n) / static_cast<double>(total),
                      std::string(fate_names[k]).c_str());
        all += line.data();
      }
    }
    std::array<char, 160> line{};
    std::snprintf(
        line.data(), line.size(), "papcoll:   communicators taken over: %llu, in %.1f us each\n",
        static_cast<unsigned long long>(take_overs),
        take_overs == 0 ? 0.0
                        : static_cast<double>(nanoseconds) / static_cast<double>(take_overs) / 1e3);
    return all + line.data();
  }
};

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
  if (MPI_Reduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_UINT64_T, MPI_SUM, 0,
                 MPI_COMM_WORLD) != MPI_SUCCESS ||
      rank != 0) {
    return;
  }
  Summary s;
  std::copy_n(all.begin(), counter_count, s.counts.begin());
  s.take_overs = all[counter_count];
  s.nanoseconds = all[counter_count + 1];
  std::fputs(s.text().c_str(), stderr);
}

}  // namespace preload
