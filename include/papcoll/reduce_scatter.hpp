// SPDX-License-Identifier: BSD-3-Clause
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
/// `in` has size() equal blocks, `out` one; `count` is the length of one. In place, `data` is the
/// whole input; afterwards this rank's block of the result is at its beginning, and the rest is
/// undefined.
///
/// - counts: papcoll::counts{each}, the same on all ranks: rank r gets each[r] elements, and `in`
///   has as many as all of these together.
///
/// ireduce_scatter() returns a Request, reduce_scatter_init() a Persistent; both copy the counts.
/// All other parameters, template arguments, errors and complexity: as for allreduce().
///
/// Example:
///
///     const std::vector<double> mine(10 * static_cast<std::size_t>(comm.size()), 1.0);
///     std::vector<double> block(10);
///     papcoll::reduce_scatter(comm, mine, block);    // block[i] is P
PAPCOLL_COLLECTIVE(reduce_scatter)  // papcoll: write reduce_scatter(comm, in, out [, counts{n}])

}  // namespace papcoll::inline PAPCOLL_ABI
