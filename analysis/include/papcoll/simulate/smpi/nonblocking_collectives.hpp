// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What transport/mpi/mpi_calls.hpp has of them, for ranks that SimGrid's SMPI simulates.

#include <papcoll/transport/mpi/mpi.hpp>

#ifdef SMPI_H

#include <papcoll/base/config.hpp>
#include <papcoll/node/waiting/liveness.hpp>

#include <cstdint>

namespace papcoll::inline PAPCOLL_ABI::detail {

inline constexpr bool mixes_windows_up = false;
inline constexpr bool sees_locked_windows = false;
inline constexpr bool simulated = true;

/// Each rank counts as a machine of its own: what processes of a machine share is not theirs.
inline ProcessId own_process() noexcept {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return {static_cast<std::uint64_t>(rank) + 1, 0, 0};
}

/// Errors are always returned, and there may be no handler to ask for.
inline int error_handler(MPI_Comm, MPI_Errhandler* handler) {
  *handler = MPI_ERRHANDLER_NULL;
  return MPI_SUCCESS;
}

/// There is no MPI_Get_elements_x.
inline int get_bytes(const MPI_Status& status, MPI_Count& bytes) {
  int n = 0;
  const int code = MPI_Get_count(&status, MPI_BYTE, &n);
  bytes = n;
  return code;
}

struct FailureClasses {
  int failed;
  int pending;
  int revoked;
};
inline constexpr FailureClasses failure_classes{-1, -1, -1};
inline const int failure_attribute = MPI_KEYVAL_INVALID;

/// Non-blocking collectives send from each rank to each at once: a minute for 256 of them.
struct NonblockingCollectives {
  MPI_Comm comm;
  bool may_block;

  int barrier(MPI_Request* r) const {
    return may_block ? done(MPI_Barrier(comm), r) : MPI_Ibarrier(comm, r);
  }
  int bcast(void* data, int bytes, int root, MPI_Request* r) const {
    return may_block ? done(MPI_Bcast(data, bytes, MPI_BYTE, root, comm), r)
                     : MPI_Ibcast(data, bytes, MPI_BYTE, root, comm, r);
  }
  int allgather(const void* mine, int bytes, void* all, MPI_Request* r) const {
    return may_block ? done(MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm), r)
                     : MPI_Iallgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm, r);
  }
  int allreduce(const void* mine, void* all, MPI_Op op, MPI_Request* r) const {
    return may_block ? done(MPI_Allreduce(mine, all, 1, MPI_INT, op, comm), r)
                     : MPI_Iallreduce(mine, all, 1, MPI_INT, op, comm, r);
  }
  /// There is no MPI_Comm_idup.
  int duplicate(MPI_Comm* made, MPI_Request* r) const { return done(MPI_Comm_dup(comm, made), r); }

 private:
  static int done(int code, MPI_Request* r) {
    *r = MPI_REQUEST_NULL;
    return code;
  }
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail

#endif
