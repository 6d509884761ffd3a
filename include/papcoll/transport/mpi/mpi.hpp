// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/base/config.hpp>

// The only place that includes mpi.h; without the old C++ bindings, which take long to compile.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

// A library that must not name MPI's functions, since it is loaded into programs of any MPI, names
// a header here that makes macros of them: papcoll's headers then call MPI through these.
#ifdef PAPCOLL_MPI_THROUGH
#include PAPCOLL_MPI_THROUGH
#endif

#ifdef SMPI_H
#undef SEED  // its mpi.h defines it, for nobody
#endif

// What is compiled once is compiled for one MPI: see the other function of this name.
namespace papcoll::inline PAPCOLL_ABI::detail {
struct open_mpi;
struct mpich_and_its_like;
struct standard_abi;
struct smpi;
struct another_mpi;
#if defined(SMPI_H)
using this_mpi = smpi;
#elif defined(OPEN_MPI)
using this_mpi = open_mpi;
#elif defined(MPI_ABI_VERSION) && !defined(MPICH_VERSION)
using this_mpi = standard_abi;
#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION)
using this_mpi = mpich_and_its_like;
#else
using this_mpi = another_mpi;
#endif
#if defined(PAPCOLL_COMPILED)
[[gnu::used, gnu::retain]] static void (*const shared_code_for_mpi)() noexcept =
    &link_libpapcoll_or_papcoll_cpp_compiled_for<this_mpi>;
#endif
}  // namespace papcoll::inline PAPCOLL_ABI::detail
