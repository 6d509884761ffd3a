// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The functions of MPI that a profile stands before, as PAPCOLL_PROFILE_ENTRY defines each:
//
//     PAPCOLL_PROFILE_ENTRY(NAME, (parameters), (arguments), body)
//
// where the body calls real() for the function itself, with the same arguments. Included once, by
// record_mpi.hpp or by a library that is preloaded.
#include <papcoll/profile/recorded_call.hpp>
#include <papcoll/profile/wrapped_calls.hpp>

#define PAPCOLL_PROFILE_ALL(...) __VA_ARGS__
#define PAPCOLL_PROFILE_CALLER __builtin_return_address(0)

#define PAPCOLL_PROFILE_RECORDED(COLLECTIVE, FLAGS, MESSAGE)                                  \
  return papcoll::profile::recorded(                                                          \
      papcoll::profile::MpiCollective::COLLECTIVE, FLAGS, comm, PAPCOLL_PROFILE_CALLER,       \
      [&]([[maybe_unused]] const papcoll::profile::Describe& d) noexcept { return MESSAGE; }, \
      real)

// Functions of MPI-3.
#define PAPCOLL_PROFILE_BLOCKING(NAME, name, COLLECTIVE, PARAMETERS, ARGUMENTS, N, MESSAGE) \
  PAPCOLL_PROFILE_ENTRY(NAME, PARAMETERS, ARGUMENTS,                                        \
                        PAPCOLL_PROFILE_RECORDED(COLLECTIVE, 0, MESSAGE))
#define PAPCOLL_PROFILE_NONBLOCKING(NAME, name, COLLECTIVE, PARAMETERS, ARGUMENTS, N, MESSAGE) \
  PAPCOLL_PROFILE_ENTRY(                                                                       \
      I##name, (PAPCOLL_PROFILE_ALL PARAMETERS, MPI_Request * request),                        \
      (PAPCOLL_PROFILE_ALL ARGUMENTS, request),                                                \
      PAPCOLL_PROFILE_RECORDED(COLLECTIVE, papcoll::profile::record_nonblocking, MESSAGE))

PAPCOLL_PROFILE_BARRIER(PAPCOLL_PROFILE_BLOCKING)
PAPCOLL_PROFILE_BARRIER(PAPCOLL_PROFILE_NONBLOCKING)
PAPCOLL_PROFILE_COLLECTIVES(PAPCOLL_PROFILE_BLOCKING, int, int, MPI_Aint)
PAPCOLL_PROFILE_COLLECTIVES(PAPCOLL_PROFILE_NONBLOCKING, int, int, MPI_Aint)

// Functions of MPI-4.
#define PAPCOLL_PROFILE_LARGE(NAME, name, COLLECTIVE, PARAMETERS, ARGUMENTS, N, MESSAGE) \
  PAPCOLL_PROFILE_ENTRY(                                                                 \
      NAME##_c, PARAMETERS, ARGUMENTS,                                                   \
      PAPCOLL_PROFILE_RECORDED(COLLECTIVE, papcoll::profile::record_large_count, MESSAGE))
#define PAPCOLL_PROFILE_LARGE_NONBLOCKING(NAME, name, COLLECTIVE, PARAMETERS, ARGUMENTS, N,        \
                                          MESSAGE)                                                 \
  PAPCOLL_PROFILE_ENTRY(                                                                           \
      I##name##_c, (PAPCOLL_PROFILE_ALL PARAMETERS, MPI_Request * request),                        \
      (PAPCOLL_PROFILE_ALL ARGUMENTS, request),                                                    \
      PAPCOLL_PROFILE_RECORDED(                                                                    \
          COLLECTIVE, papcoll::profile::record_nonblocking | papcoll::profile::record_large_count, \
          MESSAGE))
#define PAPCOLL_PROFILE_INIT(FUNCTION, COLLECTIVE, PARAMETERS, ARGUMENTS, FLAGS, MESSAGE)         \
  PAPCOLL_PROFILE_ENTRY(                                                                          \
      FUNCTION, (PAPCOLL_PROFILE_ALL PARAMETERS, MPI_Info info, MPI_Request * request),           \
      (PAPCOLL_PROFILE_ALL ARGUMENTS, info, request),                                             \
      return papcoll::profile::recorded_init(                                                     \
          papcoll::profile::MpiCollective::COLLECTIVE,                                            \
          papcoll::profile::record_persistent | FLAGS, comm, request,                             \
          [&]([[maybe_unused]] const papcoll::profile::Describe& d) noexcept { return MESSAGE; }, \
          real))
#define PAPCOLL_PROFILE_PERSISTENT(NAME, name, COLLECTIVE, PARAMETERS, ARGUMENTS, N, MESSAGE) \
  PAPCOLL_PROFILE_INIT(NAME##_init, COLLECTIVE, PARAMETERS, ARGUMENTS, 0U, MESSAGE)
#define PAPCOLL_PROFILE_LARGE_PERSISTENT(NAME, name, COLLECTIVE, PARAMETERS, ARGUMENTS, N, \
                                         MESSAGE)                                          \
  PAPCOLL_PROFILE_INIT(NAME##_init_c, COLLECTIVE, PARAMETERS, ARGUMENTS,                   \
                       papcoll::profile::record_large_count, MESSAGE)

#if PAPCOLL_PROFILE_MPI_4
PAPCOLL_PROFILE_BARRIER(PAPCOLL_PROFILE_PERSISTENT)
PAPCOLL_PROFILE_COLLECTIVES(PAPCOLL_PROFILE_PERSISTENT, int, int, MPI_Aint)
#if PAPCOLL_PROFILE_LARGE_COUNTS
PAPCOLL_PROFILE_COLLECTIVES(PAPCOLL_PROFILE_LARGE, MPI_Count, MPI_Aint, MPI_Aint)
PAPCOLL_PROFILE_COLLECTIVES(PAPCOLL_PROFILE_LARGE_NONBLOCKING, MPI_Count, MPI_Aint, MPI_Aint)
PAPCOLL_PROFILE_COLLECTIVES(PAPCOLL_PROFILE_LARGE_PERSISTENT, MPI_Count, MPI_Aint, MPI_Aint)
#endif
PAPCOLL_PROFILE_ENTRY(Start, (MPI_Request * request), (request),
                      return papcoll::profile::recorded_start(1, request, PAPCOLL_PROFILE_CALLER,
                                                              real))
PAPCOLL_PROFILE_ENTRY(Startall, (int n, MPI_Request* requests), (n, requests),
                      return papcoll::profile::recorded_start(n, requests, PAPCOLL_PROFILE_CALLER,
                                                              real))
PAPCOLL_PROFILE_ENTRY(Request_free, (MPI_Request * request), (request),
                      if (request != nullptr) papcoll::profile::persistent_calls().remove(*request);
                      return real())
PAPCOLL_PROFILE_ENTRY(Session_init,
                      (MPI_Info info, MPI_Errhandler handler, PAPCOLL_PROFILE_SESSION* session),
                      (info, handler, session), papcoll::profile::this_run().session_opened();
                      return real())
#endif

// What makes communicators.
#define PAPCOLL_PROFILE_MAKER(NAME, PARAMETERS, ARGUMENTS, PARENT, TAG)         \
  PAPCOLL_PROFILE_ENTRY(NAME, PARAMETERS, ARGUMENTS, const int status = real(); \
                        papcoll::profile::made(made, status, PARENT, TAG); return status)
PAPCOLL_PROFILE_MAKERS(PAPCOLL_PROFILE_MAKER)
PAPCOLL_PROFILE_ENTRY(Comm_idup, (MPI_Comm comm, MPI_Comm* made, MPI_Request* request),
                      (comm, made, request), const int status = real();
                      papcoll::profile::being_made(made, status, comm); return status)

// Beginning and end.
PAPCOLL_PROFILE_ENTRY(
    Init, (int* argc, char*** argv), (argc, argv), const int status = real();
    if (status == MPI_SUCCESS) {
      papcoll::profile::this_run().begin(PAPCOLL_PROFILE_MPI);
    } return status)
PAPCOLL_PROFILE_ENTRY(
    Init_thread, (int* argc, char*** argv, int required, int* provided),
    (argc, argv, required, provided), const int status = real();
    if (status == MPI_SUCCESS) {
      papcoll::profile::this_run().begin(PAPCOLL_PROFILE_MPI);
    } return status)
PAPCOLL_PROFILE_ENTRY(Finalize, (void), (), papcoll::profile::this_run().end();
                      const int status = real(); papcoll::profile::this_run().finished();
                      return status)
// No tool is known that wants more than the level.
PAPCOLL_PROFILE_ENTRY(Pcontrol, (int level, ...), (level), papcoll::profile::controlled(level);
                      return real())
PAPCOLL_PROFILE_ENTRY(Abort, (MPI_Comm comm, int code), (comm, code),
                      papcoll::profile::this_run().aborted(code);
                      return real())
