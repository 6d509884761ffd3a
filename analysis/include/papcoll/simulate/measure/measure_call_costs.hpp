// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <papcoll/simulate/measure/work_timer.hpp>
#include <papcoll/simulate/node_costs.hpp>

namespace papcoll::inline PAPCOLL_ABI::detail {

/// Measures what a call takes on one rank beside what it takes in virtual time by the other costs,
/// which must be known: of each algorithm, and of a team.
void measure_call_costs(NodeCosts& costs, const WorkTimer& timer);

}  // namespace papcoll::inline PAPCOLL_ABI::detail
