// SPDX-License-Identifier: BSD-3-Clause
// Calls every collective once, on MPI_COMM_WORLD, a ring or an inter-communicator, and prints the
// bytes that a profile must have noted of each on this rank: "rank bytes.NAME bytes".

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr int n = 3;  // ints of a block
constexpr long block = n * static_cast<long>(sizeof(int));
std::map<std::string, long> bytes;

/// As many blocks as ranks, with their counts and places.
struct Buffers {
  explicit Buffers(int size)
      : in(static_cast<std::size_t>(n * size)),
        out(in),
        counts(static_cast<std::size_t>(size), n),
        at(static_cast<std::size_t>(size)),
        byte_at(at),
        far_at(static_cast<std::size_t>(size)),
        types(static_cast<std::size_t>(size), MPI_INT) {
    for (int i = 0; i < size; ++i) {
      const auto k = static_cast<std::size_t>(i);
      at[k] = n * i;
      byte_at[k] = static_cast<int>(block) * i;
      far_at[k] = block * i;
    }
  }
  std::vector<int> in, out, counts, at, byte_at;
  std::vector<MPI_Aint> far_at;
  std::vector<MPI_Datatype> types;
};

void world() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Buffers b(size);
  int* const in = b.in.data();
  int* const out = b.out.data();
  const int* const counts = b.counts.data();
  const int* const at = b.at.data();
  const int* const byte_at = b.byte_at.data();
  const MPI_Datatype* const types = b.types.data();
  const long all = block * size;
  const MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Barrier(comm), bytes["Barrier"] += 0;
  MPI_Bcast(in, n, MPI_INT, 0, comm), bytes["Bcast"] += block;
  MPI_Gather(in, n, MPI_INT, out, n, MPI_INT, 0, comm), bytes["Gather"] += block;
  MPI_Gatherv(in, n, MPI_INT, out, counts, at, MPI_INT, 0, comm), bytes["Gatherv"] += block;
  MPI_Scatter(in, n, MPI_INT, out, n, MPI_INT, 0, comm), bytes["Scatter"] += block;
  MPI_Scatterv(in, counts, at, MPI_INT, out, n, MPI_INT, 0, comm), bytes["Scatterv"] += block;
  MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, comm), bytes["Allgather"] += block;
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, out, n, MPI_INT, comm), bytes["Allgather"] += block;
  MPI_Allgatherv(in, n, MPI_INT, out, counts, at, MPI_INT, comm), bytes["Allgatherv"] += block;
  MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, comm), bytes["Alltoall"] += all;
  MPI_Alltoallv(in, counts, at, MPI_INT, out, counts, at, MPI_INT, comm);
  bytes["Alltoallv"] += all;
  MPI_Alltoallw(in, counts, byte_at, types, out, counts, byte_at, types, comm);
  bytes["Alltoallw"] += all;
  MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, 0, comm), bytes["Reduce"] += block;
  MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm), bytes["Allreduce"] += block;
  MPI_Allreduce(MPI_IN_PLACE, out, n, MPI_INT, MPI_SUM, comm), bytes["Allreduce"] += block;
  MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm), bytes["Reduce_scatter"] += all;
  MPI_Reduce_scatter_block(in, out, n, MPI_INT, MPI_SUM, comm);
  bytes["Reduce_scatter_block"] += all;
  MPI_Scan(in, out, n, MPI_INT, MPI_SUM, comm), bytes["Scan"] += block;
  MPI_Exscan(in, out, n, MPI_INT, MPI_SUM, comm), bytes["Exscan"] += block;
  MPI_Request request;
  MPI_Iallreduce(in, out, n, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE), bytes["Allreduce(I)"] += block;
}

void ring() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm comm;
  const int periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &comm);
  Buffers b(2);  // one for each neighbour
  int* const in = b.in.data();
  int* const out = b.out.data();
  const int* const counts = b.counts.data();
  const int* const at = b.at.data();
  const MPI_Aint* const far_at = b.far_at.data();
  const MPI_Datatype* const types = b.types.data();
  MPI_Neighbor_allgather(in, n, MPI_INT, out, n, MPI_INT, comm);
  bytes["Neighbor_allgather"] += block;
  MPI_Neighbor_allgatherv(in, n, MPI_INT, out, counts, at, MPI_INT, comm);
  bytes["Neighbor_allgatherv"] += block;
  MPI_Neighbor_alltoall(in, n, MPI_INT, out, n, MPI_INT, comm);
  bytes["Neighbor_alltoall"] += 2 * block;
  MPI_Neighbor_alltoallv(in, counts, at, MPI_INT, out, counts, at, MPI_INT, comm);
  bytes["Neighbor_alltoallv"] += 2 * block;
  MPI_Neighbor_alltoallw(in, counts, far_at, types, out, counts, far_at, types, comm);
  bytes["Neighbor_alltoallw"] += 2 * block;
  MPI_Comm_free(&comm);
}

// Of the first group, rank 0 is the root and the others have nothing to do with a rooted call.
void two_groups(int rank) {
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &inter);
  const bool is_first = rank % 2 == 0;
  const int root = !is_first ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  int remote = 0;
  MPI_Comm_remote_size(inter, &remote);
  Buffers b(remote);
  int* const in = b.in.data();
  int* const out = b.out.data();
  MPI_Bcast(in, n, MPI_INT, root, inter), bytes["Bcast"] += root == MPI_PROC_NULL ? 0 : block;
  MPI_Gather(in, n, MPI_INT, out, n, MPI_INT, root, inter), bytes["Gather"] += is_first ? 0 : block;
  MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, root, inter);
  bytes["Reduce"] += root == MPI_PROC_NULL ? 0 : block;
  MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, inter), bytes["Allreduce"] += block;
  MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, inter), bytes["Alltoall"] += block * remote;
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  world();
  ring();
  two_groups(rank);
  for (const auto& [name, n_bytes] : bytes) {
    std::printf("%d bytes.%s %ld\n", rank, name.c_str(), n_bytes);
  }
  std::fflush(stdout);
  MPI_Finalize();
  return 0;
}
