/* SPDX-License-Identifier: BSD-3-Clause */
/* many_communicators [N=200]: N communicators at a time, by MPI_Comm_dup and MPI_Comm_split, and
   collectives on each; then as many again, after these are freed. Prints what is open at the end,
   as a difference from the time before the first, and fails where a result is wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "open_things.h"

static int rank, size;
static long wrong;

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Nobody leaves a barrier before the last has come to it. All ranks share a clock. */
static void check_barrier(MPI_Comm comm) {
  long long came = now(), last = 0;
  MPI_Barrier(comm);
  const long long left = now();
  MPI_Allreduce(&came, &last, 1, MPI_LONG_LONG, MPI_MAX, comm);
  if (left < last) ++wrong;
}

static void check(MPI_Comm comm, int i) {
  int n = 0, me = 0;
  MPI_Comm_size(comm, &n);
  MPI_Comm_rank(comm, &me);
  long x = me + i, sum = -1;
  MPI_Allreduce(&x, &sum, 1, MPI_LONG, MPI_SUM, comm);
  if (sum != (long)n * (n - 1) / 2 + (long)n * i) ++wrong;
  int from_root = me == i % n ? i : -1;
  MPI_Bcast(&from_root, 1, MPI_INT, i % n, comm);
  if (from_root != i) ++wrong;
  int* const all = malloc(sizeof(int) * (size_t)n);
  const int mine = me * 7 + i;
  MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm);
  for (int k = 0; k < n; ++k) wrong += all[k] != k * 7 + i;
  free(all);
}

static MPI_Comm made(int i) {
  MPI_Comm comm = MPI_COMM_NULL;
  switch (i % 4) {
    case 0:
      MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
      break;
    case 1:
      MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
      break;
    default:
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      break;
  }
  return comm;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int n = argc > 1 ? atoi(argv[1]) : 200;
  for (int i = 0; i < 40; ++i) check(MPI_COMM_WORLD, i);
  /* MPI itself opens some at its first communicator, and a preload keeps what communicators of the
     same ranks share. */
  for (int i = 0; i < 3; ++i) {
    MPI_Comm first = made(i);
    check(first, 1);
    MPI_Comm_free(&first);
  }
  const struct Open before = open_things();
  MPI_Comm* const comms = malloc(sizeof(MPI_Comm) * (size_t)n);
  struct Open most = before;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < n; ++i) {
      comms[i] = made(i);
      check(comms[i], i);
    }
    /* In another order than they were made. */
    for (int i = 0; i < n; ++i) check(comms[(i * 7) % n], i);
    for (int i = 0; i < n; i += 10) check_barrier(comms[i]);
    most = open_things();
    for (int i = 0; i < n; ++i) MPI_Comm_free(&comms[(i + round) % n]);
  }
  free(comms);
  const struct Open after = open_things();
  if (after.descriptors < 0) ++wrong;
  /* One line for each rank, in one write. */
  printf(
      "rank %d: wrong %ld; more descriptors: %ld alive, %ld freed; more mappings: %ld alive, "
      "%ld freed\n",
      rank, wrong, most.descriptors - before.descriptors, after.descriptors - before.descriptors,
      most.mappings - before.mappings, after.mappings - before.mappings);
  MPI_Finalize();
  return wrong != 0;
}
