#pragma once

#include <papcoll/call/make.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Combines the elements of all ranks, position by position, and gives each rank its block of the
/// result.
///
///     reduce_scatter(comm, in, out [, counts] [, op [, algorithm]])
///     reduce_scatter(comm, data [, counts] [, op [, algorithm]])          in place
///     reduce_scatter(comm, in, out, count [, op [, algorithm]])           pointers
///     reduce_scatter(comm, data, count [, op [, algorithm]])
///
/// `in` has size() equal blocks, and `out` one. With papcoll::counts{each}, the same on all ranks,
/// rank r gets each[r] elements. In place, `data` is the whole input; afterwards this rank's block
/// of the result is at its beginning, and the rest is undefined.
///
/// All else, ireduce_scatter(), reduce_scatter_init() and errors are as for allreduce(). A call
/// that is not blocking copies the counts.
///
///     papcoll::reduce_scatter(comm, in, out, papcoll::counts{each}, papcoll::sum);
PAPCOLL_COLLECTIVE(reduce_scatter)  // papcoll: write reduce_scatter(comm, in, out [, counts{n}])

}  // namespace papcoll::inline PAPCOLL_ABI
