#pragma once

// What MPI libraries differ in, under names of papcoll's own. Simulated ranks have theirs in
// transport/smpi/nonblocking_collectives.hpp, with the same names.

#include <papcoll/transport/mpi/mpi.hpp>

#ifdef SMPI_H
#include <papcoll/transport/smpi/nonblocking_collectives.hpp>
#else

#include <papcoll/base/config.hpp>
#include <papcoll/node/waiting/liveness.hpp>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Open MPI before 5.0? Its osc/rdma keeps what a window's ranks on one node share in a file whose
/// name a communicator without a rank in common may use, too: when both make windows at the same
/// time, one works on the other's memory (open-mpi/ompi, issue 9492).
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
inline constexpr bool mixes_windows_up = true;
#else
inline constexpr bool mixes_windows_up = false;
#endif

/// Can a rank look at the memory of its window while it holds a lock?
inline constexpr bool sees_locked_windows = true;

/// Are the ranks simulated? Then they take turns, each until it waits inside MPI: waiting there is
/// far quicker than asking, and no rank may wait for another outside.
inline constexpr bool simulated = false;

/// Which process this rank is.
inline ProcessId own_process() noexcept { return ProcessId::own(); }

/// The error handler of a communicator; MPI_ERRHANDLER_NULL where errors are always returned.
inline int error_handler(MPI_Comm comm, MPI_Errhandler* handler) {
  return MPI_Comm_get_errhandler(comm, handler);
}

/// MPI_Get_elements_x of bytes.
inline int get_bytes(const MPI_Status& status, MPI_Count& bytes) {
  return MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
}

/// Its error classes for a process that failed, as User-Level Failure Mitigation has them.
struct FailureClasses {
  int failed;   ///< the call needs a process that failed; −1: there are no such classes
  int pending;  ///< so may a receive from any source
  int revoked;  ///< a rank has revoked the communicator
};
// The library that runs may be newer than its header: Open MPI 4 is compatible with 5.0.
#if defined(MPIX_ERR_PROC_FAILED)
inline constexpr FailureClasses failure_classes{(MPIX_ERR_PROC_FAILED),
                                                (MPIX_ERR_PROC_FAILED_PENDING), (MPIX_ERR_REVOKED)};
#elif defined(OPEN_MPI)
inline constexpr FailureClasses failure_classes{75, 76, 77};
#else
inline constexpr FailureClasses failure_classes{-1, -1, -1};
#endif

/// The attribute of MPI_COMM_WORLD that says whether a job goes on after a failure: MPI_FT of Open
/// MPI 5. MPI_KEYVAL_INVALID: it does not; MPICH has the functions, and 4.0 ends in
/// MPIX_Comm_revoke.
#if defined(OPEN_MPI)
inline const int failure_attribute = MPI_WIN_MODEL + 1;
#else
inline const int failure_attribute = MPI_KEYVAL_INVALID;
#endif

/// Collectives of MPI that are started, and asked after by MPI_Test. `alone`: nothing else needs
/// this rank meanwhile, so that the library may wait at once.
struct Started {
  MPI_Comm comm;
  bool alone;

  int barrier(MPI_Request* r) const { return MPI_Ibarrier(comm, r); }
  int bcast(void* data, int bytes, int root, MPI_Request* r) const {
    return MPI_Ibcast(data, bytes, MPI_BYTE, root, comm, r);
  }
  int allgather(const void* mine, int bytes, void* all, MPI_Request* r) const {
    return MPI_Iallgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm, r);
  }
  int allreduce(const void* mine, void* all, MPI_Op op, MPI_Request* r) const {
    return MPI_Iallreduce(mine, all, 1, MPI_INT, op, comm, r);
  }
  int duplicate(MPI_Comm* made, MPI_Request* r) const { return MPI_Comm_idup(comm, made, r); }
};

}  // namespace papcoll::inline PAPCOLL_ABI::detail

#endif
