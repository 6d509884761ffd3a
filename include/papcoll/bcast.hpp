// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/call/make.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Gives every rank the root's elements.
///
///     bcast(comm, data, root [, algorithm])
///     bcast(comm, data, count, root [, algorithm])     a pointer to `count` elements
///     x = bcast(comm, value, root [, algorithm])       one element; blocking only
///
/// `data` has the same number of elements on all ranks. The root's is not modified; on the others
/// it is overwritten. By value, every rank gets the root's value. bcast() returns on the root when
/// `data` may be modified, on another rank when it has the elements.
///
/// - root: papcoll::root{r}, 0 ≤ r < size(), the same on all ranks.
///
/// ibcast() returns a Request, bcast_init() a Persistent. All other parameters, template arguments,
/// errors and complexity: as for allreduce().
///
/// Example:
///
///     std::vector<double> v(100);
///     papcoll::bcast(comm, v, papcoll::root{0});
///     const int steps = papcoll::bcast(comm, comm.rank() == 0 ? 10 : 0, papcoll::root{0});
PAPCOLL_COLLECTIVE(bcast)  // papcoll: write bcast(comm, data, papcoll::root{0} [, algorithm])

}  // namespace papcoll::inline PAPCOLL_ABI
