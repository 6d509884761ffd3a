// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The functions of MPI that a profile sees, as lists for the preprocessor.
//
// PAPCOLL_PROFILE_COLLECTIVES(X, N, D, V): the collectives, with counts of type N (int, or in the
// large-count forms MPI_Count), displacements of type D and byte displacements of type V:
//
//     X(Name, name, collective, (parameters), (arguments), number of arguments, message)
//
// `message` says with Describe d what the record holds.

#include <papcoll/base/config.hpp>

// clang-format off
#define PAPCOLL_PROFILE_COLLECTIVES(X, N, D, V)                                                    \
  X(Bcast, bcast, bcast,                                                                           \
    (void* in, N n, MPI_Datatype t, int root, MPI_Comm comm), (in, n, t, root, comm), 5,           \
    d.vector(n, t, root))                                                                          \
  X(Gather, gather, gather,                                                                        \
    (const void* in, N n, MPI_Datatype t, void* out, N m, MPI_Datatype u, int root,                \
     MPI_Comm comm),                                                                               \
    (in, n, t, out, m, u, root, comm), 8, d.block(in, n, t, m, u, root))                           \
  X(Gatherv, gatherv, gatherv,                                                                     \
    (const void* in, N n, MPI_Datatype t, void* out, const N* m, const D* at, MPI_Datatype u,      \
     int root, MPI_Comm comm),                                                                     \
    (in, n, t, out, m, at, u, root, comm), 9, d.block_of(in, n, t, m, u, root))                    \
  X(Scatter, scatter, scatter,                                                                     \
    (const void* in, N n, MPI_Datatype t, void* out, N m, MPI_Datatype u, int root,                \
     MPI_Comm comm),                                                                               \
    (in, n, t, out, m, u, root, comm), 8, d.received(n, t, out, m, u, root))                       \
  X(Scatterv, scatterv, scatterv,                                                                  \
    (const void* in, const N* n, const D* at, MPI_Datatype t, void* out, N m, MPI_Datatype u,      \
     int root, MPI_Comm comm),                                                                     \
    (in, n, at, t, out, m, u, root, comm), 9, d.received_of(n, t, out, m, u, root))                \
  X(Allgather, allgather, allgather,                                                               \
    (const void* in, N n, MPI_Datatype t, void* out, N m, MPI_Datatype u, MPI_Comm comm),          \
    (in, n, t, out, m, u, comm), 7, d.block(in, n, t, m, u))                                       \
  X(Allgatherv, allgatherv, allgatherv,                                                            \
    (const void* in, N n, MPI_Datatype t, void* out, const N* m, const D* at, MPI_Datatype u,      \
     MPI_Comm comm),                                                                               \
    (in, n, t, out, m, at, u, comm), 8, d.block_of(in, n, t, m, u))                                \
  X(Alltoall, alltoall, alltoall,                                                                  \
    (const void* in, N n, MPI_Datatype t, void* out, N m, MPI_Datatype u, MPI_Comm comm),          \
    (in, n, t, out, m, u, comm), 7, d.blocks(in, n, t, m, u))                                      \
  X(Alltoallv, alltoallv, alltoallv,                                                               \
    (const void* in, const N* n, const D* at, MPI_Datatype t, void* out, const N* m,               \
     const D* to, MPI_Datatype u, MPI_Comm comm),                                                  \
    (in, n, at, t, out, m, to, u, comm), 9, d.blocks_of(in, n, t, m, u))                           \
  X(Alltoallw, alltoallw, alltoallw,                                                               \
    (const void* in, const N* n, const D* at, const MPI_Datatype* t, void* out, const N* m,        \
     const D* to, const MPI_Datatype* u, MPI_Comm comm),                                           \
    (in, n, at, t, out, m, to, u, comm), 9, d.blocks_of(in, n, t, m, u))                           \
  X(Reduce, reduce, reduce,                                                                        \
    (const void* in, void* out, N n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm),          \
    (in, out, n, t, op, root, comm), 7, d.combined(in, n, t, op, root))                            \
  X(Allreduce, allreduce, allreduce,                                                               \
    (const void* in, void* out, N n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),                    \
    (in, out, n, t, op, comm), 6, d.combined(in, n, t, op))                                        \
  X(Reduce_scatter, reduce_scatter, reduce_scatter,                                                \
    (const void* in, void* out, const N* n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),             \
    (in, out, n, t, op, comm), 6, d.combined_blocks(in, n, t, op))                                 \
  X(Reduce_scatter_block, reduce_scatter_block, reduce_scatter_block,                              \
    (const void* in, void* out, N n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),                    \
    (in, out, n, t, op, comm), 6, d.combined_block(in, n, t, op))                                  \
  X(Scan, scan, scan,                                                                              \
    (const void* in, void* out, N n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),                    \
    (in, out, n, t, op, comm), 6, d.combined(in, n, t, op))                                        \
  X(Exscan, exscan, exscan,                                                                        \
    (const void* in, void* out, N n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),                    \
    (in, out, n, t, op, comm), 6, d.combined(in, n, t, op))                                        \
  X(Neighbor_allgather, neighbor_allgather, neighbor_allgather,                                    \
    (const void* in, N n, MPI_Datatype t, void* out, N m, MPI_Datatype u, MPI_Comm comm),          \
    (in, n, t, out, m, u, comm), 7, d.vector(n, t))                                                \
  X(Neighbor_allgatherv, neighbor_allgatherv, neighbor_allgatherv,                                 \
    (const void* in, N n, MPI_Datatype t, void* out, const N* m, const D* at, MPI_Datatype u,      \
     MPI_Comm comm),                                                                               \
    (in, n, t, out, m, at, u, comm), 8, d.vector(n, t))                                            \
  X(Neighbor_alltoall, neighbor_alltoall, neighbor_alltoall,                                       \
    (const void* in, N n, MPI_Datatype t, void* out, N m, MPI_Datatype u, MPI_Comm comm),          \
    (in, n, t, out, m, u, comm), 7, d.to_neighbours(n, t))                                         \
  X(Neighbor_alltoallv, neighbor_alltoallv, neighbor_alltoallv,                                    \
    (const void* in, const N* n, const D* at, MPI_Datatype t, void* out, const N* m,               \
     const D* to, MPI_Datatype u, MPI_Comm comm),                                                  \
    (in, n, at, t, out, m, to, u, comm), 9, d.to_neighbours(n, t))                                 \
  X(Neighbor_alltoallw, neighbor_alltoallw, neighbor_alltoallw,                                    \
    (const void* in, const N* n, const V* at, const MPI_Datatype* t, void* out, const N* m,        \
     const V* to, const MPI_Datatype* u, MPI_Comm comm),                                           \
    (in, n, at, t, out, m, to, u, comm), 9, d.to_neighbours(n, t))

// X(Name, name, collective, (parameters), (arguments), number of arguments, message): the barrier,
// which has no count.
#define PAPCOLL_PROFILE_BARRIER(X)                                                                 \
  X(Barrier, barrier, barrier, (MPI_Comm comm), (comm), 1, d.nothing())

// X(Name, (parameters), (arguments), parent, tag): what makes a communicator, which is then in
// *made, and its origin; a parent that not all members have in common is MPI_COMM_NULL.
#define PAPCOLL_PROFILE_MAKERS(X)                                                                  \
  X(Comm_dup, (MPI_Comm comm, MPI_Comm* made), (comm, made), comm, 0)                              \
  X(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* made), (comm, info, made),        \
    comm, 0)                                                                                       \
  X(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* made), (comm, group, made), comm, 0)   \
  X(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made), (comm, group,    \
    tag, made), comm, tag)                                                                         \
  X(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made), (comm, color, key, made),     \
    comm, 0)                                                                                       \
  X(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made), (comm,     \
    type, key, info, made), comm, 0)                                                               \
  X(Cart_create, (MPI_Comm comm, int n, const int* dims, const int* periods, int reorder,          \
    MPI_Comm* made), (comm, n, dims, periods, reorder, made), comm, 0)                             \
  X(Cart_sub, (MPI_Comm comm, const int* remain, MPI_Comm* made), (comm, remain, made), comm, 0)   \
  X(Graph_create, (MPI_Comm comm, int n, const int* index, const int* edges, int reorder,          \
    MPI_Comm* made), (comm, n, index, edges, reorder, made), comm, 0)                              \
  X(Dist_graph_create, (MPI_Comm comm, int n, const int* sources, const int* degrees, const int*   \
    destinations, const int* weights, MPI_Info info, int reorder, MPI_Comm* made), (comm, n,       \
    sources, degrees, destinations, weights, info, reorder, made), comm, 0)                        \
  X(Dist_graph_create_adjacent, (MPI_Comm comm, int in, const int* sources, const int*             \
    in_weights, int out, const int* destinations, const int* out_weights, MPI_Info info, int       \
    reorder, MPI_Comm* made), (comm, in, sources, in_weights, out, destinations, out_weights,      \
    info, reorder, made), comm, 0)                                                                 \
  X(Intercomm_create, (MPI_Comm comm, int leader, MPI_Comm peers, int remote_leader, int tag,      \
    MPI_Comm* made), (comm, leader, peers, remote_leader, tag, made), MPI_COMM_NULL, tag)          \
  X(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm* made), (comm, high, made), comm, 0)       \
  X(Comm_spawn, (const char* command, char** argv, int n, MPI_Info info, int root, MPI_Comm        \
    comm, MPI_Comm* made, int* errors), (command, argv, n, info, root, comm, made, errors),        \
    MPI_COMM_NULL, 0)                                                                              \
  X(Comm_spawn_multiple, (int k, char** commands, char*** argvs, const int* n, const MPI_Info*     \
    infos, int root, MPI_Comm comm, MPI_Comm* made, int* errors), (k, commands, argvs, n, infos,   \
    root, comm, made, errors), MPI_COMM_NULL, 0)                                                   \
  X(Comm_accept, (const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made),       \
    (port, info, root, comm, made), MPI_COMM_NULL, 0)                                              \
  X(Comm_connect, (const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made),      \
    (port, info, root, comm, made), MPI_COMM_NULL, 0)                                              \
  X(Comm_join, (int descriptor, MPI_Comm* made), (descriptor, made), MPI_COMM_NULL, 0)
// clang-format on
