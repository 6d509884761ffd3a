// SPDX-License-Identifier: BSD-3-Clause
// What every file of a program that defines PAPCOLL_COMPILED would compile, compiled here once. The
// CMake target papcoll::papcoll does both. With PAPCOLL_WITHOUT_MPI: for threads as ranks alone.
// Installed beside the headers, since the library is compiled with each program's compiler and MPI.
#ifdef PAPCOLL_HAS_SHARED_CODE
#error "papcoll.cpp is a file of its own: no unity build, nor papcoll included before it"
#endif
#ifndef PAPCOLL_COMPILED
#define PAPCOLL_COMPILED
#endif
#define PAPCOLL_COMPILES_IT
#include <papcoll/choice/names/algorithm.hpp>
#include <papcoll/core.hpp>
#include <papcoll/erased.hpp>
#include <papcoll/explain.hpp>
#include <papcoll/hierarchical.hpp>
#ifndef PAPCOLL_WITHOUT_MPI
#include <papcoll/papcoll.hpp>
#include <papcoll/recovery.hpp>
#endif
#include <papcoll/topology/linux.hpp>
#include <papcoll/topology/packed_machine.hpp>

namespace papcoll::inline PAPCOLL_ABI {
static_assert(is_listed<ShmTransport> && is_listed<ThreadTransport>,
              "papcoll: transport_names differs from a transport");
#ifndef PAPCOLL_WITHOUT_MPI
static_assert(is_listed<MpiTransport> && is_listed<RmaTransport>,
              "papcoll: transport_names differs from a transport");
#endif
}  // namespace papcoll::inline PAPCOLL_ABI
