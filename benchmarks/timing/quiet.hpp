// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "timing/clock.hpp"

#include <papcoll/transport/mpi/mpi.hpp>

#include <unistd.h>

// What the probes of the machine share.
namespace bench {

inline double seconds_since(std::int64_t start) {
  return static_cast<double>(local_now() - start) * 1e-9;
}

/// A barrier whose waiters sleep, so that those that still measure have the processors.
inline void quiet_barrier(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) usleep(200);
  }
}

inline double least(MPI_Comm comm, double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MIN, comm);
  return value;
}

inline double greatest(MPI_Comm comm, double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm);
  return value;
}

}  // namespace bench
