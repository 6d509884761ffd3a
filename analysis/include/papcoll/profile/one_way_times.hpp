// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/profile/clock.hpp>
#include <papcoll/profile/mpi_calls.hpp>
#include <papcoll/profile/trace_format.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {

/// Two ranks whose messages are measured; both −1 where there are none.
struct RankPair {
  int first = -1;
  int second = -1;
};

/// Two ranks on the first node that has two, and two on different nodes: nodes[r] is the lowest
/// rank on the node of rank r.
struct MeasuredPairs {
  RankPair on_node;
  RankPair between_nodes;
};

/// The pairs for a placement.
inline MeasuredPairs pairs_of(const std::vector<int>& nodes) noexcept {
  MeasuredPairs pairs;
  for (std::size_t r = 0; r < nodes.size(); ++r) {
    const int rank = static_cast<int>(r);
    if (pairs.on_node.first < 0 && nodes[r] != rank) pairs.on_node = {nodes[r], rank};
    if (pairs.between_nodes.first < 0 && nodes[r] != nodes[0]) pairs.between_nodes = {0, rank};
  }
  return pairs;
}

namespace detail {

inline constexpr int message_tag = 2;
inline constexpr std::size_t largest_measured = std::size_t{4} << 20U;

inline constexpr int least_repetitions = 10;
inline constexpr std::uint64_t enough_ns = 20'000'000;  // for a size

/// Half of the quickest of some round trips of n ≥ 1 bytes, in nanoseconds: what the rank that
/// begins finds. A message's first byte says whether it is the last one.
inline double one_way(std::vector<char>& buffer, int n, RankPair pair, bool begins, int repetitions,
                      MPI_Comm comm, const MpiCalls& mpi) {
  const auto send = [&](int to) {
    check_mpi(mpi.Send(buffer.data(), n, MPI_BYTE, to, message_tag, comm), "MPI_Send");
  };
  const auto receive = [&](int from) {
    check_mpi(mpi.Recv(buffer.data(), n, MPI_BYTE, from, message_tag, comm, MPI_STATUS_IGNORE),
              "MPI_Recv");
  };
  std::uint64_t best = ~std::uint64_t{0};
  const std::uint64_t began = now();
  for (int i = 0;; ++i) {
    const std::uint64_t start = now();
    const bool is_last =
        i + 1 == repetitions || (i >= least_repetitions && start - began > enough_ns);
    if (begins) {
      buffer[0] = is_last ? 1 : 0;
      send(pair.second);
      receive(pair.second);
    } else {
      receive(pair.first);
      send(pair.first);
    }
    best = std::min(best, now() - start);
    if (buffer[0] == 1) return static_cast<double>(best) / 2;
  }
}

inline std::array<double, one_way_sizes> measured_pair(RankPair pair, std::uint64_t up_to, int rank,
                                                       MPI_Comm comm, const MpiCalls& mpi) {
  std::array<double, one_way_sizes> times{};
  if (pair.first < 0) return times;
  if (rank == pair.first || rank == pair.second) {
    const bool begins = rank == pair.first;
    const std::size_t largest = std::min<std::uint64_t>(up_to, largest_measured);
    std::vector<char> buffer(largest_measured);
    for (std::size_t i = 0, n = 1; i < times.size() && (i == 0 || n / 2 < largest); ++i, n *= 2) {
      // 1,000 for the smallest, some for the largest: a few milliseconds each.
      const int repetitions = static_cast<int>(std::clamp<std::size_t>(65536 / n, 10, 1000));
      times[i] = one_way(buffer, static_cast<int>(n), pair, begins, repetitions, comm, mpi);
    }
  }
  check_mpi(mpi.Bcast(times.data(), static_cast<int>(times.size()), MPI_DOUBLE, pair.first, comm),
            "MPI_Bcast");
  return times;
}

}  // namespace detail

/// Fills the times of a header: of messages of 1 byte and so on to at least `up_to` bytes, at most
/// 4 MiB. Collective over `comm`; `nodes` and `up_to` are the same on all ranks. The quickest of
/// several round trips counts, since ranks that only wait may disturb the others.
inline void measure_one_way_times(FileHeader& header, const std::vector<int>& nodes,
                                  std::uint64_t up_to, MPI_Comm comm, const MpiCalls& mpi) {
  int rank = 0;
  check_mpi(mpi.Comm_rank(comm, &rank), "MPI_Comm_rank");
  const MeasuredPairs pairs = pairs_of(nodes);
  header.one_way_on_node = detail::measured_pair(pairs.on_node, up_to, rank, comm, mpi);
  header.one_way_between_nodes = detail::measured_pair(pairs.between_nodes, up_to, rank, comm, mpi);
}

}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI
