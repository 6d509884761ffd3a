// SPDX-License-Identifier: BSD-3-Clause
#include "timing/clock.hpp"

#include <array>
#include <ctime>
#include <limits>
#include <vector>

namespace bench {
namespace {

constexpr int round_trips = 20;
constexpr int clock_tag = 17;

/// Rank 0's part: it answers with its clock.
void serve(MPI_Comm comm, int client) {
  for (int i = 0; i < round_trips; ++i) {
    MPI_Recv(nullptr, 0, MPI_BYTE, client, clock_tag, comm, MPI_STATUS_IGNORE);
    const std::int64_t now = local_now();
    MPI_Send(&now, 1, MPI_INT64_T, client, clock_tag, comm);
  }
}

struct Offset {
  std::int64_t nanoseconds;
  std::int64_t half_trip;
};

/// Cristian's algorithm: rank 0 read its clock in the middle of the round trip, give or take half.
Offset ask(MPI_Comm comm) {
  Offset best{0, std::numeric_limits<std::int64_t>::max()};
  for (int i = 0; i < round_trips; ++i) {
    const std::int64_t before = local_now();
    std::int64_t there = 0;
    MPI_Send(nullptr, 0, MPI_BYTE, 0, clock_tag, comm);
    MPI_Recv(&there, 1, MPI_INT64_T, 0, clock_tag, comm, MPI_STATUS_IGNORE);
    const std::int64_t half = (local_now() - before) / 2;
    if (half < best.half_trip) best = {before + half - there, half};
  }
  return best;
}

}  // namespace

std::int64_t local_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

void SharedClock::synchronize() {
  if (placement_.nodes() == 1) return;
  const bool asks = placement_.node() != 0 && placement_.node_rank() == 0;
  const int own = asks ? placement_.rank() : 0;
  std::vector<int> clients(static_cast<std::size_t>(placement_.ranks()));
  MPI_Allgather(&own, 1, MPI_INT, clients.data(), 1, MPI_INT, placement_.comm());

  std::array<std::int64_t, 2> result{0, 0};
  if (placement_.rank() == 0) {
    for (const int client : clients) {
      if (client != 0) serve(placement_.comm(), client);
    }
  } else if (asks) {
    const Offset offset = ask(placement_.comm());
    result = {offset.nanoseconds, offset.half_trip};
  }
  MPI_Bcast(result.data(), 2, MPI_INT64_T, 0, placement_.node_comm());
  offset_ = result[0];
  MPI_Allreduce(&result[1], &uncertainty_, 1, MPI_INT64_T, MPI_MAX, placement_.comm());
}

}  // namespace bench
