/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded: makes rank LATE_RANK come late to its allreduces of LATE_COUNT elements, by LATE_US
   microseconds. The compiler makes the last call a jump, so that the next function returns to the
   program itself. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

typedef int (*Allreduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);

static int number(const char* name) {
  const char* const text = getenv(name);
  return text == NULL ? -1 : atoi(text);
}

static int is_late(int count) {
  static int rank = -2, late_count;
  if (rank == -2) {
    int (*const rank_of)(MPI_Comm, int*) =
        (int (*)(MPI_Comm, int*))dlsym(RTLD_DEFAULT, "MPI_Comm_rank");
    if (rank_of == NULL) return 0;
    const int wanted = number("LATE_RANK");
    rank_of(MPI_COMM_WORLD, &rank);
    late_count = number("LATE_COUNT");
    prctl(PR_SET_TIMERSLACK, 1L); /* else the system adds 50 microseconds */
    if (rank != wanted) rank = -1;
  }
  return rank >= 0 && (late_count < 0 || count == late_count);
}

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  static Allreduce next;
  if (next == NULL) next = (Allreduce)dlsym(RTLD_NEXT, "MPI_Allreduce");
  if (is_late(count)) {
    struct timespec t = {0, number("LATE_US") * 1000L};
    nanosleep(&t, NULL);
  }
  return next(in, out, count, type, op, comm);
}
