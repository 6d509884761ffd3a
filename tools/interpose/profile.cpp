// SPDX-License-Identifier: BSD-3-Clause
// The library that papcoll-profile preloads: records the collective calls of a program that it was
// not compiled for. It exports MPI_ and PMPI_ names of every function that it stands before: calls
// from C, Python and all of Fortran's interfaces come through it, each once.

#include "mpi_library.hpp"

#include <papcoll/profile/mpi_calls.hpp>
#include <papcoll/profile/recorded_call.hpp>

#include <pthread.h>

#define INTERPOSE_EXPORT extern "C" __attribute__((visibility("default")))

/// By which such libraries know each other.
INTERPOSE_EXPORT const char papcoll_is_interposed;
const char papcoll_is_interposed = 1;

// What it records is in that kind's handles.
void interpose::found_another_kind(const std::string& sentence) {
  std::fprintf(stderr, "%s: choose another by papcoll-profile --abi\n", sentence.c_str());
  std::abort();
}

namespace {

/// Returns what the recorder calls, looked up.
const papcoll::profile::MpiCalls& found_mpi() {
  static const papcoll::profile::MpiCalls calls{
#define INTERPOSE_FOUND(NAME) \
  interpose::function_of_mpi<decltype(papcoll::profile::MpiCalls::NAME)>("PMPI_" #NAME),
      PAPCOLL_PROFILE_MPI_CALLS(INTERPOSE_FOUND)
#undef INTERPOSE_FOUND
  };
  return calls;
}

// Programs of another MPI's version may ask for functions that this MPI library has not.
int lacking(const char* name) {
  std::fprintf(stderr, "papcoll: %s was called, and %s has no such function\n", name,
               interpose::mpi_library().path.c_str());
  return MPI_ERR_OTHER;
}

__attribute__((constructor)) void begin_of_process() {
  pthread_atfork(nullptr, nullptr, [] { papcoll::profile::this_run().forget(); });
}
__attribute__((destructor)) void end_of_process() { papcoll::profile::this_run().left(); }

}  // namespace

// A name in the assembler's text does not contradict the declaration in <mpi.h>, if it has one, and
// functions that this MPI's header lacks are exported all the same.
#define INTERPOSE_FUNCTION(PREFIX, NAME, PARAMETERS, ARGUMENTS, ...)                \
  INTERPOSE_EXPORT int interposed_##PREFIX##NAME PARAMETERS __asm__(#PREFIX #NAME); \
  int interposed_##PREFIX##NAME PARAMETERS {                                        \
    static int(*const function) PARAMETERS =                                        \
        interpose::next_function<int(*) PARAMETERS>(#PREFIX #NAME);                 \
    const auto real = [&] {                                                         \
      return function != nullptr ? function ARGUMENTS : lacking(#PREFIX #NAME);     \
    };                                                                              \
    __VA_ARGS__;                                                                    \
  }

#define PAPCOLL_PROFILE_ENTRY(NAME, PARAMETERS, ARGUMENTS, ...)      \
  INTERPOSE_FUNCTION(MPI_, NAME, PARAMETERS, ARGUMENTS, __VA_ARGS__) \
  INTERPOSE_FUNCTION(PMPI_, NAME, PARAMETERS, ARGUMENTS, __VA_ARGS__)
#define PAPCOLL_PROFILE_MPI_4 1
// Programs that ask whether there are functions for large counts must not find what MPI lacks.
#if defined(OPEN_MPI) && MPI_VERSION < 4
#define PAPCOLL_PROFILE_LARGE_COUNTS 0
#else
#define PAPCOLL_PROFILE_LARGE_COUNTS 1
#endif
#define PAPCOLL_PROFILE_SESSION void  // a type that MPI-3's header lacks
#define PAPCOLL_PROFILE_MPI found_mpi(), interpose::mpi_library().path
#include <papcoll/profile/wrappers.ipp>

#include "fortran_entries.hpp"
