// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Fortran's names of the collectives. A Fortran program calls its MPI library's Fortran functions,
// which call C functions: to those, every call comes from inside MPI. So these entries note where
// Fortran called, and call the real Fortran function with its arguments. None of those is looked
// at: all are addresses.

#include "mpi_library.hpp"

#include <papcoll/profile/recorder.hpp>
#include <papcoll/profile/wrapped_calls.hpp>

#include <cstdint>

namespace interpose {

/// A Fortran function of the MPI library's.
template <class Function> Function fortran_function(const char* name) {
  void* const next = dlsym(RTLD_NEXT, name);
  if (next != nullptr) return reinterpret_cast<Function>(next);
  const MpiLibrary object = object_with(name);
  if (object.handle == nullptr) {
    std::fprintf(stderr, "papcoll: %s was called, and this process has no MPI with it\n", name);
    std::abort();
  }
  return reinterpret_cast<Function>(dlsym(object.handle, name));
}

/// Notes where Fortran called, for as long as the call lasts.
class FortranCall {
 public:
  explicit FortranCall(const void* caller) noexcept
      : thread_(papcoll::profile::this_thread()),
        outer_site_(thread_.fortran_site),
        outer_frame_(thread_.fortran_frame) {
    const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
    // One that was left by longjmp lies below.
    if (outer_site_ != 0 && here < outer_frame_) return;
    thread_.fortran_site = reinterpret_cast<std::uint64_t>(caller);
    thread_.fortran_frame = here;
  }
  FortranCall(const FortranCall&) = delete;
  FortranCall& operator=(const FortranCall&) = delete;
  ~FortranCall() {
    thread_.fortran_site = outer_site_;
    thread_.fortran_frame = outer_frame_;
  }

 private:
  papcoll::profile::ThreadState& thread_;
  const std::uint64_t outer_site_;
  const std::uint64_t outer_frame_;
};

}  // namespace interpose

// Lists of n + 1 addresses: the arguments of the C function, and ierror.
// clang-format off
#define INTERPOSE_PARAMETERS_1 void* a, void* b
#define INTERPOSE_PARAMETERS_2 INTERPOSE_PARAMETERS_1, void* c
#define INTERPOSE_PARAMETERS_3 INTERPOSE_PARAMETERS_2, void* d
#define INTERPOSE_PARAMETERS_4 INTERPOSE_PARAMETERS_3, void* e
#define INTERPOSE_PARAMETERS_5 INTERPOSE_PARAMETERS_4, void* f
#define INTERPOSE_PARAMETERS_6 INTERPOSE_PARAMETERS_5, void* g
#define INTERPOSE_PARAMETERS_7 INTERPOSE_PARAMETERS_6, void* h
#define INTERPOSE_PARAMETERS_8 INTERPOSE_PARAMETERS_7, void* i
#define INTERPOSE_PARAMETERS_9 INTERPOSE_PARAMETERS_8, void* j
#define INTERPOSE_ARGUMENTS_1 a, b
#define INTERPOSE_ARGUMENTS_2 INTERPOSE_ARGUMENTS_1, c
#define INTERPOSE_ARGUMENTS_3 INTERPOSE_ARGUMENTS_2, d
#define INTERPOSE_ARGUMENTS_4 INTERPOSE_ARGUMENTS_3, e
#define INTERPOSE_ARGUMENTS_5 INTERPOSE_ARGUMENTS_4, f
#define INTERPOSE_ARGUMENTS_6 INTERPOSE_ARGUMENTS_5, g
#define INTERPOSE_ARGUMENTS_7 INTERPOSE_ARGUMENTS_6, h
#define INTERPOSE_ARGUMENTS_8 INTERPOSE_ARGUMENTS_7, i
#define INTERPOSE_ARGUMENTS_9 INTERPOSE_ARGUMENTS_8, j
// clang-format on

#define INTERPOSE_FORTRAN(SYMBOL, PARAMETERS, ARGUMENTS)                 \
  INTERPOSE_EXPORT void interposed_##SYMBOL PARAMETERS __asm__(#SYMBOL); \
  void interposed_##SYMBOL PARAMETERS {                                  \
    static void(*const function) PARAMETERS =                            \
        interpose::fortran_function<void(*) PARAMETERS>(#SYMBOL);        \
    const interpose::FortranCall call(__builtin_return_address(0));      \
    function ARGUMENTS;                                                  \
  }
// mpif.h and `use mpi`; mpi_f08 of Open MPI; mpi_f08 of MPICH.
#define INTERPOSE_FORTRAN_NAMES(name, PARAMETERS, ARGUMENTS)          \
  INTERPOSE_FORTRAN(mpi_##name##_, PARAMETERS, ARGUMENTS)             \
  INTERPOSE_FORTRAN(pmpi_##name##_, PARAMETERS, ARGUMENTS)            \
  INTERPOSE_FORTRAN(mpi_##name##_f08_, PARAMETERS, ARGUMENTS)         \
  INTERPOSE_FORTRAN(pmpi_##name##_f08_, PARAMETERS, ARGUMENTS)        \
  INTERPOSE_FORTRAN(mpi_##name##_f08ts_, PARAMETERS, ARGUMENTS)       \
  INTERPOSE_FORTRAN(pmpi_##name##_f08ts_, PARAMETERS, ARGUMENTS)      \
  INTERPOSE_FORTRAN(mpi_##name##_f08ts_large_, PARAMETERS, ARGUMENTS) \
  INTERPOSE_FORTRAN(pmpi_##name##_f08ts_large_, PARAMETERS, ARGUMENTS)

#define INTERPOSE_FORTRAN_COLLECTIVE(NAME, name, COLLECTIVE, P, A, N, MESSAGE)         \
  INTERPOSE_FORTRAN_NAMES(name, (INTERPOSE_PARAMETERS_##N), (INTERPOSE_ARGUMENTS_##N)) \
  INTERPOSE_FORTRAN_NAMES(i##name, (INTERPOSE_PARAMETERS_##N, void* y),                \
                          (INTERPOSE_ARGUMENTS_##N, y))                                \
  INTERPOSE_FORTRAN_NAMES(name##_init, (INTERPOSE_PARAMETERS_##N, void* y, void* z),   \
                          (INTERPOSE_ARGUMENTS_##N, y, z))
PAPCOLL_PROFILE_BARRIER(INTERPOSE_FORTRAN_COLLECTIVE)
PAPCOLL_PROFILE_COLLECTIVES(INTERPOSE_FORTRAN_COLLECTIVE, int, int, MPI_Aint)
INTERPOSE_FORTRAN_NAMES(start, (INTERPOSE_PARAMETERS_1), (INTERPOSE_ARGUMENTS_1))
INTERPOSE_FORTRAN_NAMES(startall, (INTERPOSE_PARAMETERS_2), (INTERPOSE_ARGUMENTS_2))
