/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded before all else: each rank sleeps a random while before some of its collectives, up to
   DELAY_US microseconds (default 300) before one in DELAY_EVERY (default 5), by DELAY_SEED. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long number(const char* name, long otherwise) {
  const char* const text = getenv(name);
  return text == NULL ? otherwise : atol(text);
}

static void delay(void) {
  static _Thread_local uint64_t state;
  static long most, every;
  if (state == 0) {
    most = number("DELAY_US", 300);
    every = number("DELAY_EVERY", 5);
    /* Ranks differ by their process. */
    state = (uint64_t)number("DELAY_SEED", 1) * 0x9e3779b97f4a7c15U ^ (uint64_t)getpid() << 20;
    if (state == 0) state = 1;
  }
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  if (most <= 0 || every <= 0 || (state >> 20) % (uint64_t)every != 0) return;
  const struct timespec t = {0, (long)((state >> 30) % (uint64_t)most) * 1000L % 1000000000L};
  nanosleep(&t, NULL);
}

/* The next function of this name: that of a preload, or MPI's. */
#define DELAYED(name, parameters, arguments)                    \
  int name parameters {                                         \
    static int(*next) parameters;                               \
    if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, #name); \
    delay();                                                    \
    return next arguments;                                      \
  }

DELAYED(MPI_Allreduce, (const void* in, void* out, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
        (in, out, n, t, op, c))
DELAYED(MPI_Reduce,
        (const void* in, void* out, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c),
        (in, out, n, t, op, root, c))
DELAYED(MPI_Bcast, (void* data, int n, MPI_Datatype t, int root, MPI_Comm c), (data, n, t, root, c))
DELAYED(MPI_Allgather,
        (const void* in, int n, MPI_Datatype t, void* out, int m, MPI_Datatype u, MPI_Comm c),
        (in, n, t, out, m, u, c))
DELAYED(MPI_Gather,
        (const void* in, int n, MPI_Datatype t, void* out, int m, MPI_Datatype u, int root,
         MPI_Comm c),
        (in, n, t, out, m, u, root, c))
DELAYED(MPI_Scatter,
        (const void* in, int n, MPI_Datatype t, void* out, int m, MPI_Datatype u, int root,
         MPI_Comm c),
        (in, n, t, out, m, u, root, c))
DELAYED(MPI_Reduce_scatter,
        (const void* in, void* out, const int* n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
        (in, out, n, t, op, c))
DELAYED(MPI_Reduce_scatter_block,
        (const void* in, void* out, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
        (in, out, n, t, op, c))
DELAYED(MPI_Barrier, (MPI_Comm c), (c))
