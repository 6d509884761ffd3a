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

// Whoever must not name MPI's functions, such as a library that is loaded into programs of any MPI,
// names a header here that makes macros of them: papcoll's headers call MPI through these then.
#ifdef PAPCOLL_MPI_THROUGH
#include PAPCOLL_MPI_THROUGH
#endif

#ifdef SMPI_H
#undef SEED  // its mpi.h defines it, for nobody
#endif
