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

#include <cstddef>
#include <cstdlib>

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

/// Simulated ranks compute in no time. Combining takes as long as $PAPCOLL_SIMULATED_GAMMA says,
/// in seconds a byte.
inline double simulated_gamma() {
  static const char* const text = std::getenv("PAPCOLL_SIMULATED_GAMMA");
  static const double gamma = text == nullptr ? 0 : std::strtod(text, nullptr);
  return gamma;
}
inline void charge_combining([[maybe_unused]] std::size_t bytes) {
#ifdef SMPI_H
  if (simulated_gamma() > 0) smpi_execute(simulated_gamma() * static_cast<double>(bytes));
#endif
}

/// Lets this simulated rank's time pass; nothing where ranks are real.
inline void pass_simulated_time([[maybe_unused]] double seconds) {
#ifdef SMPI_H
  if (seconds > 0) smpi_execute(seconds);
#endif
}

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
