// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Records the collective calls of a program, as the preloaded library of papcoll-profile does.
// Include it in one source file of the program, and in no library:
//
//     #include <papcoll/profile/record_mpi.hpp>
//
// It defines the functions of MPI's profiling interface (MPI_Allreduce and all others), each of
// which calls PMPI_Allreduce and so on; traces go to PAPCOLL_PROFILE_OUTPUT (by default
// ./papcoll-profile), and `papcoll report` reads them. Calls from Fortran are recorded only where
// the MPI library's Fortran calls MPI_ functions, as MPICH's does and Open MPI's does not.

#include <papcoll/profile/mpi_calls.hpp>
#include <papcoll/profile/recorded_call.hpp>

#include <dlfcn.h>
#include <pthread.h>
#include <cstddef>
#include <string>

namespace papcoll::inline PAPCOLL_ABI {
namespace profile {
namespace detail {

/// The functions that the program is linked with.
inline const MpiCalls& linked_mpi() noexcept {
#define PAPCOLL_PROFILE_MEMBER(NAME) &PMPI_##NAME,
  static const MpiCalls calls{PAPCOLL_PROFILE_MPI_CALLS(PAPCOLL_PROFILE_MEMBER)};
#undef PAPCOLL_PROFILE_MEMBER
  return calls;
}

/// Path of the object that MPI's functions are in; empty if that is the program itself.
inline std::string linked_library() {
  // Not the function's address, which may be that of the program's own jump to it.
  void* const there = dlsym(RTLD_DEFAULT, "PMPI_Comm_dup");
  const std::string path = object_of(reinterpret_cast<std::uint64_t>(there)).path;
  return path == program_path() ? std::string() : path;
}

/// Notes the end of the process, and forgets the profile in children of fork().
struct EndOfProcess {
  EndOfProcess() noexcept {
    pthread_atfork(nullptr, nullptr, [] { this_run().forget(); });
  }
  ~EndOfProcess() { this_run().left(); }
};
inline const EndOfProcess end_of_process;

}  // namespace detail
}  // namespace profile
}  // namespace papcoll::inline PAPCOLL_ABI

#define PAPCOLL_PROFILE_MPI_4 (MPI_VERSION >= 4)
#define PAPCOLL_PROFILE_LARGE_COUNTS (MPI_VERSION >= 4)
#define PAPCOLL_PROFILE_SESSION MPI_Session
#define PAPCOLL_PROFILE_MPI \
  papcoll::profile::detail::linked_mpi(), papcoll::profile::detail::linked_library()
#define PAPCOLL_PROFILE_ENTRY(NAME, PARAMETERS, ARGUMENTS, ...) \
  extern "C" int MPI_##NAME PARAMETERS {                        \
    const auto real = [&] { return PMPI_##NAME ARGUMENTS; };    \
    __VA_ARGS__;                                                \
  }
#include <papcoll/profile/wrappers.ipp>
