#pragma once

#include <papcoll/call/functions.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Gives the root the contributions of all, in rank order.
///
///     gather(comm, in, out, root [, algorithm])
///     gather(comm, data, root [, algorithm])              in place
///     gather(comm, in, out, count, root [, algorithm])    pointers; `count` elements of each rank
///     gather(comm, data, count, root [, algorithm])
///
/// On the root `out` has size() times as many elements as `in`; elsewhere it is not looked at, and
/// may be a null pointer. In place, the root's own contribution stands at its place in `data`,
/// which has all; elsewhere `data` is the contribution.
///
/// root: papcoll::root{r}, the same on all ranks. All else, igather(), gather_init() and errors are
/// as for allreduce().
///
///     papcoll::gather(comm, part, all, papcoll::root{0});
PAPCOLL_COLLECTIVE(gather)  // papcoll: write gather(comm, data or in, out, papcoll::root{0})

}  // namespace papcoll::inline PAPCOLL_ABI
