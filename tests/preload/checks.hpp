// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

// What the programs of these tests have in common: each checks its own results, says what is wrong
// and ends with a status that is not 0.

inline int failures = 0;

inline void check(bool is_right, const char* what, int line) {
  if (is_right) return;
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (++failures <= 20) std::printf("FAILED: rank %d, line %d: %s\n", rank, line, what);
}
#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__, __LINE__)

inline int class_of(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}
