// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Sentences on what everything else in a report rests on: processors, clocks, and where the time
// is.

#include <papcoll/report/report.hpp>

#include <string>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace report {
namespace detail {

/// "3 nodes (n0, n1, n2)", of their hosts.
std::string nodes_text(const std::vector<std::string>& hosts);

std::string sentence(const CrowdedNodes& n);

std::string sentence(const Report& r, const ClockFault& f);

/// "85 % is MPI_Allreduce of 4 MB at solver.c:88 (step), 31 ms a call: …".
std::string top_text(const Report& r);

/// Returns a text on what the time goes into; the first sentence if no rank is late.
std::string time_sentence(const Report& r, bool somebody_is_late);

}  // namespace detail
}  // namespace report
}  // namespace papcoll::inline PAPCOLL_ABI
