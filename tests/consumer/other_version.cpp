// SPDX-License-Identifier: BSD-3-Clause
// Compiled with headers of another version than the rest of the program.

#include <papcoll/papcoll.hpp>

int sum_by_other_version(MPI_Comm comm, int value) { return papcoll::allreduce(comm, value); }
