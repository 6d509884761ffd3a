#pragma once

#include <papcoll/call/make.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Gives every rank the root's elements.
///
///     bcast(comm, data, root [, algorithm])
///     bcast(comm, data, count, root [, algorithm])     a pointer to `count` elements
///     x = bcast(comm, value, root [, algorithm])       one element; blocking only
///
/// `data` has as many elements on all ranks; the root's is unchanged. By value, all get the root's.
///
/// root: papcoll::root{r}, the same on all ranks. All else, ibcast(), bcast_init() and errors are
/// as for allreduce().
///
///     papcoll::bcast(comm, v, papcoll::root{0});
PAPCOLL_COLLECTIVE(bcast)  // papcoll: write bcast(comm, data, papcoll::root{0} [, algorithm])

}  // namespace papcoll::inline PAPCOLL_ABI
