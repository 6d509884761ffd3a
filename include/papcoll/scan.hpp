// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/call/make.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Combines, position by position, the elements of the ranks up to this one: rank r gets x_0[i] op
/// … op x_r[i].
///
///     scan(comm, data [, op [, algorithm]])              in place
///     scan(comm, in, out [, op [, algorithm]])
///     scan(comm, data, count [, op [, algorithm]])       pointers to `count` elements
///     scan(comm, in, out, count [, op [, algorithm]])
///     x = scan(comm, value [, op [, algorithm]])         one element; blocking only
///
/// In place, `data` is contribution and result. By value, the call returns the result.
/// Contributions are combined in rank order, whether op commutes or not.
///
/// iscan() returns a Request, scan_init() a Persistent. All other parameters, template arguments,
/// errors and complexity: as for allreduce().
///
/// Example:
///
///     const int length = comm.rank() + 1;
///     const int end = papcoll::scan(comm, length);    // 1 + 2 + … + length
PAPCOLL_COLLECTIVE(scan)  // papcoll: write scan(comm, data) or scan(comm, in, out [, op])

/// Combines, position by position, the elements of the ranks below this one: rank r gets x_0[i] op
/// … op x_{r−1}[i].
///
///     exscan(comm, data [, op [, algorithm]])              in place
///     exscan(comm, in, out [, op [, algorithm]])
///     exscan(comm, data, count [, op [, algorithm]])       pointers to `count` elements
///     exscan(comm, in, out, count [, op [, algorithm]])
///     x = exscan(comm, value [, op [, algorithm]])         one element; blocking only
///
/// In place, `data` is contribution and result. Rank 0 gets no result: its output is not modified.
/// By value, the call returns the result, and T{} on rank 0, so that the sum of no ranks is 0.
///
/// iexscan() returns a Request, exscan_init() a Persistent. All other parameters, template
/// arguments, errors and complexity: as for scan().
///
/// Example:
///
///     const int length = comm.rank() + 1;
///     const int begin = papcoll::exscan(comm, length);    // 0, 1, 1 + 2, …
PAPCOLL_COLLECTIVE(exscan)  // papcoll: write exscan(comm, data) or exscan(comm, in, out [, op])

}  // namespace papcoll::inline PAPCOLL_ABI
