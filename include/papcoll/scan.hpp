#pragma once

#include <papcoll/call/make.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Combines, position by position, the elements of the ranks up to this one: rank r gets those of
/// ranks 0 to r, in rank order.
///
///     scan(comm, data [, op [, algorithm]])              in place
///     scan(comm, in, out [, op [, algorithm]])
///     scan(comm, data, count [, op [, algorithm]])       pointers to `count` elements
///     scan(comm, in, out, count [, op [, algorithm]])
///     x = scan(comm, value [, op [, algorithm]])         one element; blocking only
///
/// In place, `data` is contribution and result. By value, it returns the result.
///
/// All else, iscan(), scan_init() and errors are as for allreduce().
///
///     const int so_far = papcoll::scan(comm, length);
PAPCOLL_COLLECTIVE(scan)  // papcoll: write scan(comm, data) or scan(comm, in, out [, op])

/// Combines, position by position, the elements of the ranks below this one: rank r gets those of
/// ranks 0 to r - 1, in rank order.
///
///     exscan(comm, data [, op [, algorithm]])              in place
///     exscan(comm, in, out [, op [, algorithm]])
///     exscan(comm, data, count [, op [, algorithm]])       pointers to `count` elements
///     exscan(comm, in, out, count [, op [, algorithm]])
///     x = exscan(comm, value [, op [, algorithm]])         one element; blocking only
///
/// In place, `data` is contribution and result. Rank 0 gets nothing: its output stays as it is. By
/// value, it returns the result, and T{} on rank 0, so that the sum of no ranks is 0.
///
/// All else, iexscan(), exscan_init() and errors are as for allreduce().
///
///     const int mine = papcoll::exscan(comm, length);  // where what is mine begins
PAPCOLL_COLLECTIVE(exscan)  // papcoll: write exscan(comm, data) or exscan(comm, in, out [, op])

}  // namespace papcoll::inline PAPCOLL_ABI
