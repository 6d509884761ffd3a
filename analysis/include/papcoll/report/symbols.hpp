// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Names of places: file and line by llvm-symbolizer or addr2line, which run once for each module;
// functions by the module's own tables.

#include <papcoll/report/run.hpp>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

/// Finds function, file and line of all places, as far as the modules are on this machine and have
/// not changed since; what they lack is in Run::notes.
void symbolise(Run& run);

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
