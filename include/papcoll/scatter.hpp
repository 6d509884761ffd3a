#pragma once

#include <papcoll/call/functions.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Gives each rank its part of the root's elements.
///
///     scatter(comm, in, out, root [, algorithm])
///     scatter(comm, data, root [, algorithm])              in place
///     scatter(comm, in, out, count, root [, algorithm])    pointers; `count` for each rank
///     scatter(comm, data, count, root [, algorithm])
///
/// On the root `in` has size() times as many elements as `out`; elsewhere it is not looked at, and
/// may be a null pointer. In place, the root's `data` has all parts and is unchanged; elsewhere
/// `data` is the part received.
///
/// root: papcoll::root{r}, the same on all ranks. All else, iscatter(), scatter_init() and errors
/// are as for allreduce().
///
///     papcoll::scatter(comm, all, part, papcoll::root{0});
PAPCOLL_COLLECTIVE(scatter)  // papcoll: write scatter(comm, data or in, out, papcoll::root{0})

}  // namespace papcoll::inline PAPCOLL_ABI
