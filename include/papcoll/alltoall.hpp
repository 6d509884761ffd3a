#pragma once

#include <papcoll/call/functions.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Gives every rank a block of each rank.
///
///     alltoall(comm, in, out [, algorithm])
///     alltoall(comm, data [, algorithm])              in place
///     alltoall(comm, in, out, count [, algorithm])    pointers
///     alltoall(comm, data, count [, algorithm])
///
/// `in` has size() equal blocks, block r for rank r; `out` has as many, block r from rank r. In
/// place, what came from rank r stands where what went to it was. All else, ialltoall(),
/// alltoall_init() and errors are as for allreduce().
///
///     papcoll::alltoall(comm, to_each, from_each);
PAPCOLL_COLLECTIVE(alltoall)  // papcoll: write alltoall(comm, in, out) or alltoall(comm, data)

}  // namespace papcoll::inline PAPCOLL_ABI
