// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/call/make.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Combines the elements of all ranks, position by position, and gives the result to the root.
///
///     reduce(comm, data, root [, op [, algorithm]])             in place on the root
///     reduce(comm, in, out, root [, op [, algorithm]])
///     reduce(comm, data, count, root [, op [, algorithm]])      pointers to `count` elements
///     reduce(comm, in, out, count, root [, op [, algorithm]])
///     x = reduce(comm, value, root [, op [, algorithm]])        one element; blocking only
///
/// In place, `data` is contribution and result on the root; elsewhere it is not modified. On the
/// root `out` has as many elements as `in`; elsewhere it is ignored, and may be a null pointer. By
/// value, the root gets the result, and the others their own value.
///
/// - root: papcoll::root{r}, 0 ≤ r < size(), the same on all ranks.
///
/// ireduce() returns a Request, reduce_init() a Persistent. All other parameters, template
/// arguments, errors and complexity: as for allreduce().
///
/// Example:
///
///     std::vector<double> mine(100, comm.rank()), least(100);
///     papcoll::reduce(comm, mine, least, papcoll::root{0}, papcoll::min);
PAPCOLL_COLLECTIVE(reduce)  // papcoll: write reduce(comm, data or in, out, papcoll::root{0})

}  // namespace papcoll::inline PAPCOLL_ABI
