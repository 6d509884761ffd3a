// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/transport/mpi/mpi.hpp>
#include <papcoll/version.hpp>

#include <array>
#include <string>
#include <string_view>

#if defined(SMPI_H)
#define PAPCOLL_MPI_OF_HEADER "SMPI"
#elif defined(OPEN_MPI)
#define PAPCOLL_MPI_OF_HEADER                                        \
  "Open MPI " PAPCOLL_QUOTED(OMPI_MAJOR_VERSION) "." PAPCOLL_QUOTED( \
      OMPI_MINOR_VERSION) "." PAPCOLL_QUOTED(OMPI_RELEASE_VERSION)
#elif defined(I_MPI_VERSION)
#define PAPCOLL_MPI_OF_HEADER "Intel MPI " I_MPI_VERSION
#elif defined(MVAPICH2_VERSION)
#define PAPCOLL_MPI_OF_HEADER "MVAPICH2 " MVAPICH2_VERSION
#elif defined(MPICH_VERSION)
#define PAPCOLL_MPI_OF_HEADER "MPICH " MPICH_VERSION
#elif defined(MPI_ABI_VERSION)
#define PAPCOLL_MPI_OF_HEADER \
  "the standard's ABI " PAPCOLL_QUOTED(MPI_ABI_VERSION) "." PAPCOLL_QUOTED(MPI_ABI_SUBVERSION)
#else
#define PAPCOLL_MPI_OF_HEADER "another MPI library"
#endif

namespace papcoll::inline PAPCOLL_ABI {

/// What mpi_version() returns.
struct MpiVersion {
  /// The version of the mpi.h that the calling file was compiled with, and that of its standard:
  /// "Open MPI 4.1.4, MPI 3.1".
  std::string_view compiled;
  /// The first line of the version text of the library that the process has: "Open MPI v4.1.4, …".
  /// If it is another one than `compiled`, the program was started in a wrong environment.
  std::string running;
};

/// Returns which MPI library the calling file was compiled for, and which one the process has.
///
/// Parameters: none. Return value: a MpiVersion. Exceptions: std::bad_alloc. Complexity: one call
/// of MPI_Get_library_version.
///
/// Notes: not collective. It may be called at any time, before MPI_Init and after MPI_Finalize,
/// too.
///
/// Example:
///
///     std::cerr << papcoll::version().text << ", " << papcoll::mpi_version().running << '\n';
///
/// See also: version().
[[nodiscard]] static inline MpiVersion mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string_view said = text.data();
  return {.compiled = PAPCOLL_MPI_OF_HEADER
          ", MPI " PAPCOLL_QUOTED(MPI_VERSION) "." PAPCOLL_QUOTED(MPI_SUBVERSION),
          .running = std::string(said.substr(0, said.find('\n')))};
}

}  // namespace papcoll::inline PAPCOLL_ABI
