// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/call/make.hpp>

namespace papcoll::inline PAPCOLL_ABI {

/// Returns when all ranks have called it.
///
///     barrier(comm [, algorithm])
///
/// ibarrier() returns a Request that is complete when all ranks have started it, barrier_init() a
/// Persistent. `comm`, `algorithm`, template arguments, errors and complexity: as for allreduce().
///
/// Example:
///
///     papcoll::barrier(comm);
PAPCOLL_COLLECTIVE(barrier)  // papcoll: write barrier(comm [, algorithm])

}  // namespace papcoll::inline PAPCOLL_ABI
