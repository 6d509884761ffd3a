#pragma once

#include <papcoll/call/functions.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Gives every rank the contributions of all, in rank order.
///
///     allgather(comm, in, out [, algorithm])
///     allgather(comm, data [, algorithm])              in place
///     allgather(comm, in, out, count [, algorithm])    pointers; `count` elements of each rank
///     allgather(comm, data, count [, algorithm])
///
/// `out` has size() times as many elements as `in`. In place, rank r's contribution is part r of
/// size() equal parts of `data`. All else, iallgather(), allgather_init() and errors are as for
/// allreduce().
///
///     std::vector<int> ranks(static_cast<std::size_t>(comm.size()));
///     papcoll::allgather(comm, std::array{comm.rank()}, ranks);
PAPCOLL_COLLECTIVE(allgather)  // papcoll: write allgather(comm, in, out) or allgather(comm, data)

}  // namespace papcoll::inline PAPCOLL_ABI
