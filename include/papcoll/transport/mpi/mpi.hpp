#pragma once

// The only place that includes mpi.h. Without the old C++ bindings it compiles in 0.06 s, not 0.73
// s.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <papcoll/config.hpp>

#ifdef SMPI_H
#undef SEED  // its mpi.h defines it, for nobody
#endif

namespace papcoll {
inline namespace PAPCOLL_ABI {
namespace detail {

/// Are the ranks simulated, by SimGrid's SMPI? Then they take turns in one process, each until it
/// waits inside MPI, so that none may wait for another outside it; and each counts as a node of its
/// own, since what processes share, and tell by it, is not theirs.
#ifdef SMPI_H
inline constexpr bool simulated = true;
#else
inline constexpr bool simulated = false;
#endif

/// Open MPI before 5.0? Its osc/rdma keeps what a window's ranks on one node share in a file whose
/// name a communicator without a rank in common may use, too: when both make windows at the same
/// time, one works on the other's memory (open-mpi/ompi, issue 9492).
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
inline constexpr bool mixes_windows_up = true;
#else
inline constexpr bool mixes_windows_up = false;
#endif

/// MPI_Get_elements_x of bytes, which SMPI has not.
inline int get_bytes(const MPI_Status& status, MPI_Count& bytes) {
#ifdef SMPI_H
  int n = 0;
  const int code = MPI_Get_count(&status, MPI_BYTE, &n);
  bytes = n;
  return code;
#else
  return MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
#endif
}

}  // namespace detail
}  // namespace PAPCOLL_ABI
}  // namespace papcoll
