/* SPDX-License-Identifier: BSD-3-Clause */
/* threads [CALLS=400]: MPI_THREAD_MULTIPLE, four threads with eight communicators each, which are
   used in an order of the thread's own; now and then a thread makes one more and frees it. */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "open_things.h"

#define THREADS 4
#define EACH 8

static MPI_Comm comms[THREADS][EACH];
static int rank, size, calls = 400;
static long wrong[THREADS];

static void* work(void* argument) {
  const long t = (long)(intptr_t)argument;
  uint64_t state = (uint64_t)t + 1;
  long bad = 0;
  for (int i = 0; i < calls; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U; /* alike on all ranks */
    const MPI_Comm c = comms[t][(state >> 33) % EACH];
    const int root = (int)((state >> 40) % (unsigned)size);
    long x = rank + i, sum = 0;
    long all[64] = {0};
    int from_root = rank == root ? i : -1;
    switch ((state >> 50) % 5) {
      case 0:
        MPI_Allreduce(&x, &sum, 1, MPI_LONG, MPI_SUM, c);
        bad += sum != (long)size * (size - 1) / 2 + (long)size * i;
        break;
      case 1:
        MPI_Bcast(&from_root, 1, MPI_INT, root, c);
        bad += from_root != i;
        break;
      case 2:
        MPI_Reduce(&x, &sum, 1, MPI_LONG, MPI_MAX, root, c);
        bad += rank == root && sum != size - 1 + i;
        break;
      case 3:
        MPI_Allgather(&x, 1, MPI_LONG, all, 1, MPI_LONG, c);
        for (int k = 0; k < size; ++k) bad += all[k] != k + i;
        break;
      default:
        MPI_Barrier(c);
        break;
    }
    if (i % 100 == 50) {
      MPI_Comm d;
      MPI_Comm_dup(c, &d);
      MPI_Allreduce(&x, &sum, 1, MPI_LONG, MPI_MIN, d);
      bad += sum != i;
      MPI_Comm_free(&d);
    }
  }
  wrong[t] = bad;
  return NULL;
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1) calls = atoi(argv[1]);
  if (level < MPI_THREAD_MULTIPLE || size > 64) {
    if (rank == 0) printf("no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return 77;
  }
  const struct Open before = open_things();
  for (int t = 0; t < THREADS; ++t) {
    for (int k = 0; k < EACH; ++k) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t][k]);
  }
  pthread_t threads[THREADS];
  for (long t = 0; t < THREADS; ++t) {
    pthread_create(&threads[t], NULL, work, (void*)(intptr_t)t);
  }
  long bad = 0;
  for (int t = 0; t < THREADS; ++t) {
    pthread_join(threads[t], NULL);
    bad += wrong[t];
  }
  for (int t = 0; t < THREADS; ++t) {
    for (int k = 0; k < EACH; ++k) MPI_Comm_free(&comms[t][k]);
  }
  const struct Open after = open_things();
  printf("rank %d: wrong %ld; more descriptors %ld; more mappings %ld\n", rank, bad,
         after.descriptors - before.descriptors, after.mappings - before.mappings);
  MPI_Finalize();
  return bad != 0;
}
