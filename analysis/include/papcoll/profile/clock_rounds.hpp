// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Where ranks read different clocks, each fits its own to that of rank 0, at MPI_Init and at
// MPI_Finalize; what lies between is a straight line, which takes in the drift.
//
// One rank of each clock (the lowest) takes part. They form a binomial tree; each measures against
// its parent, after the parent has measured against its own:
//
//     clocks        0 ── 1          a child sends its time, the parent answers with its own; of
//                   │ ╲             `rounds` exchanges the quickest counts. The parent's clock was
//                   4   2 ── 3      read somewhere between sending and receipt: half of the time
//                   …               of that exchange is the error's bound; bounds add up.
//
// Cost: rounds · log2(clocks) exchanges one after another, and two small allgathers.
// Source of the method: Cristian, "Probabilistic clock synchronization", Distributed Computing 3
// (1989); over a tree in rounds as in Hunold and Carpen-Amarie, "Hierarchical clock synchronization
// in MPI", CLUSTER 2018.

#include <papcoll/profile/clock.hpp>
#include <papcoll/profile/mpi_calls.hpp>
#include <papcoll/profile/trace_format.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {

/// The ranks of a communicator by clock.
struct Clocks {
  std::vector<int> leaders;  ///< the lowest rank of each clock, ascending; 0 is the first
  int leader = 0;            ///< of this rank's clock
};

/// Returns which ranks read the same clock: those of one clock_identity() and one node. Machines
/// that were cloned from one snapshot have the same identity. Collective over `comm`; `node`: the
/// number of this rank's node.
inline Clocks clocks_of(MPI_Comm comm, int node, const MpiCalls& mpi) {
  int size = 0;
  int rank = 0;
  check_mpi(mpi.Comm_size(comm, &size), "MPI_Comm_size");
  check_mpi(mpi.Comm_rank(comm, &rank), "MPI_Comm_rank");
  const auto identity = clock_identity();
  std::uint64_t own = identity[0] == '\0'
                          ? hash_of(&rank, sizeof rank)
                          : hash_of(identity.data(), identity.size(), hash_of(&node, sizeof node));
  std::vector<std::uint64_t> all(static_cast<std::size_t>(size));
  check_mpi(mpi.Allgather(&own, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, comm),
            "MPI_Allgather");
  std::vector<std::pair<std::uint64_t, int>> sorted;
  sorted.reserve(all.size());
  for (int r = 0; r < size; ++r) sorted.emplace_back(all[static_cast<std::size_t>(r)], r);
  std::sort(sorted.begin(), sorted.end());
  Clocks clocks;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i != 0 && sorted[i].first == sorted[i - 1].first) continue;
    clocks.leaders.push_back(sorted[i].second);
    if (sorted[i].first == own) clocks.leader = sorted[i].second;
  }
  std::sort(clocks.leaders.begin(), clocks.leaders.end());
  return clocks;
}

namespace detail {

inline constexpr int clock_rounds = 64;
inline constexpr int clock_tag = 1;

/// Measures against `parent`, whose clock is off by parent_point from that of rank 0.
inline ClockPoint measured_against(int parent, MPI_Comm comm, const MpiCalls& mpi) {
  ClockPoint best{0, 0, std::numeric_limits<std::int64_t>::max(), 1};
  for (int i = 0; i < clock_rounds; ++i) {
    auto sent = static_cast<std::int64_t>(now());
    std::int64_t theirs = 0;
    check_mpi(mpi.Send(&sent, 1, MPI_INT64_T, parent, clock_tag, comm), "MPI_Send");
    check_mpi(mpi.Recv(&theirs, 1, MPI_INT64_T, parent, clock_tag, comm, MPI_STATUS_IGNORE),
              "MPI_Recv");
    const auto received = static_cast<std::int64_t>(now());
    const std::int64_t half = (received - sent + 1) / 2;
    if (half < best.bound) best = {sent + half, theirs - (sent + half), half, 1};
  }
  std::array<std::int64_t, 2> above{};
  check_mpi(mpi.Recv(above.data(), 2, MPI_INT64_T, parent, clock_tag, comm, MPI_STATUS_IGNORE),
            "MPI_Recv");
  best.offset += above[0];
  best.bound += above[1];
  return best;
}

inline void answer(int child, const ClockPoint& own, MPI_Comm comm, const MpiCalls& mpi) {
  for (int i = 0; i < clock_rounds; ++i) {
    std::int64_t time = 0;
    check_mpi(mpi.Recv(&time, 1, MPI_INT64_T, child, clock_tag, comm, MPI_STATUS_IGNORE),
              "MPI_Recv");
    time = static_cast<std::int64_t>(now());
    check_mpi(mpi.Send(&time, 1, MPI_INT64_T, child, clock_tag, comm), "MPI_Send");
  }
  std::array<std::int64_t, 2> above{own.offset, own.bound};
  check_mpi(mpi.Send(above.data(), 2, MPI_INT64_T, child, clock_tag, comm), "MPI_Send");
}

}  // namespace detail

/// Returns how far this rank's clock is from that of rank 0 now. Collective over `comm`, which must
/// be that of clocks_of().
inline ClockPoint fitted(const Clocks& clocks, MPI_Comm comm, const MpiCalls& mpi) {
  int size = 0;
  int rank = 0;
  check_mpi(mpi.Comm_size(comm, &size), "MPI_Comm_size");
  check_mpi(mpi.Comm_rank(comm, &rank), "MPI_Comm_rank");
  ClockPoint point{static_cast<std::int64_t>(now()), 0, 0, 1};
  if (clocks.leaders.size() == 1) return point;
  const auto found = std::lower_bound(clocks.leaders.begin(), clocks.leaders.end(), rank);
  if (found != clocks.leaders.end() && *found == rank) {
    const auto position = static_cast<std::size_t>(found - clocks.leaders.begin());
    std::size_t reach = 1;  // below it lie the steps to this position's children
    while (reach < clocks.leaders.size() && (position & reach) == 0) reach *= 2;
    if (position != 0) {
      point = detail::measured_against(clocks.leaders[position - reach], comm, mpi);
    }
    for (std::size_t step = reach / 2; step != 0; step /= 2) {
      if (position + step < clocks.leaders.size()) {
        detail::answer(clocks.leaders[position + step], point, comm, mpi);
      }
    }
  }
  std::array<std::int64_t, 3> own{point.at, point.offset, point.bound};
  std::vector<std::int64_t> all(3 * static_cast<std::size_t>(size));
  check_mpi(mpi.Allgather(own.data(), 3, MPI_INT64_T, all.data(), 3, MPI_INT64_T, comm),
            "MPI_Allgather");
  const std::int64_t* const of_leader = &all[3 * static_cast<std::size_t>(clocks.leader)];
  return {of_leader[0], of_leader[1], of_leader[2], 1};
}

}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI
