// SPDX-License-Identifier: BSD-3-Clause
#include "machine/probes.hpp"
#include "timing/quiet.hpp"
#include "timing/statistics.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace bench {
namespace {

constexpr int message_tag = 18;

/// Half a round trip of an MPI message with a partner, in seconds.
struct Trips {
  double least;
  double median;
};

Trips message_one_way(MPI_Comm comm, int partner, bool leads, std::vector<std::byte>& buffer,
                      int trips) {
  std::vector<double> times;
  const auto n = static_cast<int>(buffer.size());
  for (int i = 0; i < trips; ++i) {
    const std::int64_t start = local_now();
    if (leads) MPI_Send(buffer.data(), n, MPI_BYTE, partner, message_tag, comm);
    MPI_Recv(buffer.data(), n, MPI_BYTE, partner, message_tag, comm, MPI_STATUS_IGNORE);
    if (!leads) MPI_Send(buffer.data(), n, MPI_BYTE, partner, message_tag, comm);
    if (i >= trips / 10) times.push_back(seconds_since(start) / 2);
  }
  return {*std::min_element(times.begin(), times.end()), median(times)};
}

/// Bytes a second to a partner and as many back, at best.
double exchange_rate(MPI_Comm comm, int partner) {
  constexpr int bytes = 1 << 20;
  std::vector<std::byte> out(bytes);
  std::vector<std::byte> in(bytes);
  double best = 0;
  for (int i = 0; i < 10; ++i) {
    const std::int64_t start = local_now();
    MPI_Sendrecv(out.data(), bytes, MPI_BYTE, partner, message_tag, in.data(), bytes, MPI_BYTE,
                 partner, message_tag, comm, MPI_STATUS_IGNORE);
    best = std::max(best, bytes / seconds_since(start));
  }
  return best;
}

/// The rank this one is paired with: those of the first node with those of the second, in order;
/// MPI_PROC_NULL for the rest.
int partner_on_other_node(const Placement& placement) {
  std::vector<int> nodes(static_cast<std::size_t>(placement.ranks()));
  const int own = placement.node();
  MPI_Allgather(&own, 1, MPI_INT, nodes.data(), 1, MPI_INT, placement.comm());
  if (own > 1) return MPI_PROC_NULL;
  int before = placement.node_rank();  // so many of the other node have partners already
  for (int rank = 0; rank < placement.ranks(); ++rank) {
    if (nodes[static_cast<std::size_t>(rank)] == 1 - own && before-- == 0) return rank;
  }
  return MPI_PROC_NULL;
}

}  // namespace

Network probe_network(const Placement& placement) {
  if (placement.nodes() == 1) return {};
  MPI_Comm comm = placement.comm();
  const int partner = partner_on_other_node(placement);

  // One pair alone, because with more ranks than processors it would wait for others' turns.
  double latency = std::numeric_limits<double>::max();
  double alone = 0;
  if (partner != MPI_PROC_NULL && placement.node_rank() == 0) {
    std::vector<std::byte> byte(1);
    latency = message_one_way(comm, partner, placement.node() == 0, byte, 100).least;
    alone = exchange_rate(comm, partner);
  }
  quiet_barrier(comm);
  const double rate = partner == MPI_PROC_NULL ? 0 : exchange_rate(comm, partner);
  double together = placement.node() == 0 ? rate : 0;
  quiet_barrier(comm);
  MPI_Allreduce(MPI_IN_PLACE, &together, 1, MPI_DOUBLE, MPI_SUM, comm);
  return {.latency = least(comm, latency), .bandwidth = std::max(greatest(comm, alone), together)};
}

double probe_one_way(const Placement& placement, std::size_t bytes) {
  const int last = placement.ranks() - 1;
  if (last == 0) return 0;
  // A message beyond 1 GiB is taken as one of 1 GiB, and so much longer.
  constexpr std::size_t most = std::size_t{1} << 30;
  std::vector<std::byte> buffer(std::min(bytes, most));
  const int trips = bytes <= 65536 ? 200 : bytes <= 4194304 ? 30 : 5;
  double time = 0;
  if (placement.rank() == 0 || placement.rank() == last) {
    time = message_one_way(placement.comm(), last - placement.rank(), placement.rank() == 0, buffer,
                           trips)
               .median;
  }
  quiet_barrier(placement.comm());
  MPI_Bcast(&time, 1, MPI_DOUBLE, 0, placement.comm());
  return bytes > most ? time * static_cast<double>(bytes) / static_cast<double>(most) : time;
}

}  // namespace bench
