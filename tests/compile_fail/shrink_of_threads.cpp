// SPDX-License-Identifier: BSD-3-Clause
// Threads as ranks live and die together.
#include <papcoll/recovery.hpp>
#include <papcoll/thread_team.hpp>

// EXPECT: papcoll: shrink() is for communicators of MPI
// EXPECT: make a new ThreadTeam
// ERRORS: 1

#ifdef PAPCOLL_TEST_CONTROL
void call(papcoll::Communicator& comm) { comm = papcoll::shrink(comm); }
#else
void call(papcoll::ThreadTeam::Rank& comm) { papcoll::shrink(comm); }
#endif
