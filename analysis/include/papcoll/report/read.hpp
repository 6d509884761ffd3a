// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Reads the trace files of a run, also while the program writes them. Whatever bytes a file has,
// what comes out is safe to use: positions are within their tables, times below 2⁶⁰.

#include <papcoll/base/error.hpp>
#include <papcoll/report/run.hpp>

#include <string>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {

/// Reads what is in a directory. Of several runs in it the one whose run_text() begins with `run`,
/// or whose job is called so. What is wrong with single files is in Run::notes; throws
/// argument_error if nothing can be reported: there is no directory, no trace file in it, none that
/// can be read, no such run, or no collective call in them.
Run read_run(const std::string& directory, const std::string& run = {});

}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
