// SPDX-License-Identifier: BSD-3-Clause
// Calls every collective of MPI in every form, on several kinds of communicators, and prints what a
// profile must have counted on this rank: "rank NAME calls", NAME with (I) for non-blocking and (P)
// for persistent ones. With an argument: also from threads.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

std::map<std::string, long> counts;

void wait(MPI_Request request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }

// Each of them once; `size` blocks of up to two ints lie in the buffers.
struct Buffers {
  explicit Buffers(int size)
      : in(static_cast<std::size_t>(4 * size)),
        out(static_cast<std::size_t>(4 * size)),
        ones(static_cast<std::size_t>(size), 1),
        at(static_cast<std::size_t>(size)),
        byte_at(static_cast<std::size_t>(size)),
        far_at(static_cast<std::size_t>(size)),
        types(static_cast<std::size_t>(size), MPI_INT) {
    for (int i = 0; i < size; ++i) {
      const auto k = static_cast<std::size_t>(i);
      at[k] = i;
      byte_at[k] = i * static_cast<int>(sizeof(int));
      far_at[k] = byte_at[k];
    }
  }
  std::vector<int> in, out, ones, at, byte_at;
  std::vector<MPI_Aint> far_at;
  std::vector<MPI_Datatype> types;
};

void intra(MPI_Comm comm, bool scans) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  Buffers b(size);
  int* const in = b.in.data();
  int* const out = b.out.data();
  const int* const n = b.ones.data();
  const int* const at = b.at.data();
  MPI_Request r;
  MPI_Barrier(comm), ++counts["Barrier"];
  MPI_Ibarrier(comm, &r), wait(r), ++counts["Barrier(I)"];
  MPI_Bcast(in, 1, MPI_INT, 0, comm), ++counts["Bcast"];
  MPI_Ibcast(in, 1, MPI_INT, size - 1, comm, &r), wait(r), ++counts["Bcast(I)"];
  MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, 0, comm), ++counts["Gather"];
  MPI_Igather(in, 1, MPI_INT, out, 1, MPI_INT, 0, comm, &r), wait(r), ++counts["Gather(I)"];
  MPI_Gatherv(in, 1, MPI_INT, out, n, at, MPI_INT, 0, comm), ++counts["Gatherv"];
  MPI_Igatherv(in, 1, MPI_INT, out, n, at, MPI_INT, 0, comm, &r), wait(r), ++counts["Gatherv(I)"];
  MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, 0, comm), ++counts["Scatter"];
  MPI_Iscatter(in, 1, MPI_INT, out, 1, MPI_INT, 0, comm, &r), wait(r), ++counts["Scatter(I)"];
  MPI_Scatterv(in, n, at, MPI_INT, out, 1, MPI_INT, 0, comm), ++counts["Scatterv"];
  MPI_Iscatterv(in, n, at, MPI_INT, out, 1, MPI_INT, 0, comm, &r), wait(r), ++counts["Scatterv(I)"];
  MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm), ++counts["Allgather"];
  MPI_Iallgather(in, 1, MPI_INT, out, 1, MPI_INT, comm, &r), wait(r), ++counts["Allgather(I)"];
  MPI_Allgatherv(in, 1, MPI_INT, out, n, at, MPI_INT, comm), ++counts["Allgatherv"];
  MPI_Iallgatherv(in, 1, MPI_INT, out, n, at, MPI_INT, comm, &r), wait(r),
      ++counts["Allgatherv(I)"];
  MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm), ++counts["Alltoall"];
  MPI_Ialltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm, &r), wait(r), ++counts["Alltoall(I)"];
  MPI_Alltoallv(in, n, at, MPI_INT, out, n, at, MPI_INT, comm), ++counts["Alltoallv"];
  MPI_Ialltoallv(in, n, at, MPI_INT, out, n, at, MPI_INT, comm, &r), wait(r);
  ++counts["Alltoallv(I)"];
  const int* const bytes = b.byte_at.data();
  const MPI_Datatype* const types = b.types.data();
  MPI_Alltoallw(in, n, bytes, types, out, n, bytes, types, comm), ++counts["Alltoallw"];
  MPI_Ialltoallw(in, n, bytes, types, out, n, bytes, types, comm, &r), wait(r);
  ++counts["Alltoallw(I)"];
  MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, 0, comm), ++counts["Reduce"];
  MPI_Ireduce(in, out, 1, MPI_INT, MPI_MAX, 0, comm, &r), wait(r), ++counts["Reduce(I)"];
  MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, comm), ++counts["Allreduce"];
  MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, comm, &r), wait(r), ++counts["Allreduce(I)"];
  MPI_Reduce_scatter(in, out, n, MPI_INT, MPI_SUM, comm), ++counts["Reduce_scatter"];
  MPI_Ireduce_scatter(in, out, n, MPI_INT, MPI_SUM, comm, &r), wait(r);
  ++counts["Reduce_scatter(I)"];
  MPI_Reduce_scatter_block(in, out, 1, MPI_INT, MPI_SUM, comm), ++counts["Reduce_scatter_block"];
  MPI_Ireduce_scatter_block(in, out, 1, MPI_INT, MPI_SUM, comm, &r), wait(r);
  ++counts["Reduce_scatter_block(I)"];
  if (!scans) return;  // inter-communicators have none
  MPI_Allreduce(MPI_IN_PLACE, out, 1, MPI_INT, MPI_SUM, comm), ++counts["Allreduce"];
  MPI_Scan(in, out, 1, MPI_INT, MPI_SUM, comm), ++counts["Scan"];
  MPI_Iscan(in, out, 1, MPI_INT, MPI_SUM, comm, &r), wait(r), ++counts["Scan(I)"];
  MPI_Exscan(in, out, 1, MPI_INT, MPI_SUM, comm), ++counts["Exscan"];
  MPI_Iexscan(in, out, 1, MPI_INT, MPI_SUM, comm, &r), wait(r), ++counts["Exscan(I)"];
}

void neighbours(MPI_Comm comm) {
  Buffers b(8);
  int* const in = b.in.data();
  int* const out = b.out.data();
  const int* const n = b.ones.data();
  const int* const at = b.at.data();
  const MPI_Aint* const bytes = b.far_at.data();
  const MPI_Datatype* const types = b.types.data();
  MPI_Request r;
  MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm), ++counts["Neighbor_allgather"];
  MPI_Ineighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm, &r), wait(r);
  ++counts["Neighbor_allgather(I)"];
  MPI_Neighbor_allgatherv(in, 1, MPI_INT, out, n, at, MPI_INT, comm);
  ++counts["Neighbor_allgatherv"];
  MPI_Ineighbor_allgatherv(in, 1, MPI_INT, out, n, at, MPI_INT, comm, &r), wait(r);
  ++counts["Neighbor_allgatherv(I)"];
  MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm), ++counts["Neighbor_alltoall"];
  MPI_Ineighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm, &r), wait(r);
  ++counts["Neighbor_alltoall(I)"];
  MPI_Neighbor_alltoallv(in, n, at, MPI_INT, out, n, at, MPI_INT, comm);
  ++counts["Neighbor_alltoallv"];
  MPI_Ineighbor_alltoallv(in, n, at, MPI_INT, out, n, at, MPI_INT, comm, &r), wait(r);
  ++counts["Neighbor_alltoallv(I)"];
  MPI_Neighbor_alltoallw(in, n, bytes, types, out, n, bytes, types, comm);
  ++counts["Neighbor_alltoallw"];
  MPI_Ineighbor_alltoallw(in, n, bytes, types, out, n, bytes, types, comm, &r), wait(r);
  ++counts["Neighbor_alltoallw(I)"];
}

#if MPI_VERSION >= 4
void of_mpi_4(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  Buffers b(size);
  int* const in = b.in.data();
  int* const out = b.out.data();
  MPI_Request r;
  MPI_Bcast_c(in, 1, MPI_INT, 0, comm), ++counts["Bcast"];
  MPI_Allreduce_c(in, out, 1, MPI_INT, MPI_SUM, comm), ++counts["Allreduce"];
  MPI_Iallreduce_c(in, out, 1, MPI_INT, MPI_SUM, comm, &r), wait(r), ++counts["Allreduce(I)"];
  const std::vector<MPI_Count> n(static_cast<std::size_t>(size), 1);
  MPI_Allgatherv_c(in, 1, MPI_INT, out, n.data(),
                   std::vector<MPI_Aint>(b.at.begin(), b.at.end()).data(), MPI_INT, comm);
  ++counts["Allgatherv"];
  MPI_Request many[2];
  MPI_Allreduce_init(in, out, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &many[0]);
  MPI_Barrier_init(comm, MPI_INFO_NULL, &many[1]);
  for (int i = 0; i < 3; ++i) {
    MPI_Start(&many[0]), MPI_Wait(&many[0], MPI_STATUS_IGNORE), ++counts["Allreduce(P)"];
  }
  MPI_Startall(2, many), MPI_Waitall(2, many, MPI_STATUSES_IGNORE);
  ++counts["Allreduce(P)"], ++counts["Barrier(P)"];
  MPI_Request_free(&many[0]), MPI_Request_free(&many[1]);
  // A handle of a collective's may be a message's now.
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Send_init(in, 1, MPI_INT, rank, 1, comm, &many[0]);
  MPI_Recv_init(out, 1, MPI_INT, rank, 1, comm, &many[1]);
  MPI_Startall(2, many), MPI_Waitall(2, many, MPI_STATUSES_IGNORE);
  MPI_Request_free(&many[0]), MPI_Request_free(&many[1]);
}
#else
void of_mpi_4(MPI_Comm) {}
#endif

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  intra(MPI_COMM_WORLD, true);
  of_mpi_4(MPI_COMM_WORLD);

  MPI_Comm half, inter, ring, both;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  intra(half, true);
  if (size > 1) {
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &inter);
    int in[64] = {0}, out[64] = {0};
    int half_rank = 0;
    MPI_Comm_rank(half, &half_rank);
    MPI_Barrier(inter), ++counts["Barrier"];
    MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, inter), ++counts["Allreduce"];
    const int root = rank % 2 == 0 ? (half_rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    // Arguments that MPI says are not significant are rubbish.
    const bool sends = root == MPI_ROOT;
    MPI_Bcast(in, 1, MPI_INT, root, inter), ++counts["Bcast"];
    // As many blocks as the group has ranks: of three, two and one.
    int group = 0;
    int remote = 0;
    MPI_Comm_size(inter, &group);
    MPI_Comm_remote_size(inter, &remote);
    const std::vector<int> blocks(static_cast<std::size_t>(group), 2 * remote);
    MPI_Reduce_scatter(in, out, blocks.data(), MPI_INT, MPI_SUM, inter), ++counts["Reduce_scatter"];
    MPI_Gather(in, sends ? -5 : 1, sends ? MPI_DATATYPE_NULL : MPI_INT, out, 1, MPI_INT, root,
               inter);
    ++counts["Gather"];
    MPI_Intercomm_merge(inter, rank % 2, &both);
    MPI_Barrier(both), ++counts["Barrier"];
    MPI_Comm_free(&both);
    MPI_Comm_free(&inter);
  }
  const int periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  neighbours(ring);
  MPI_Comm_free(&ring);
  MPI_Comm_free(&half);
  // Duplicates that are made at the same time, of which ranks use either one first.
  if (size > 1) {
    MPI_Comm copies[2];
    MPI_Request requests[2];
    MPI_Comm_idup(MPI_COMM_WORLD, &copies[0], &requests[0]);
    MPI_Comm_idup(MPI_COMM_WORLD, &copies[1], &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (const int i : {rank % 2, 1 - rank % 2}) MPI_Ibarrier(copies[i], &requests[i]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(copies[0]);
    counts["Barrier(I)"] += 2, ++counts["Barrier"];
    MPI_Comm_free(&copies[0]), MPI_Comm_free(&copies[1]);
  }
  // Communicators come and go.
  for (int i = 0; i < 50; ++i) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Barrier(copy), ++counts["Barrier"];
    MPI_Comm_free(&copy);
  }
  if (argc > 1 && level == MPI_THREAD_MULTIPLE) {
    constexpr int threads = 3;
    constexpr int each = 200;
    constexpr int copies = 20;
    MPI_Comm comms[threads];
    for (MPI_Comm& c : comms) MPI_Comm_dup(MPI_COMM_WORLD, &c);
    std::vector<std::thread> all;
    for (MPI_Comm c : comms) {
      all.emplace_back([c] {
        int x = 1, y = 0;
        // In any order beside those of other threads.
        for (int i = 0; i < copies; ++i) {
          MPI_Comm copy;
          MPI_Comm_dup(c, &copy);
          for (int k = 0; k <= i; ++k) MPI_Barrier(copy);
          MPI_Comm_free(&copy);
        }
        for (int i = 0; i < each; ++i) MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, c);
      });
    }
    for (std::thread& t : all) t.join();
    counts["Allreduce"] += threads * each;
    counts["Barrier"] += threads * copies * (copies + 1) / 2;
    for (MPI_Comm& c : comms) MPI_Comm_free(&c);
  }
  for (const auto& [name, n] : counts) std::printf("%d %s %ld\n", rank, name.c_str(), n);
  std::fflush(stdout);
  MPI_Finalize();
  return 0;
}
